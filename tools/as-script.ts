/**
 * Makes a script of a module of the bundle, and a module that stands for it: V8 gives out the code of scripts with the
 * functions that have run (`src/cli/compiled-code.ts`), that of modules without. Each line stays where it is.
 */

/** A file of the bundle, as the bundler prints it. */
interface Bundled {
  /** The file of the script, beside the module. */
  readonly file: string;
  readonly text: string;
  /** An import of `runScript`, from the module. */
  readonly runner: string;
}

const importLine = /^import (?:(\{[^}]*\}) from )?("\.\/[^"]+");$/gm;
const exportBlock = /^export \{\n([^}]*)\n\};$/m;

/** Throws if the module does anything that a function cannot do. */
export function asScript({ file, text, runner }: Bundled): { readonly script: string; readonly module: string } {
  if (/[^\w$]\$(?:url|[me]\d+)\b/.test(text)) throw new Error(`${file}: a name begins with $`);
  const imported = new Map<string, string[]>();
  const withoutImports = text.replaceAll(importLine, (_, names: string | undefined, from: string) => {
    const known = imported.get(from) ?? [];
    imported.set(from, known);
    if (names) known.push(...itemsOf(names.slice(1, -1)).map(([name, local]) => `${name}: ${local}`));
    return '';
  });
  const exports = itemsOf(exportBlock.exec(withoutImports)?.[1] ?? '');
  const body = withoutImports
    .replace(exportBlock, (_, items: string) => `return {\n${items.replaceAll(anItem, exportedItem)}\n};`)
    .replaceAll('import.meta.url', '$url');
  const left = /^(?:import|export)\b.*|.*\bimport\.meta\b.*|^(?:(?:const|let|var) .*= )?await\b.*/m.exec(body);
  if (left) throw new Error(`${file}: not to be made a script of: ${left[0]}`);
  const modules = [...imported].map(([from, names], at) => ({ from, names, local: `$m${at}` }));
  const constants = modules.flatMap(({ names, local }) =>
    names.length > 0 ? [`const { ${names.join(', ')} } = ${local};`] : [],
  );
  const parameters = ['$url', ...modules.map(({ local }) => local)].join(', ');
  const [first = '', ...lines] = body.split('\n');
  return {
    script: [`(function (${parameters}) { 'use strict'; ${constants.join(' ')} ${first}`, ...lines, '})'].join('\n'),
    module: [
      ...modules.map(({ from, local }) => `import * as ${local} from ${from};`),
      runner,
      `const path = import.meta.dirname + '/${file}';`,
      `const exported = runScript(path)(import.meta.url${modules.map(({ local }) => `, ${local}`).join('')});`,
      ...exports.map(([, name], at) => `const $e${at} = exported[${JSON.stringify(name.replaceAll('"', ''))}];`),
      `export { ${exports.map(([, name], at) => `$e${at} as ${name}`).join(', ')} };`,
      '',
    ].join('\n'),
  };
}

/** `a`, `a as b`, `"a b" as c` or `a as "b c"`. */
const anItem = /("[^"]*"|[\w$]+)(?: as ("[^"]*"|[\w$]+))?/g;

const exportedItem = (_: string, local: string, name: string = local): string => `${name}: ${local}`;

const itemsOf = (text: string): readonly (readonly [from: string, to: string])[] =>
  [...text.matchAll(anItem)].map(([, from = '', to = from]) => [from, to]);
