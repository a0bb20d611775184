/** Test support for the tests of this folder. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { within } from '../../../base/waits-fixture.ts';
import type { Store } from '../../store.ts';
import { type SmallDisk, withSmallDisk } from './small-disk-fixture.ts';
import { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';

export interface Place {
  readonly folder: string;
  readonly file: string;
  /** Opens a store on `file`; closed when the test ends. */
  open(options?: Partial<SqliteStoreOptions>): Promise<Store>;
  /** The files of the folder and their contents. */
  contents(): Readonly<Record<string, string>>;
}

/** A folder for a data file, removed when the test ends. */
export const placeFor = (context: TestContext): Place => {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-store-'));
  const file = join(folder, 'data.db');
  const opened: Store[] = [];
  context.after(async () => {
    await Promise.all(opened.map((store) => store.close()));
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    file,
    async open(options = {}) {
      const store = await openSqliteStore({ file, ...options });
      opened.push(store);
      return store;
    },
    contents: () =>
      Object.fromEntries(
        readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
      ),
  };
};

interface Child {
  readonly process: ChildProcess;
  /** The next line that the child prints; undefined after it has ended. */
  line(): Promise<string | undefined>;
  kill(): Promise<void>;
}

interface ChildLimits {
  /** Largest size of any file that the child writes. */
  readonly fileKibibytesMax?: number;
  readonly disk?: SmallDisk;
  /** A command that runs it. */
  readonly within?: readonly string[];
}

/** SIGXFSZ is ignored so that writing past the limit fails with an error instead of ending the process. */
const limiter = ({ fileKibibytesMax }: ChildLimits): readonly string[] =>
  fileKibibytesMax === undefined
    ? []
    : ['bash', '-c', `trap "" XFSZ; ulimit -f ${fileKibibytesMax}; exec "$@"`, 'limited'];

/** Runs a module's source in a separate process, with this folder's modules available as `sqlite.<export>`. */
export const inChild = (context: TestContext, source: string, limits: ChildLimits = {}): Child => {
  const modules = ['sqlite-store', 'backup', 'restore'].map((name) => new URL(`./${name}.ts`, import.meta.url).href);
  const imports = modules.map((url, index) => `import * as m${index} from '${url}';`).join('');
  const text = `${imports} const sqlite = { ...m0, ...m1, ...m2 }; ${source}`;
  // Written to a file, because the flags that `--eval` needs are inherited by the worker, which rejects them.
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-child-'));
  writeFileSync(join(folder, 'child.mjs'), text);
  const [command = '', ...args] = [
    ...(limits.disk ? withSmallDisk(limits.disk) : []),
    ...limiter(limits),
    ...(limits.within ?? []),
    process.execPath,
    join(folder, 'child.mjs'),
  ];
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await within(ended, 'the child does not end');
  };
  context.after(async () => {
    await kill();
    rmSync(folder, { recursive: true });
  });
  return {
    process: child,
    async line() {
      const next = await within(lines.next(), 'the child prints nothing');
      return next.done ? undefined : next.value;
    },
    kill,
  };
};
