import {
  close,
  closeSync,
  fsync,
  fsyncSync,
  linkSync,
  mkdirSync,
  open,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemRandom } from './random.ts';

/** Permissions of a file that only its owner may read. */
export const privateMode = 0o600;
const privateDirectoryMode = 0o700;

/** Creates a directory and its parents, accessible only to the owner. An existing directory is not changed. */
export function makePrivateDirectory(path: string): void {
  if (isDirectory(path)) return;
  const above = dirname(path);
  // One at a time: Node's own `recursive` never returns below a directory in which none can be created.
  if (above !== path) makePrivateDirectory(above);
  try {
    mkdirSync(path, { mode: privateDirectoryMode });
  } catch (error) {
    if (!isDirectory(path))
      throw new Error(`the directory ${path} cannot be made: ${reasonOf(error)}`, { cause: error });
  }
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'there is a file in its place';
  return error instanceof Error ? error.message : String(error);
}

interface ReplaceOptions {
  /** Default: only the owner may read it. */
  readonly mode?: number;
  /** The file is made anew at each start: what a crash leaves of it does not matter, and nothing is waited for. */
  readonly isTransient?: boolean;
}

/**
 * Replaces a file atomically, even if the machine crashes: readers see either the old content or the new one, which is
 * there for certain once `namesSynced` has resolved. Synchronous: it is used for small files while a server starts.
 */
export function replaceFile(
  path: string,
  content: string,
  { mode = privateMode, isTransient = false }: ReplaceOptions = {},
): void {
  if (hasContent(path, content, mode)) return; // a full disk must not prevent a start
  withTemporary(path, { content, mode, isTransient }, (temporary) => renameSync(temporary, path));
}

function hasContent(path: string, content: string, mode: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && (found.mode & 0o777) === mode && readFileSync(path, 'utf8') === content;
}

/**
 * As `replaceFile`, but never replaces an existing file. Returns false in that case: another process was first, and its
 * content counts.
 */
export function createFile(path: string, content: string, mode: number = privateMode): boolean {
  try {
    withTemporary(path, { content, mode, isTransient: false }, (temporary) => {
      linkSync(temporary, path);
      rmSync(temporary);
    });
    return true;
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw error;
  }
}

interface NewFile {
  readonly content: string;
  readonly mode: number;
  readonly isTransient: boolean;
}

function withTemporary(
  path: string,
  { content, mode, isTransient }: NewFile,
  place: (temporary: string) => void,
): void {
  const temporary = `${path}.${systemRandom.uuid()}.tmp`;
  try {
    const descriptor = openSync(temporary, 'wx', mode);
    try {
      writeFileSync(descriptor, content);
      if (!isTransient) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    place(temporary);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Error(`${path} cannot be written: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
  if (!isTransient) syncLater(dirname(path));
}

/** Directories to be synced in the next turn. */
const due = new Set<string>();
/** Ends with those that are due, or being synced. */
let syncing = Promise.resolve();

/** One sync for all files that are made in a turn, which does not wait for it: it takes some milliseconds. */
function syncLater(directory: string): void {
  due.add(directory);
  if (due.size > 1) return;
  const synced = nextTurn().then(async () => {
    const directories = [...due];
    due.clear();
    await Promise.all(directories.map(sync));
  });
  syncing = Promise.all([syncing, synced]).then(() => {});
  syncing.catch(() => {}); // For whoever waits.
}

/** Not by `node:fs/promises`: Node.js loads its readers of lines for that, a tenth of what a server loads of it. */
async function sync(directory: string): Promise<void> {
  const descriptor = await promisify(open)(directory, 'r');
  try {
    await promisify(fsync)(descriptor);
  } finally {
    await promisify(close)(descriptor);
  }
}

/** Resolves when all files that were made so far are there after a crash too. Rejects, once, if one may not be. */
export async function namesSynced(): Promise<void> {
  const current = syncing;
  try {
    await current;
  } finally {
    if (syncing === current) syncing = Promise.resolve();
  }
}
