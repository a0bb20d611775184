import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { keepCompiledCode, runScript } from './compiled-code.ts';

const folder = mkdtempSync(join(tmpdir(), 'compiled-code-'));
after(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'a-script.js');
const kept = join(folder, '.compile-cache');

/** A function that is compiled when it is called, whose code takes more room than it has as a text. */
const body = Array.from({ length: 200 }, (_, at) => `sum += [${at}, { at: ${at} }].length;`).join(' ');
writeFileSync(path, `(function (given) { return () => { let sum = given; ${body} return sum; }; })`);
const run = (): number => runScript<(given: number) => () => number>(path)(1)();

test('a script runs, and its code is kept with the functions that have run', async () => {
  const unused = runScript<(given: number) => () => number>(path);
  await keepCompiledCode();
  const [file = ''] = readdirSync(kept);
  const before = readFileSync(join(kept, file)).length;
  assert.equal(typeof unused, 'function');
  rmSync(kept, { recursive: true });
  assert.equal(run(), 401);
  await keepCompiledCode();
  assert.deepEqual(readdirSync(kept), [file]);
  assert.ok(readFileSync(join(kept, file)).length > before + 1_000);
});

test('kept code is used, and not kept again', async () => {
  const [file = ''] = readdirSync(kept);
  const before = readFileSync(join(kept, file));
  assert.equal(run(), 401);
  rmSync(kept, { recursive: true });
  await keepCompiledCode();
  assert.throws(() => readdirSync(kept), /ENOENT/);
  assert.ok(before.length > 0);
});

test('kept code that is broken is made anew; where it cannot be kept, the script runs all the same', async () => {
  run();
  await keepCompiledCode();
  const [file = ''] = readdirSync(kept);
  const tag = file.slice(file.lastIndexOf('-'));
  // Of a script that this thread has not compiled: it would not look at what was kept.
  const other = join(folder, 'other-script.js');
  writeFileSync(other, '(function () { return 5; })');
  const keptAt = join(kept, `other-script.js${tag}`);
  writeFileSync(keptAt, 'broken');
  assert.equal(runScript<() => number>(other)(), 5);
  await keepCompiledCode();
  assert.ok(readFileSync(keptAt).length > 100);
  rmSync(kept, { recursive: true });
  writeFileSync(kept, 'no folder');
  assert.equal(run(), 401);
  await keepCompiledCode();
  assert.equal(readFileSync(kept, 'utf8'), 'no folder');
});
