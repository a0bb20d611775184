/**
 * Bundles the product into `dist/`, which is what `bin/orch` runs: npm's `prepare` script. A bundle starts faster than
 * hundreds of files that are stripped of their types one by one. Parts that are imported dynamically become files of
 * their own and cost nothing until they are used.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { OutputFile } from 'esbuild';
import { asScript } from './as-script.ts';
import { builtinModules } from './builtin-modules.ts';
import { initialForms } from './initial-forms.ts';
import { logPlaces } from './log-places.ts';
import { type Merged, mergeModules } from './merge-modules.ts';

/** What `dist/` begins with: outer file name without `.js`, and the source. */
const entries: Readonly<Record<string, string>> = {
  main: 'src/cli/main.ts',
  library: 'src/library/library.ts',
  testing: 'src/cli/testing/testing.ts',
  'heavy-worker': 'src/server/serving/heavy/heavy-worker.ts',
  'serving-thread': 'src/cli/serving-thread.ts',
};

/** Threads that need little: by themselves, so that they load one small file. */
const threads: Readonly<Record<string, string>> = {
  'sqlite-worker': 'src/store/drivers/sqlite/sqlite-worker.ts',
};

/** What every command loads, what stands in for a store, and what every server does, with the store that it has by default. */
const merged: readonly Merged[] = [
  {
    name: 'shell',
    roots: [
      ...['src/cli/run-command-line.ts', 'src/cli/error-output.ts', 'src/cli/commands/version.ts'],
      'src/cli/compiled-code.ts',
    ],
  },
  { name: 'stand-in', roots: ['src/cli/commands/stand-in-etcd.ts'] },
  {
    name: 'server',
    roots: [
      'src/cli/commands/up.ts',
      'src/cli/commands/apiserver.ts',
      'src/cli/commands/stand-in-apiserver.ts',
      'src/server/wiring/start-server.ts',
      'src/store/drivers/sqlite/sqlite-store.ts',
      'src/store/drivers/sqlite/owner-lock.ts',
    ],
  },
];

/** Modules of Node.js that every server loads. */
const ofEveryServer = [
  ...['https', 'http', 'worker_threads', 'cluster', 'perf_hooks', 'os', 'dns', 'dns/promises', 'timers/promises'],
];

/**
 * The first file that runs.
 *
 * - V8 makes objects old at once where it has seen others of their place live long, as after a burst of requests. Each such
 *   object then keeps its whole request until a full collection: with audit, a third of the processor time of small reads.
 *   Node.js has its own modules compiled, for the default flags of V8 only: they are loaded before the flag is set, and with
 *   that of `bin/orch` taken back, which has done what it does.
 * - The compile cache must be on before anything big is loaded, and with the flags of that. It lies in `dist/`, so that only
 *   who may change the code may change the cache, and Node.js goes on without where that cannot be written.
 */
const launcher = `import { enableCompileCache } from 'node:module';
const { setFlagsFromString } = process.getBuiltinModule('v8');
setFlagsFromString('--initial-heap-size=0');
const serves = /^(up|apiserver|stand-in-apiserver)$/.test(process.argv[2]);
for (const name of serves ? ${JSON.stringify(ofEveryServer)} : []) process.getBuiltinModule(name);
setFlagsFromString('--no-allocation-site-pretenuring');
enableCompileCache(import.meta.dirname + '/.compile-cache');
await import('./main.js');
`;

/**
 * Bundled CommonJS packages call `require` for the modules of Node.js itself. Some globals of Node.js are accessors, which
 * its compilers cannot look through: each use would be two calls.
 */
const banner = `const { Buffer, process } = globalThis;
const require = process.getBuiltinModule('module').createRequire(import.meta.url);`;

/** Files of earlier builds that a running server may still load lazily are left for this long. Milliseconds. */
const leftoverMs = 60 * 60_000;

interface BuildResult {
  readonly files: number;
  readonly bytes: number;
}

/** Builds `root` into `root/dist`. Throws with the compiler's own words when that fails; `dist` is then as it was. */
export async function build(root: string): Promise<BuildResult> {
  const started = new Date();
  const { build: bundle } = await import('esbuild');
  const dist = join(root, 'dist');
  const shared = {
    absWorkingDir: root,
    // A copy of the package may have its sources by a link.
    preserveSymlinks: true,
    outdir: dist,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Not minified: stack traces are read by people, and with the compile cache it would not start faster.
    banner: { js: banner },
    chunkNames: 'part-[hash]',
    // Not shipped: what is needed of the maps goes into a table.
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
    write: false,
  } as const;
  const [own, alone] = [entries, threads].map((sources) => existing(root, sources));
  const { files: together, plugin } = await mergeModules({
    ...{ bundle, root },
    entries: Object.values(own ?? {}),
    files: merged.filter(({ roots }) => roots.every((source) => existsSync(join(root, source)))),
  });
  const builtins = builtinModules(root);
  const results = await Promise.all([
    bundle({
      ...shared,
      splitting: true,
      entryPoints: { ...own, ...together },
      plugins: [builtins, initialForms(root), plugin],
    }),
    bundle({ ...shared, entryPoints: { ...alone }, plugins: [builtins] }),
  ]);
  // A warning here is, for one, an import that cannot be found and that the code guards: then it fails when it runs.
  const [warning] = results.flatMap(({ warnings }) => warnings);
  if (warning) throw new Error(`${warning.location?.file ?? ''}:${warning.location?.line ?? ''} ${warning.text}`);
  const outputFiles = results.flatMap((result) => result.outputFiles).flatMap(scripted);
  const files = outputFiles.filter(({ path }) => path.endsWith('.js'));
  for (const { path, text } of files) refuseWide(path, text);
  mkdirSync(dist, { recursive: true });
  const written = new Set<string>();
  let bytes = 0;
  // What others import is there before what imports it: someone may start the product while we write.
  const outputs = files.sort((a, b) => Number(isEntry(a.path)) - Number(isEntry(b.path)));
  const places = Buffer.from(JSON.stringify(logPlaces(outputFiles)));
  const made = [
    { path: join(dist, 'log-places.json'), contents: places },
    ...outputs,
    { path: join(dist, 'orch.js'), contents: Buffer.from(launcher) },
  ];
  for (const output of made) {
    replaceFile(output.path, output.contents);
    written.add(basename(output.path));
    bytes += output.contents.length;
  }
  removeLeftovers(dist, written, started);
  // The launcher compares sources with the time before they were read: what changed since then counts as newer.
  const stamp = join(dist, '.built');
  writeFileSync(stamp, '');
  utimesSync(stamp, started, started);
  return { files: written.size, bytes };
}

/** What is large and runs at every start is a script, and a module in its place. */
function scripted(output: Output): readonly Output[] {
  const server = /^(part-\w+-)server\.js(\.map)?$/.exec(basename(output.path));
  if (!server) return [output];
  const [, version = '', map = ''] = server;
  const file = `${version}server-script.js`;
  const path = join(dirname(output.path), `${file}${map}`);
  if (map !== '') return [{ path, text: output.text, contents: output.contents }];
  const runner = `import { "src/cli/compiled-code.ts runScript" as runScript } from "./${version}shell.js";`;
  const { script, module } = asScript({ file, text: output.text, runner });
  return [
    { path, text: script, contents: Buffer.from(script) },
    { path: output.path, text: module, contents: Buffer.from(module) },
  ];
}

type Output = Pick<OutputFile, 'path' | 'text' | 'contents'>;

/** Of these sources, those that are there: a checkout for a test may have few. */
const existing = (root: string, sources: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(sources).filter(([, source]) => existsSync(join(root, source))));

/** A single character beyond ASCII makes the runtime keep the whole file with two bytes for each. */
function refuseWide(path: string, text: string): void {
  const wide = /[^\0-\x7f].{0,40}/.exec(text);
  if (wide) throw new Error(`${basename(path)}: a character beyond ASCII, to be written as \\u…: ${wide[0]}`);
}

const isEntry = (path: string): boolean => basename(path).replace(/\.js$/, '') in { ...entries, ...threads };

function replaceFile(path: string, contents: Uint8Array): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

/** Also code that was compiled of earlier builds. */
function removeLeftovers(dist: string, written: ReadonlySet<string>, now: Date): void {
  rmSync(join(dist, '.compile-cache'), { recursive: true, force: true });
  for (const name of readdirSync(dist)) {
    const path = join(dist, name);
    if (written.has(name) || !/\.js(\.\d+)?$/.test(name)) continue;
    if (now.getTime() - statSync(path).mtimeMs > leftoverMs) rmSync(path, { force: true });
  }
}

/** True while npm installs: a failure then would take the whole installation back. */
const installing = (): boolean => ['install', 'ci'].includes(process.env['npm_command'] ?? '');

async function main(): Promise<number> {
  try {
    const { files, bytes } = await build(resolve(import.meta.dirname, '..'));
    process.stdout.write(`built dist/: ${files} files, ${Math.round(bytes / 1024)} KiB\n`);
    return 0;
  } catch (error) {
    if (isMissing(error, 'esbuild')) {
      process.stderr.write('build: esbuild is not installed: run `npm install` with development dependencies\n');
      // Without them a checkout runs from its sources, so that an installation for production may go on.
      return installing() ? 0 : 1;
    }
    process.stderr.write(`build: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

const isMissing = (error: unknown, name: string): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(name);

if (import.meta.main) process.exitCode = await main();
