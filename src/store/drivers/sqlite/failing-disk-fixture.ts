/** Test support: a disk beneath processes whose syncs can be made to fail, and whose power can be cut. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

const source = new URL('./failing-disk-fixture.c', import.meta.url).pathname;
const pageBytes = 4_096;

/** A skip option of node:test: why there is no such disk here, or false if there is. */
export const failingDiskMissing: string | false =
  process.platform !== 'linux'
    ? 'a disk that fails is made for Linux only'
    : spawnSync('gcc', ['--version']).status === 0
      ? false
      : 'gcc is not installed: apt-get install gcc libc6-dev';

interface DiskFault {
  /** `none`: they succeed, and what they were to write is lost nevertheless. */
  readonly error: 'EIO' | 'ENOSPC' | 'none';
  /** Share of all syncs that fails. */
  readonly percent: number;
  /** Decides which, and what the disk has of what they were to write. */
  readonly seed: number;
  /** Default: both. */
  readonly file?: 'data' | 'log' | undefined;
}

const numbers = { EIO: constants.errno.EIO, ENOSPC: constants.errno.ENOSPC, none: -1 } as const;
const endOf = { data: '.db', log: '.db-wal' } as const;

/** See failing-disk-fixture.c. One data file; processes on it one after the other, with others that only read beside them. */
export class FailingDisk implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'failing-disk-'));

  constructor() {
    const args = ['-shared', '-fPIC', '-O2', '-o', this.#library, source];
    const { status, stderr } = spawnSync('gcc', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${source}: ${stderr}`);
  }

  get #library(): string {
    return join(this.#folder, 'disk.so');
  }

  get #fault(): string {
    return join(this.#folder, 'fault');
  }

  /** A command prefix that runs the command on this disk. */
  get within(): readonly string[] {
    return ['env', `FAILING_DISK=${this.#folder}`, `LD_PRELOAD=${this.#library}`];
  }

  /** From now on, until `mend`. */
  fail({ error, percent, seed, file }: DiskFault): void {
    writeFileSync(this.#fault, `${numbers[error]} ${percent} ${seed} ${file ? endOf[file] : ''}`);
  }

  mend(): void {
    rmSync(this.#fault, { force: true });
  }

  /**
   * Leaves of a data file and its log what the disk has, as after a power cut. `isWritten` says for each page that was waiting
   * for a sync whether the disk had it already. No process may use the file.
   */
  cutPower(file: string, isWritten: () => boolean): void {
    for (const suffix of ['', '-wal']) this.#cut(file + suffix, isWritten);
    rmSync(`${file}-shm`, { force: true });
  }

  #cut(path: string, isWritten: () => boolean): void {
    const image = join(this.#folder, path.slice(path.lastIndexOf('/') + 1));
    if (!existsSync(path) || !existsSync(image)) return;
    const [cached, notes] = [readFileSync(path), readFileSync(`${image}.unsynced`)];
    const left = Buffer.alloc(Math.max(cached.length, readFileSync(image).length));
    let length = readFileSync(image).copy(left);
    for (let at = 0; at < cached.length; at += pageBytes) {
      if (!notes[at / pageBytes] || !isWritten()) continue;
      const end = Math.min(at + pageBytes, cached.length);
      cached.copy(left, at, at, end);
      length = Math.max(length, end);
    }
    // In place: a data file is known by its inode.
    for (const name of [path, image]) writeFileSync(name, left.subarray(0, length));
    writeFileSync(`${image}.unsynced`, Buffer.alloc(notes.length));
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}
