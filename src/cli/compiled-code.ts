import { mkdirSync, readFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { constants, Script } from 'node:vm';

const { cachedDataVersionTag } = process.getBuiltinModule('v8');

interface FreshScript {
  readonly script: Script;
  readonly keptAt: string;
}

/** Scripts of this thread of which no compiled code was kept. */
const fresh: FreshScript[] = [];

/**
 * Runs a file of the bundle that is a script (`tools/as-script.ts`), and returns its value: a function. The compile cache of
 * Node.js keeps of a module what is compiled when it is loaded, which is nothing that it calls later: a quarter of a start was
 * compiling the same functions again. A script can be asked for its code when it has run for a while (`keepCompiledCode`).
 */
export function runScript<T>(path: string): T {
  const keptAt = join(dirname(path), '.compile-cache', `${basename(path)}-${cachedDataVersionTag().toString(16)}`);
  const cachedData = readIfThere(keptAt);
  const script = new Script(readFileSync(path, 'latin1'), {
    filename: path,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  // Of another release of Node.js with the same tag, or cut short: V8 has compiled the source instead.
  if (!cachedData || script.cachedDataRejected) fresh.push({ script, keptAt });
  return script.runInThisContext();
}

/**
 * Keeps compiled code for later starts, as far as none was: functions that have run until now come with it. Takes some 30 ms
 * once after an installation. Never rejects: where it cannot be kept, the next start compiles again.
 */
export async function keepCompiledCode(): Promise<void> {
  flushCompileCache();
  await Promise.allSettled(fresh.splice(0).map(keep));
}

async function keep({ script, keptAt }: FreshScript): Promise<void> {
  mkdirSync(dirname(keptAt), { recursive: true });
  const temporary = `${keptAt}.${process.pid}`;
  await writeFile(temporary, script.createCachedData());
  await rename(temporary, keptAt);
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
