import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { codeOnly } from './source-tree.ts';
import { tidy, tidyProject } from './tidy.ts';

/** The file is imported by the product, or by a test only. */
const offences = (path: string, text: string, by = 'src/cli/main.ts'): string[] =>
  tidy([
    { path, text },
    { path: by, text: `import '../../${path}';` },
  ]);

describe('what tidy refuses', () => {
  const mark = 'TO' + 'DO';
  for (const [path, text, expected] of [
    ['src/http/a.ts', 'const now = Date.now();', ['src/http/a.ts:1: Date.now: use Clock.now']],
    ['src/http/a.ts', '\nconst now = new Date();', ['src/http/a.ts:2: new Date(): use Clock.now']],
    ['src/http/a.ts', 'setTimeout(f, 1); setTimeout(g, 1);', ['src/http/a.ts:1: setTimeout: use Clock.after']],
    [
      'src/http/a.ts',
      'if (publicKey.equals(x)) f();',
      ['src/http/a.ts:1: publicKey.equals(: use X509Certificate.checkPrivateKey'],
    ],
    ['src/http/a.ts', 'const x = Math.random();', ['src/http/a.ts:1: Math.random: use Random']],
    ['src/http/a.ts', 'console.log(1);', ['src/http/a.ts:1: console.log: use Logger']],
    ['src/http/a.ts', 'process.exit(1);', ['src/http/a.ts:1: process.exit: use an error that the command line shows']],
    ['src/http/a.ts', 'let x: any;', ['src/http/a.ts:1: any: use unknown']],
    ['src/http/a.ts', 'const x = y as any;', ['src/http/a.ts:1: any: use unknown']],
    ['src/http/a.ts', 'const x: Map<string, Set<any>> = y;', ['src/http/a.ts:1: any: use unknown']],
    ['src/http/a.ts', 'export default 1;', ['src/http/a.ts:1: export default: use a name']],
    ['tools/a.ts', `// ${mark}: later`, [`tools/a.ts:1: ${mark}: finish it, or file an issue`]],
    ['src/http/a.ts', "const x = 'k8s.io';", ['src/http/a.ts:1: k8s: names of products stand in src/dialect/']],
    [
      'src/http/a.ts',
      'export const a = 1, b = "export const c";\nexport type D = a;',
      ['src/http/a.ts:1: a: exported, and imported by nobody', 'src/http/a.ts:2: D: exported, and imported by nobody'],
    ],
    ...[
      ["import { readFileSync } from 'node:fs';", 'Files'],
      ["import { readFile } from 'node:fs/promises';", 'Files'],
      ["import https from 'node:https';", 'Network'],
      ["import {\n  connect,\n} from 'node:tls';", 'Network'],
      ["import { hostname } from 'node:os';", 'Environment.hostname and Environment.variables'],
      ["import { spawn } from 'node:child_process';", 'a credential plugin'],
      ["import { Worker } from 'node:worker_threads';", 'Environment.startHeavyWorker, a store, or serving threads'],
    ].map(
      ([text = '', remedy]) =>
        ['src/cache/a.ts', text, [`src/cache/a.ts:1: ${text}: use ${remedy}`.replace(/;: /, ': ')]] as const,
    ),
    [
      'src/cache/a.ts',
      'f(process.env);',
      ['src/cache/a.ts:1: process.env: use Environment.hostname and Environment.variables'],
    ],
    [
      'src/pki/a.ts',
      "await import('some-package');",
      ["src/pki/a.ts:1: import('some-package'): use a dynamic import of a file of ours that imports the package"],
    ],
    ['src/cache/a.ts', 'f(systemClock);', ['src/cache/a.ts:1: systemClock: use what the environment gives']],
    ...[
      ['function f() {', '}', 51],
      ['async function f(', '}', 60],
      ['const f = () => {', '};', 51],
      ['class A {\n  async f(a: B): Promise<void> {', '  }\n}', 51],
    ].map(([first, last, length]) => {
      const text = `${first}${'\n    g();'.repeat(Number(length) - 2)}\n${last}`;
      const line = String(first).split('\n').length;
      const says = `src/cli/a.ts:${line}: a function of ${length} lines: a page has 50`;
      return ['src/cli/a.ts', text, [says]] as const;
    }),
    ['src/http/a.ts', '\n'.repeat(601), ['src/http/a.ts: 601 lines, more than 600: one file, one concept']],
  ] as const) {
    it(`${path}: ${text.slice(0, 60).trim()}`, () => assert.deepEqual(offences(path, text), expected));
  }
});

describe('what tidy lets pass', () => {
  for (const [path, text, by] of [
    ['src/base/clock.ts', 'const now = Date.now(); setTimeout(f, 1); Math.random();'],
    [
      'src/http/a.test.ts',
      'const now = Date.now(); setTimeout(f, 1); console.log(process.exit(1));',
      'src/http/b.test.ts',
    ],
    ['src/store/support.ts', "setTimeout(f, 1); const x = 'k8s';", 'src/store/a.test.ts'],
    ['src/cli/a.ts', 'process.exit(1);'],
    ['src/cache/a.ts', "import type { Server } from 'node:https';\nimport { isIP } from 'node:net';"],
    ['src/outbound/network/a.ts', "import https from 'node:https';"],
    ['src/cli/a.ts', `function f() {${'\n  g();'.repeat(48)}\n}`],
    ['src/cli/a.ts', `const f = {${'\n  g: 1,'.repeat(100)}\n};`],
    ['bench/a.ts', 'console.log(performance.now());', 'bench/main.ts'],
    ['src/dialect/a.ts', "const x = 'kubernetes';"],
    ['src/cli/a.ts', "const x = 'admin.kubeconfig';"],
    ['src/http/a.ts', "const x = 1; // As Kubernetes does: 'k8s'."],
    ['src/http/a.ts', '// any time, Date.now() or process.exit()\nconst x = "Math.random()";'],
    ['src/http/a.ts', 'const any = new Date(0); const x = of.any(any);'],
    ['src/http/a.ts', "const x = /['\"`]/.test(y) ? 'setTimeout' : 1;"],
    ['src/http/a.ts', '\n'.repeat(600)],
  ] as const) {
    it(`${path}: ${text.slice(0, 60).trim()}`, () => assert.deepEqual(offences(path, text, by), []));
  }
});

describe('an export is used', () => {
  for (const text of [
    "import { x } from './a.ts';",
    "import { y, type x } from './a.ts';",
    "import type { x as z } from './a.ts';",
    "import {\n  y,\n  x as type,\n} from './a.ts';",
    "export { x } from './a.ts';",
    "import * as a from './a.ts';",
    "const { x } = await import('./a.ts');",
  ]) {
    it(text, () => {
      const file = { path: 'src/cli/a.ts', text: 'export const x = 1;' };
      assert.deepEqual(tidy([file, { path: 'src/cli/main.ts', text }]), []);
    });
  }

  it('by another file only, and by its own name', () => {
    const a = { path: 'src/cli/a.ts', text: 'export const x = 1;\nexport const y = x;' };
    for (const text of ["import { y, z as x } from './a.ts';", "import { y as x } from './a.ts';"]) {
      const offences = tidy([a, { path: 'src/cli/main.ts', text }]);
      assert.deepEqual(offences, ['src/cli/a.ts:1: x: exported, and imported by nobody']);
    }
  });
});

it('a file that no program and no test reaches is dead', () => {
  const text = "import { used } from './used.ts';";
  assert.deepEqual(
    tidy([
      { path: 'src/cli/main.ts', text },
      { path: 'src/cli/used.ts', text: '' },
      { path: 'src/cli/dead.ts', text: "import './dead-too.ts';" },
      { path: 'src/cli/dead-too.ts', text: '' },
    ]).map((offence) => offence.split(':')[0]),
    ['src/cli/dead.ts', 'src/cli/dead-too.ts'],
  );
});

describe('code without comments and quotes', () => {
  for (const [text, expected] of [
    ['a // b\nc', 'a     \nc'],
    ['a /* b\nc */ d', 'a     \n     d'],
    ["x = 'a // b'; y", 'x =         ; y'],
    ['x = "a\\"b"; y', 'x =       ; y'],
    ['x = `a $ {b} "`; y', 'x =            ; y'],
    ['x = a / b / c; y', 'x = a / b / c; y'],
    ["x = /a'[/]'b/g; y", 'x =           ; y'],
    ["f(/'/); g('x')", 'f(   ); g(   )'],
  ] as const) {
    it(JSON.stringify(text), () => assert.equal(codeOnly(text), expected));
  }
});

it('this project is tidy', () => {
  assert.deepEqual(tidyProject(resolve(import.meta.dirname, '..')), []);
});
