import { closeSync, createReadStream, createWriteStream, openSync } from 'node:fs';
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { makePrivateDirectory, privateMode } from './atomic-file.ts';
import type { LineChunk } from './line-queue.ts';
import { LogOutput } from './log-output.ts';
import type { Clock } from './time/clock.ts';

export interface RotatedFileOptions {
  readonly path: string;
  /** A file that would become longer is renamed first. */
  readonly bytesMax: number;
  /** Number of renamed files that stay; 0: all. */
  readonly backupsMax: number;
  /** Age at which renamed files are removed, by the time in their names. Milliseconds; 0: never. */
  readonly ageMsMax: number;
  /** Renamed files are compressed (gzip). */
  readonly compress: boolean;
}

interface RotatedFileParts {
  readonly clock: Clock;
  /** Receives the reason why renamed files could not be removed or compressed. */
  readonly onProblem: (error: unknown) => void;
}

/**
 * Makes sure that the file can be written, and creates it and its directory for the owner alone if they are absent.
 * Throws if it cannot be.
 */
export function openRotatedFile(options: RotatedFileOptions, parts: RotatedFileParts): LogOutput {
  makePrivateDirectory(dirname(options.path));
  closeSync(openSync(options.path, 'a', privateMode));
  return new RotatedFile(options, parts);
}

/**
 * A log file that is renamed when it is full, with the names and limits of the lumberjack package, which kube-apiserver
 * uses: `audit.log` becomes `audit-2026-01-31T12-00-00.000.log`. Only one process may write it.
 */
class RotatedFile extends LogOutput {
  readonly #options: RotatedFileOptions;
  readonly #parts: RotatedFileParts;
  #file: FileHandle | undefined;
  #size = 0;
  /** The last line of the file may be without its end. */
  #torn = false;
  /** Removal and compression of renamed files, one run after another. */
  #tidying: Promise<void> = Promise.resolve();

  constructor(options: RotatedFileOptions, parts: RotatedFileParts) {
    super(options.bytesMax);
    this.#options = options;
    this.#parts = parts;
  }

  async close(): Promise<void> {
    await this.idle();
    await this.#closeFile();
    await this.#tidying;
  }

  protected async writeChunk(chunk: LineChunk): Promise<void> {
    const { bytesMax } = this.#options;
    if (chunk.bytes > bytesMax) {
      throw new Error(`write length ${chunk.bytes} exceeds maximum file size ${bytesMax}`);
    }
    this.#file ??= await this.#openExisting();
    if (this.#size > 0 && this.#size + chunk.bytes > bytesMax) this.#file = await this.#rotate();
    await this.#append(this.#file, chunk);
  }

  async #append(file: FileHandle, { buffers, bytes }: LineChunk): Promise<void> {
    const whole = this.#torn ? [Buffer.from('\n'), ...buffers] : buffers;
    try {
      await writeWhole(file, whole);
      this.#torn = false;
      this.#size += bytes;
    } catch (error) {
      // What was written of the lines is taken back, so that what follows is not the end of one of them.
      this.#torn = await file.truncate(this.#size).then(
        () => false,
        () => true,
      );
      throw error;
    }
  }

  async #openExisting(): Promise<FileHandle> {
    this.#tidy();
    const file = await open(this.#options.path, 'a', privateMode);
    this.#size = (await file.stat()).size;
    return file;
  }

  async #rotate(): Promise<FileHandle> {
    const { path } = this.#options;
    const found = await this.#file?.stat();
    await this.#closeFile();
    await rename(path, await this.#freeName());
    const file = await open(path, 'a', found ? found.mode & 0o777 : privateMode);
    this.#file = file;
    this.#size = 0;
    this.#tidy();
    return file;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    // The system has the lines already; a file that cannot be closed is not written again.
    await file?.close().catch(this.#parts.onProblem);
  }

  /** A name that no file has: two files may become full within a millisecond. */
  async #freeName(): Promise<string> {
    const { directory, prefix, extension } = this.#names();
    for (let at = this.#parts.clock.now(); ; at++) {
      const name = join(directory, `${prefix}${timestamp(at)}${extension}`);
      if (!(await exists(name)) && !(await exists(`${name}${compressed}`))) return name;
    }
  }

  #names() {
    const { path } = this.#options;
    const extension = extname(path);
    return { directory: dirname(path), prefix: `${basename(path, extension)}-`, extension };
  }

  #tidy(): void {
    const { backupsMax, ageMsMax, compress } = this.#options;
    if (backupsMax === 0 && ageMsMax === 0 && !compress) return;
    this.#tidying = this.#tidying.then(() => this.#tidyNow()).catch(this.#parts.onProblem);
  }

  async #tidyNow(): Promise<void> {
    const { backupsMax, ageMsMax, compress } = this.#options;
    const { directory } = this.#names();
    const backups = await this.#backups();
    const oldest = ageMsMax === 0 ? Number.NEGATIVE_INFINITY : this.#parts.clock.now() - ageMsMax;
    const names = new Set<string>();
    for (const { name, at } of backups) {
      // A file and its compressed form count as one.
      names.add(name.endsWith(compressed) ? name.slice(0, -compressed.length) : name);
      if (at < oldest || (backupsMax > 0 && names.size > backupsMax)) await unlink(join(directory, name));
      else if (compress && !name.endsWith(compressed)) await compressFile(join(directory, name));
    }
  }

  /** Renamed files, newest first. */
  async #backups(): Promise<readonly { readonly name: string; readonly at: number }[]> {
    const { directory, prefix, extension } = this.#names();
    const found = (await readdir(directory, { withFileTypes: true })).flatMap((entry) => {
      const { name } = entry;
      const end = [extension, `${extension}${compressed}`].find(
        (each) => name.endsWith(each) && timeIn(name, prefix, each) !== undefined,
      );
      const at = end === undefined ? undefined : timeIn(name, prefix, end);
      return at === undefined || entry.isDirectory() ? [] : [{ name, at }];
    });
    return found.sort((a, b) => b.at - a.at);
  }
}

const compressed = '.gz';

async function writeWhole(file: FileHandle, buffers: readonly Uint8Array[]): Promise<void> {
  let rest = buffers;
  while (rest.length > 0) {
    let { bytesWritten } = await file.writev(rest as Uint8Array[]);
    const left: Uint8Array[] = [];
    for (const buffer of rest) {
      if (bytesWritten < buffer.length) left.push(buffer.subarray(bytesWritten));
      bytesWritten = Math.max(0, bytesWritten - buffer.length);
    }
    rest = left;
  }
}

/** `2026-01-31T12-00-00.000`, UTC. */
const timestamp = (ms: number): string => new Date(ms).toISOString().slice(0, -1).replaceAll(':', '-');

function timeIn(name: string, prefix: string, end: string): number | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const [, date, hours, minutes, seconds] =
    /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(name.slice(prefix.length, name.length - end.length)) ?? [];
  const at = Date.parse(`${date}T${hours}:${minutes}:${seconds}Z`);
  return Number.isNaN(at) ? undefined : at;
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Replaces a file by its compressed form. One that an earlier attempt left behind is overwritten. */
async function compressFile(path: string): Promise<void> {
  const { mode } = await stat(path);
  const target = `${path}${compressed}`;
  try {
    await pipeline(createReadStream(path), createGzip(), createWriteStream(target, { mode: mode & 0o777 }));
  } catch (error) {
    await unlink(target).catch(() => {});
    throw error;
  }
  await unlink(path);
}
