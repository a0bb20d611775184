/** TypeScript files of this project as the checks look at them: as text, without a compiler, so that they are quick. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';

export interface SourceFile {
  /** From the root of the project, with slashes: `src/cli/main.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly line: number;
  /** The imported file, from the root of the project. */
  readonly target: string;
  /** `import type`: gone when the program runs. */
  readonly typeOnly: boolean;
  /** What is imported by name, as the imported file calls it. `all` where that cannot be told. */
  readonly names: readonly string[] | 'all';
}

/** All `.ts` files below some directories of `root`, in order of path. Directories that are not there are empty. */
export function readSources(root: string, directories: readonly string[]): SourceFile[] {
  return directories
    .flatMap((directory) => listFiles(root, directory))
    .map((path) => ({
      path,
      text: readFileSync(join(root, path), 'utf8'),
    }));
}

function listFiles(root: string, directory: string): string[] {
  let entries: string[];
  try {
    entries = readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' });
  } catch {
    return [];
  }
  return entries
    .filter((entry) => entry.endsWith('.ts') && !entry.split('/').includes('node_modules'))
    .map((entry) => join(directory, entry))
    .sort();
}

export const isTest = ({ path }: SourceFile): boolean => path.endsWith('.test.ts');

/** What only tests import. */
export const isTestSupport = ({ path }: SourceFile): boolean => /-fixture\.ts$/.test(path);

/** `import ... from '...'`, `export ... from '...'`, `import '...'`, `import('...')` and `new URL('...', import.meta.url)`. */
const importPattern =
  /\b(?:(import|export)(\s+type\b)?([\s\w$*,{}]*?\bfrom)?\s*|import\s*\(\s*|new URL\(\s*)(['"])(\.{1,2}\/[^'"]+)\4/g;

/** The files of this project that a file imports, however it does. */
export function localImports(file: SourceFile): Import[] {
  const code = codeOnly(file.text);
  return [...file.text.matchAll(importPattern)]
    .filter((match) => code[match.index] === file.text[match.index])
    .map((match) => ({
      line: lineAt(file.text, match.index),
      target: normalize(join(dirname(file.path), match[5] ?? '')),
      typeOnly: match[2] !== undefined,
      // By itself, as `import '...'`, it gives no names.
      names: match[1] !== undefined && match[3] === undefined ? [] : namesOf(match[3]),
    }));
}

/** Of `{ a, type b as c } from`. */
function namesOf(clause: string | undefined): readonly string[] | 'all' {
  if (clause === undefined || clause.includes('*')) return 'all';
  const between = clause.slice(clause.indexOf('{') + 1, clause.indexOf('}'));
  return [...between.matchAll(/(?:^|,)\s*(?:type\s+(?!as\b))?([\w$]+)/g)].map(([, name]) => name ?? '');
}

interface Export {
  readonly line: number;
  readonly name: string;
}

const exportPattern =
  /^export\s+(?:abstract\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type)\s+([\w$]+)/gm;

/** What a file declares and exports. */
export const exportsOf = ({ text }: SourceFile): Export[] =>
  [...codeOnly(text).matchAll(exportPattern)].map((match) => ({
    line: lineAt(text, match.index),
    name: match[1] ?? '',
  }));

/** The first line is 1. */
export const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** One token that is not code: a comment, a string, a template (as a whole), or a regular expression. */
const notCode =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:^|[=(,:[!&|?{};\n]|=>|\breturn)\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n*])+\/[a-z]*/g;

/** The text with spaces in the place of comments and of what stands in quotes; every position and line stays. */
export const codeOnly = (text: string): string => text.replace(notCode, blank);

/** The text with spaces in the place of comments alone. */
export const withoutComments = (text: string): string =>
  text.replace(notCode, (token) => (/^\/[/*]/.test(token) ? blank(token) : token));

const blank = (token: string): string => token.replace(/[^\n]/g, ' ');
