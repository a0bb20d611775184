import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { build } from 'esbuild';
import { builtinModules } from './builtin-modules.ts';
import { type Merged, mergeModules } from './merge-modules.ts';

/** What each file says when it is evaluated, so that a second copy is heard. */
const sources: Readonly<Record<string, string>> = {
  'src/main.ts': `
    import { shared } from './shared.ts';
    const { start } = await import('./server.ts');
    process.stdout.write(\`\${await start(shared)}\\n\`);`,
  'src/shared.ts': `console.log('shared'); export const shared = { made: 'once' }; export interface Shape { a: string }`,
  'src/server.ts': `
    import { type Shape, shared } from './shared.ts';
    import { gzipSync } from 'node:zlib';
    import { createHash, type Hash } from 'node:crypto';
    import util, { inspect as shown } from 'node:util';
    import { kind } from './kind.ts';
    console.log('server');
    const hash: Hash = createHash('sha256');
    export async function start(given: object): Promise<string> {
      const { later } = await import('./later.ts');
      const itself = await import('./kind.ts');
      const known: Shape = { a: shown(hash.update('a').digest('hex').length) };
      const bytes = gzipSync('text').length > 0;
      return [given === shared, later() === kind, itself.kind === kind, known.a, bytes, util.format('%d', 7)].join(' ');
    }`,
  'src/kind.ts': `console.log('kind'); export const kind = { name: 'a' }; export let count = 0;`,
  'src/later.ts': `
    import { shared } from './shared.ts';
    import { kind } from './kind.ts';
    console.log('later', shared.made);
    export const later = () => kind;`,
};

const files: readonly Merged[] = [
  { name: 'shell', roots: ['src/shared.ts'] },
  { name: 'server', roots: ['src/server.ts'] },
];

let root: string;

const dist = (): string => join(root, 'dist');

const names = (): readonly string[] => readdirSync(dist()).sort();

before(async () => {
  root = mkdtempSync(join(tmpdir(), 'merge-modules-'));
  for (const [path, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  await bundle();
});
after(() => rmSync(root, { recursive: true, force: true }));

/** Bundles what is in `root`. */
async function bundle(): Promise<void> {
  rmSync(dist(), { recursive: true, force: true });
  const merged = await mergeModules({ bundle: build, root, entries: ['src/main.ts'], files });
  await build({
    absWorkingDir: root,
    entryPoints: { main: 'src/main.ts', ...merged.files },
    outdir: dist(),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    chunkNames: 'part-[hash]',
    plugins: [builtinModules(root), merged.plugin],
    logLevel: 'silent',
  });
}

describe('modules that are merged', () => {
  it('are each evaluated once, whoever imports them', () => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(dist(), 'main.js')], { encoding: 'utf8' });
    assert.equal(stderr, '');
    assert.deepEqual(stdout.trimEnd().split('\n'), [
      'shared',
      'kind',
      'server',
      'later once',
      'true true true 64 true 7',
    ]);
  });

  it('are each in one file', () => {
    for (const module of Object.keys(sources)) {
      const holders = names().filter((name) => readFileSync(join(dist(), name), 'utf8').includes(`// ${module}\n`));
      assert.equal(holders.length, 1, `${module}: ${holders.join(', ')}`);
    }
  });

  it('are in files of their build: a running server loads no part of another one', async () => {
    const before = names();
    const path = join(root, 'src/later.ts');
    writeFileSync(path, `${sources['src/later.ts']}\nconsole.log('changed');`);
    try {
      await bundle();
      const parts = before.filter((name) => name.startsWith('part-'));
      const kept = parts.filter((name) => names().includes(name) && imports(name).length > 0);
      assert.deepEqual(kept, []);
    } finally {
      writeFileSync(path, sources['src/later.ts'] ?? '');
      await bundle();
    }
  });
});

const imports = (name: string): readonly string[] =>
  [...readFileSync(join(dist(), name), 'utf8').matchAll(/from "(\.\/[^"]+)"/g)].map(([, target = '']) => target);

it('a package that would be there twice is refused', async () => {
  const packaged = join(root, 'node_modules/state/index.js');
  mkdirSync(dirname(packaged), { recursive: true });
  writeFileSync(packaged, 'export const state = {};');
  writeFileSync(join(root, 'src/state.ts'), `export { state } from 'state';`);
  await assert.rejects(
    mergeModules({
      bundle: build,
      root,
      entries: ['src/main.ts'],
      files: [{ name: 'server', roots: ['src/state.ts'] }],
    }),
    /server: node_modules\/state\/index.js is to be imported dynamically/,
  );
});

describe('modules of Node.js', () => {
  for (const [what, text, message] of [
    ['as a whole', `import * as fs from 'node:fs'; fs.rmSync('');`, /node:fs: to be imported by names/],
    [
      'a constant of one that is loaded late',
      `import { constants } from 'node:zlib'; console.log(constants);`,
      /only its functions/,
    ],
    [
      'a class of one that is loaded late',
      `import { Gzip } from 'node:zlib'; console.log(Gzip);`,
      /only its functions/,
    ],
  ] as const) {
    it(`${what}: refused`, async () => {
      writeFileSync(join(root, 'src/refused.ts'), text);
      const built = build({
        absWorkingDir: root,
        entryPoints: ['src/refused.ts'],
        bundle: true,
        write: false,
        platform: 'node',
        format: 'esm',
        plugins: [builtinModules(root)],
        logLevel: 'silent',
      });
      await assert.rejects(built, message);
    });
  }
});
