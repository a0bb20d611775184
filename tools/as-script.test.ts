import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { asScript } from './as-script.ts';

const folder = mkdtempSync(join(tmpdir(), 'as-script-'));
after(() => rmSync(folder, { recursive: true }));

const compiledCode = pathToFileURL(join(import.meta.dirname, '../src/cli/compiled-code.ts')).href;
const runner = `import { runScript } from '${compiledCode}';`;
const made = (...lines: readonly string[]) => asScript({ file: 'part-script.js', text: lines.join('\n'), runner });

describe('a module of the bundle as a script', () => {
  it('exports the same, of what it imports, loads later and is told of its place', async () => {
    const { script, module } = made(
      'const banner = 1;',
      'import "./effect.js";',
      '// a module',
      'import { "src/a.ts one" as src_a_ts_one, two } from "./other.js";',
      'const sum = src_a_ts_one + two + banner;',
      'import { three as 三 } from "./third.js";'.replaceAll('三', 'local3'),
      'const later = () => import("./third.js");',
      'const place = import.meta.url;',
      'function fail() { throw new Error("here"); }',
      'export {',
      '  sum as "src/b.ts sum",',
      '  later,',
      '  place,',
      '  fail as $fail,',
      '  local3',
      '};',
    );
    const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    put('effect.js', 'globalThis.effects = (globalThis.effects ?? 0) + 1;');
    put('other.js', 'const a = 1; export const two = 2; export { a as "src/a.ts one" };');
    put('third.js', 'export const three = 3;');
    put('part-script.js', script);
    put('part.js', module);
    put('package.json', '{"type":"module"}');
    const url = pathToFileURL(join(folder, 'part.js')).href;
    const exported = await import(url);
    assert.deepEqual(Object.keys(exported).toSorted(), ['$fail', 'later', 'local3', 'place', 'src/b.ts sum']);
    assert.deepEqual([exported['src/b.ts sum'], exported.local3, exported.place], [4, 3, url]);
    assert.equal((await exported.later()).three, 3);
    assert.equal(Reflect.get(globalThis, 'effects'), 1);
    // The table of the log's places (`log-places.ts`) is by line.
    assert.throws(exported.$fail, (error: Error) => /part-script\.js:9:/.test(error.stack ?? ''));
  });

  for (const [what, line] of [
    ['another form of import', "import a from './a.js';"],
    ['a package', 'import { a } from "a";'],
    ['another form of export', 'export const a = 1;'],
    ['import.meta', 'const a = import.meta.dirname;'],
    ['waiting', 'const a = await b();'],
    ['its own names', 'const $m0 = 1;'],
  ] as const) {
    it(`refuses ${what}`, () => assert.throws(() => made(line), /part-script\.js: /));
  }
});
