/**
 * How the bundle comes by modules of Node.js. An `import` makes an object with all that such a module exports, and for that
 * loads what the module itself leaves until it is used: streams of files, MIME types, web cryptography.
 */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Plugin } from 'esbuild';

/** Loaded by the first call of one of their functions: many servers never call any. */
const lazy: ReadonlySet<string> = new Set([
  'node:child_process',
  'node:fs/promises',
  'node:stream/promises',
  'node:v8',
  'node:zlib',
]);

const namespace = 'builtin';

/** Gives sources of the project the exports that they name. Packages import as they do. */
export const builtinModules = (root: string): Plugin => ({
  name: 'builtin-modules',
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path, importer, kind, namespace: from }) => {
      const inSources = from === 'file' && /^src[/\\]/.test(relative(root, importer));
      if (!inSources || kind !== 'import-statement') return undefined;
      // One for each importer: shared by several, it would be a file of its own.
      return { path, namespace, suffix: `?${relative(root, importer)}`, pluginData: importer };
    });
    build.onLoad({ filter: /.*/, namespace }, ({ path, pluginData }) => ({
      contents: contentsOf(path, importClauses(readFileSync(String(pluginData), 'utf8'), path)),
      loader: 'js',
    }));
  },
});

/** What stands between `import` and `from`, for each import of values of this module. */
const importClauses = (text: string, module: string): readonly string[] =>
  [...text.matchAll(/^\s*import\s+(?!type\b)([\w\s{},*$]+?)\s+from\s+'([^']+)'/gm)]
    .filter(([, , imported]) => imported === module)
    .map(([, clause = '']) => clause);

function contentsOf(module: string, clauses: readonly string[]): string {
  const loaded = `process.getBuiltinModule('${module}')`;
  if (clauses.some((clause) => clause.includes('*'))) throw new Error(`${module}: to be imported by names`);
  const names = clauses.flatMap((clause) => namesIn(clause));
  const isDefault = clauses.some((clause) => /^\w/.test(clause));
  if (!lazy.has(module)) {
    const whole = isDefault ? ['export { module as default };'] : [];
    return [`const module = ${loaded};`, ...whole, `export const { ${names.join(', ')} } = module;`].join('\n');
  }
  const other = names.find((name) => !isFunction(module, name));
  if (isDefault || other !== undefined)
    throw new Error(`${module}: only its functions are loaded when they are called`);
  const calls = names.map((name) => `export const ${name} = (...args) => loaded().${name}(...args);`);
  return [`let module;`, `const loaded = () => (module ??= ${loaded});`, ...calls].join('\n');
}

/** Of `{ a, type B, c as d }`, those that are values, as the module calls them. */
const namesIn = (clause: string): readonly string[] =>
  [...(/(?<=\{)[^}]*/.exec(clause)?.[0].split(',') ?? [])]
    .map((each) => each.trim())
    .filter((each) => each !== '' && !/^type\s/.test(each))
    .map((each) => each.split(/\s+as\s+/)[0] ?? '');

/** Neither a constant nor a class, which is made with `new`. */
function isFunction(module: string, name: string): boolean {
  const exports: unknown = process.getBuiltinModule(module);
  const value: unknown =
    exports && typeof exports === 'object' && name in exports ? Reflect.get(exports, name) : undefined;
  return typeof value === 'function' && /^[a-z]/.test(name);
}
