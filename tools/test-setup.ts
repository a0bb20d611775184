/** Loaded before each test file. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Hundreds of files load the same modules, each in a process of its own.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/orch-tests'));

/** A file that does not end by itself, whatever its cases say, fails and tells what it still holds: later where more rounds are asked for. */
const asksForMore = Object.keys(process.env).some((name) => /^ORCH_\w+_ROUNDS$/.test(name));
const fileMsMax = (asksForMore ? 6 * 60 : 15) * 60_000;

// Alone it keeps no process alive: it fires only where something else does.
setTimeout(() => {
  process.stderr.write(
    `still open after ${fileMsMax / 60_000} minutes: ${process.getActiveResourcesInfo().join(' ')}\n`,
  );
  process.exit(1);
}, fileMsMax).unref();
