/** Test support: a small file system, visible only to processes that are started with it, and removed with them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { within } from '../../../base/waits-fixture.ts';
import { isFullDisk } from './sqlite-error.ts';

export interface SmallDisk {
  /** Must exist. Its contents are hidden from the process. */
  readonly folder: string;
  readonly kibibytes: number;
}

/** A command prefix that runs the command with the disk mounted. */
export const withSmallDisk = ({ folder, kibibytes }: SmallDisk): readonly string[] => [
  ...['unshare', '--map-root-user', '--mount'],
  ...['sh', '-c', `mount -t tmpfs -o size=${kibibytes}k tmpfs "$0" && exec "$@"`, folder],
];

/** A skip option of node:test: why such a disk is impossible here, or false if it is possible. */
export const smallDiskMissing: string | false =
  spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0
    ? false
    : 'this system lets nobody mount a small file system (unshare, tmpfs)';

/** A small disk that outlives the processes on it, and that somebody else fills. */
export class SharedSmallDisk implements AsyncDisposable {
  readonly #folder: string;
  /** Keeps the mount. */
  readonly #keeper: ChildProcess;

  private constructor(folder: string, keeper: ChildProcess) {
    this.#folder = folder;
    this.#keeper = keeper;
  }

  static async mount(disk: SmallDisk): Promise<SharedSmallDisk> {
    const [command = '', ...args] = [...withSmallDisk(disk), 'sh', '-c', 'echo mounted && exec cat'];
    const keeper = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    await within(once(keeper.stdout, 'data'), `nothing was mounted at ${disk.folder}`);
    return new SharedSmallDisk(disk.folder, keeper);
  }

  /** A command prefix that runs the command with the disk mounted. */
  get within(): readonly string[] {
    return ['nsenter', `--target=${this.#keeper.pid}`, '--user', '--mount', '--preserve-credentials', '--'];
  }

  /** The disk as this process sees it. */
  get folder(): string {
    return `/proc/${this.#keeper.pid}/root${this.#folder}`;
  }

  /** Takes all room that is left, until `free`. */
  fill(): void {
    const descriptor = openSync(this.#ballast, 'a');
    try {
      for (const bytes of [1024 * 1024, 4_096]) {
        while (hasTaken(descriptor, new Uint8Array(bytes)));
      }
    } finally {
      closeSync(descriptor);
    }
  }

  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  get #ballast(): string {
    return join(this.folder, 'ballast');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#keeper, 'exit');
    this.#keeper.kill();
    await within(ended, 'the keeper of the disk does not end');
  }
}

const hasTaken = (descriptor: number, bytes: Uint8Array): boolean => {
  try {
    return writeSync(descriptor, bytes) > 0;
  } catch (error) {
    if (isFullDisk(error)) return false;
    throw error;
  }
};
