import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { checkLayers, checkProjectLayers } from './check-layers.ts';

const file = (path: string, text: string) => ({ path, text });

describe('rooms', () => {
  for (const [name, path, text, expected] of [
    ['down', 'src/http/a.ts', "import { b } from '../meta/b.ts';", undefined],
    ['the same room', 'src/http/a.ts', "import { b } from './deep/b.ts';", undefined],
    ['a package', 'src/http/a.ts', "import { b } from 'yaml';", undefined],
    ['package.json', 'src/cli/a.ts', "import json from '../../package.json' with { type: 'json' };", undefined],
    ['up', 'src/meta/a.ts', "import { b } from '../http/b.ts';", /^src\/meta\/a\.ts:1 imports src\/http\/b\.ts.*above/],
    ['up, a type', 'src/base/a.ts', "import type { B } from '../meta/b.ts';", /meta\/ stands above base\//],
    ['up, exported on', 'src/base/a.ts', "export * from '../meta/b.ts';", /above/],
    ['up, when it is needed', 'src/base/a.ts', "\n\nconst b = await import('../meta/b.ts');", /^src\/base\/a\.ts:3 /],
    ['up, over lines', 'src/base/a.ts', "import {\n  type B,\n  c,\n} from '../meta/b.ts';", /above/],
    ['up, for its effect', 'src/base/a.ts', "import '../meta/b.ts';", /above/],
    ['up, as a worker', 'src/store/a.ts', "new Worker(new URL('../http/b.ts', import.meta.url));", /above/],
    ['between the four', 'src/registry/a.ts', "import { b } from '../authn/b.ts';", /they meet in server/],
    ['kinds to the store', 'src/kinds/x/a.ts', "import { b } from '../../store/b.ts';", /hold none/],
    ['controllers to the cache', 'src/controllers/a.ts', "import { b } from '../cache/b.ts';", /are clients/],
    ['an unknown room', 'src/http/a.ts', "import { b } from '../util/b.ts';", /util\/ has no place/],
    ['from an unknown room', 'src/util/a.ts', "import { b } from '../base/b.ts';", /util\/ has no place/],
    ['outside of src', 'src/http/a.ts', "import { b } from '../../tools/b.ts';", /only src\//],
    [
      'up, but in a comment',
      'src/base/a.ts',
      "// import { b } from '../meta/b.ts';\n/* import '../meta/b.ts' */",
      undefined,
    ],
    ['up, but in a text', 'src/base/a.ts', 'const text = `import { b } from "../meta/b.ts"`;', undefined],
    ['up, but in a test', 'src/base/a.test.ts', "import { b } from '../meta/b.ts';", undefined],
  ] as const) {
    it(`${name}: ${expected ? 'refused' : 'fine'}`, () => {
      const offences = checkLayers([file(path, text)]);
      if (!expected) return assert.deepEqual(offences, []);
      assert.equal(offences.length, 1);
      assert.match(offences[0] ?? '', expected);
    });
  }
});

it('circles between files are refused, with their path', () => {
  assert.deepEqual(
    checkLayers([
      file('src/meta/start.ts', "import { a } from './a.ts';"),
      file('src/meta/a.ts', "import { b } from './b.ts';"),
      file('src/meta/b.ts', "import { c } from './c.ts';"),
      file('src/meta/c.ts', "const a = await import('./a.ts');"),
    ]),
    ['imports go in a circle: src/meta/a.ts -> src/meta/b.ts -> src/meta/c.ts -> src/meta/a.ts'],
  );
});

it('files whose types refer to each other are no circle', () => {
  assert.deepEqual(
    checkLayers([
      file('src/meta/a.ts', "import type { B } from './b.ts';"),
      file('src/meta/b.ts', "import { a } from './a.ts';"),
    ]),
    [],
  );
});

it('a file that many reach is no circle', () => {
  const diamond = { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] as string[] };
  const files = Object.entries(diamond).map(([name, targets]) =>
    file(`src/meta/${name}.ts`, targets.map((target) => `import './${target}.ts';`).join('\n')),
  );
  assert.deepEqual(checkLayers(files), []);
});

it('this project keeps its order', () => {
  assert.deepEqual(checkProjectLayers(resolve(import.meta.dirname, '..')), []);
});
