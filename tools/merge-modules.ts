/**
 * Puts modules that are always loaded together into one file of the bundle. Left to itself the bundler makes a file for
 * each set of modules that the same dynamic imports reach: seventy for a server, each resolved, read and linked by itself.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';

type Bundle = (options: BuildOptions) => Promise<{ readonly metafile?: Metafile | undefined }>;

/** A file of the bundle: its name without `.js`, and the modules that it begins with, with all that they import. */
export interface Merged {
  readonly name: string;
  readonly roots: readonly string[];
}

interface MergeOptions {
  readonly bundle: Bundle;
  readonly root: string;
  readonly entries: readonly string[];
  /** In order: a module is in the first file that reaches it. */
  readonly files: readonly Merged[];
}

type Modules = Metafile['inputs'];

/** Entry points of the files, and the plugin that makes other modules import from there. */
export async function mergeModules({
  bundle,
  root,
  entries,
  files,
}: MergeOptions): Promise<{ readonly files: Readonly<Record<string, string>>; readonly plugin: Plugin }> {
  const modules = await modulesOf(bundle, root, [...entries, ...files.flatMap(({ roots }) => roots)]);
  const version = versionOf(root, modules);
  const versioned = files.map((file) => ({ ...file, name: `part-${version}-${file.name}` }));
  const places = placesOf(modules, versioned);
  const exports = await exportsOf(bundle, root, namesUsed(modules, places));
  return {
    files: Object.fromEntries(versioned.map(({ name }) => [name, `${prefix}${name}`])),
    plugin: plugin({ root, places, exports }),
  };
}

const prefix = 'merged:';

/**
 * Part of the names of the files, and so of whatever imports them: what a running server loads later is of its own build, or
 * no longer there.
 */
function versionOf(root: string, modules: Modules): string {
  const content = createHash('sha256');
  for (const path of Object.keys(modules).sort()) content.update(`${path}\0`).update(readFileSync(join(root, path)));
  return content.digest('hex').slice(0, 8).toUpperCase();
}

async function modulesOf(bundle: Bundle, root: string, entryPoints: readonly string[]): Promise<Modules> {
  const { metafile } = await bundle({ ...analysis(root, [...new Set(entryPoints)]), bundle: true });
  return metafile?.inputs ?? {};
}

const analysis = (root: string, entryPoints: readonly string[]): BuildOptions => ({
  absWorkingDir: root,
  entryPoints: [...entryPoints],
  outdir: join(root, 'dist'),
  preserveSymlinks: true,
  platform: 'node',
  format: 'esm',
  splitting: true,
  metafile: true,
  write: false,
  logLevel: 'silent',
});

/** The file of each module that is merged. */
function placesOf(modules: Modules, files: readonly Merged[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const { name, roots } of files) {
    for (const module of closureOf(modules, roots)) {
      if (places.has(module)) continue;
      // Exports of a package are not known by name, and a second copy of it would be another package.
      if (module.includes('node_modules')) throw new Error(`${name}: ${module} is to be imported dynamically`);
      places.set(module, name);
    }
  }
  return places;
}

/** The modules that these import, at any depth, and they themselves; without those that are imported dynamically. */
function closureOf(modules: Modules, roots: readonly string[]): ReadonlySet<string> {
  const found = new Set(roots);
  for (const module of found) {
    for (const { path, kind, external } of modules[module]?.imports ?? []) {
      if (kind !== 'dynamic-import' && !external) found.add(path);
    }
  }
  return found;
}

/** Modules of a merged file that others import. */
function namesUsed(modules: Modules, places: ReadonlyMap<string, string>): readonly string[] {
  const used = new Set<string>();
  for (const [importer, { imports }] of Object.entries(modules)) {
    for (const { path, kind } of imports) {
      if (places.has(path) && isFromOutside(places, { importer, imported: path, kind })) used.add(path);
    }
  }
  return [...used].sort();
}

interface AnImport {
  readonly importer: string;
  readonly imported: string;
  readonly kind: string;
}

/** A module that its own file imports dynamically would be placed apart. */
const isFromOutside = (places: ReadonlyMap<string, string>, { importer, imported, kind }: AnImport): boolean =>
  kind === 'dynamic-import' || places.get(importer) !== places.get(imported);

/** What each of these modules exports. */
async function exportsOf(
  bundle: Bundle,
  root: string,
  modules: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await bundle({ ...analysis(root, modules), splitting: false, bundle: false });
  return new Map(
    Object.values(metafile?.outputs ?? {}).flatMap(({ entryPoint, exports }) =>
      entryPoint === undefined ? [] : [[entryPoint, exports]],
    ),
  );
}

interface Plan {
  readonly root: string;
  readonly places: ReadonlyMap<string, string>;
  readonly exports: ReadonlyMap<string, readonly string[]>;
}

/** The name under which a merged file exports something. */
const exported = (module: string, name: string): string => JSON.stringify(`${module} ${name}`);

function plugin({ root, places, exports }: Plan): Plugin {
  return {
    name: 'merge-modules',
    setup(build) {
      build.onResolve({ filter: /^merged:/ }, ({ path }) => ({ path, namespace: 'merged' }));
      build.onLoad({ filter: /.*/, namespace: 'merged' }, ({ path }) => {
        const inside = [...exports].filter(([module]) => `${prefix}${places.get(module)}` === path);
        const lines = inside.map(
          ([module, names]) =>
            `export { ${names.map((name) => `${name} as ${exported(module, name)}`).join(', ')} } from './${module}';`,
        );
        return { contents: lines.join('\n'), resolveDir: root, loader: 'js' };
      });
      build.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer, resolveDir, kind, namespace }) => {
        if (namespace !== 'file') return undefined;
        const [from, imported] = [importer, join(resolveDir, path)].map((each) => relative(root, each));
        if (from === undefined || imported === undefined || !places.has(imported)) return undefined;
        if (!isFromOutside(places, { importer: from, imported, kind })) return undefined;
        // One for each file that imports: shared by several, it would be a file of its own.
        return { path: imported, namespace: 'from-merged', suffix: `?${places.get(from) ?? from}` };
      });
      build.onLoad({ filter: /.*/, namespace: 'from-merged' }, ({ path }) => ({
        contents: `export { ${(exports.get(path) ?? []).map((name) => `${exported(path, name)} as ${name}`).join(', ')} } from './${places.get(path)}.js';`,
        resolveDir: dirname(join(root, path)),
        loader: 'js',
      }));
      const files = new Set([...places.values()].map((name) => `./${name}.js`));
      build.onResolve({ filter: /^\.\//, namespace: 'from-merged' }, ({ path }) =>
        files.has(path) ? { path, external: true } : undefined,
      );
    },
  };
}
