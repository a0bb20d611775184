import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemRandom } from './random.ts';

/** Permissions of a file that only its owner may read. */
export const privateMode = 0o600;
const privateDirectoryMode = 0o700;

/** Makes a directory, and those above it, that only its owner may enter. One that is there stays as it is. */
export function makePrivateDirectory(path: string): void {
  mkdirSync(path, { recursive: true, mode: privateDirectoryMode });
}

/**
 * Puts a file in place whole or not at all, also when the machine stops in the middle: readers see the old content or
 * the new. Synchronous: it is used for small files while a server starts.
 */
export function replaceFile(path: string, content: string, mode: number = privateMode): void {
  withTemporary(path, content, mode, (temporary) => renameSync(temporary, path));
}

/**
 * As `replaceFile`, but a file that is there already stays. False then: someone was faster, and what they wrote counts.
 */
export function createFile(path: string, content: string, mode: number = privateMode): boolean {
  try {
    withTemporary(path, content, mode, (temporary) => {
      linkSync(temporary, path);
      rmSync(temporary);
    });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function withTemporary(path: string, content: string, mode: number, place: (temporary: string) => void): void {
  const temporary = `${path}.${systemRandom.uuid()}.tmp`;
  try {
    const descriptor = openSync(temporary, 'wx', mode);
    try {
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    place(temporary);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/** A new name is durable only when its directory is. */
function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
