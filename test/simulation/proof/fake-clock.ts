import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const name = 'libfaketimeMT.so.1';

/** Debian has a folder for each architecture. */
const library = ['/usr/lib', ...foldersOf('/usr/lib').map((folder) => `/usr/lib/${folder}`)]
  .map((folder) => join(folder, 'faketime', name))
  .find((file) => existsSync(file));

function foldersOf(path: string): readonly string[] {
  return existsSync(path) ? readdirSync(path).filter((each) => each.endsWith('-linux-gnu')) : [];
}

/** A skip option of node:test: why clocks cannot be set here, or false if they can. */
export const fakeClockMissing: string | false = library
  ? false
  : `${name} is not installed: apt-get install libfaketime`;

/** The wall clock of one process, which is set while it runs. Its monotonic clock and its timers go on as they are. */
export class FakeClock implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'fake-clock-'));
  #aheadMs = 0;

  constructor() {
    this.set(0);
  }

  /** A command prefix that runs the command with this clock. */
  get within(): readonly string[] {
    return [
      'env',
      `LD_PRELOAD=${library}`,
      `FAKETIME_TIMESTAMP_FILE=${this.#file}`,
      ...['FAKETIME_NO_CACHE=1', 'FAKETIME_DONT_FAKE_MONOTONIC=1', 'NO_FAKE_STAT=1'],
    ];
  }

  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** How far it is ahead of the clock of this process; whole seconds. */
  set(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    const seconds = Math.trunc(aheadMs / 1_000);
    // At once: the library would take a file that is half written for no time at all.
    writeFileSync(`${this.#file}-new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${this.#file}-new`, this.#file);
  }

  get #file(): string {
    return join(this.#folder, 'ahead');
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}
