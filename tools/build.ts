/**
 * Bundles the product into `dist/`, which is what `bin/orch` runs: npm's `prepare` script. A bundle starts faster than
 * hundreds of files that are stripped of their types one by one. Parts that are imported dynamically become files of
 * their own and cost nothing until they are used.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { logPlaces } from './log-places.ts';

/** What `dist/` begins with: outer file name without `.js`, and the source. */
const entries: Readonly<Record<string, string>> = {
  main: 'src/cli/main.ts',
  library: 'src/library/library.ts',
  'sqlite-worker': 'src/store/drivers/sqlite/sqlite-worker.ts',
  'heavy-worker': 'src/server/serving/heavy/heavy-worker.ts',
};

/**
 * The first file that runs. The compile cache must be on before anything big is loaded; it lies in `dist/`, so that
 * only who may change the code may change the cache, and Node.js goes on without where that cannot be written.
 */
const launcher = `import { enableCompileCache } from 'node:module';
enableCompileCache(import.meta.dirname + '/.compile-cache');
await import('./main.js');
`;

/** Bundled CommonJS packages call `require` for the modules of Node.js itself. */
const banner =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

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
  const result = await bundle({
    absWorkingDir: root,
    entryPoints: Object.entries(entries)
      .filter(([, source]) => existsSync(join(root, source)))
      .map(([out, source]) => ({ in: source, out })),
    outdir: dist,
    bundle: true,
    splitting: true,
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
  });
  // A warning here is, for one, an import that cannot be found and that the code guards: then it fails when it runs.
  const [warning] = result.warnings;
  if (warning) throw new Error(`${warning.location?.file ?? ''}:${warning.location?.line ?? ''} ${warning.text}`);
  const files = result.outputFiles.filter(({ path }) => path.endsWith('.js'));
  for (const { path, text } of files) refuseWide(path, text);
  mkdirSync(dist, { recursive: true });
  const written = new Set<string>();
  let bytes = 0;
  // What others import is there before what imports it: someone may start the product while we write.
  const outputs = files.sort((a, b) => Number(isEntry(a.path)) - Number(isEntry(b.path)));
  const places = Buffer.from(JSON.stringify(logPlaces(result.outputFiles)));
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

/** A single character beyond Latin-1 makes the runtime keep the whole file with two bytes for each. */
function refuseWide(path: string, text: string): void {
  const wide = /[^\0-\xff].{0,40}/.exec(text);
  if (wide) throw new Error(`${basename(path)}: a character beyond Latin-1, to be written as \\u…: ${wide[0]}`);
}

const isEntry = (path: string): boolean => basename(path).replace(/\.js$/, '') in entries;

function replaceFile(path: string, contents: Uint8Array): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}

function removeLeftovers(dist: string, written: ReadonlySet<string>, now: Date): void {
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
