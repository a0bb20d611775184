/** House rules that neither the compiler nor the linter knows: each offence names its file, its line and the remedy. */
import { resolve } from 'node:path';
import {
  codeOnly,
  exportsOf,
  isTest,
  lineAt,
  localImports,
  readSources,
  type SourceFile,
  withoutComments,
} from './source-tree.ts';

interface Ban {
  readonly pattern: RegExp;
  readonly remedy: string;
  /** Where it may stand all the same. */
  readonly allowed: RegExp;
}

/** Calls in the product that have a replacement. Tests, and what only tests reach, are free. */
const bannedCalls: readonly Ban[] = [
  { pattern: /\bDate\.now\b|\bnew Date\(\)|\bDate\(\)/g, remedy: 'Clock.now', allowed: /^src\/base\// },
  { pattern: /\bperformance\.now\b|\bprocess\.hrtime\b/g, remedy: 'Clock.monotonic', allowed: /^src\/base\// },
  { pattern: /(?<![.\w])set(?:Timeout|Interval)\b/g, remedy: 'Clock.after', allowed: /^src\/base\// },
  {
    pattern: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\bgetRandomValues\b|\brandomInt\b/g,
    remedy: 'Random',
    allowed: /^src\/base\//,
  },
  // Keys of two types leave an error in OpenSSL's queue, and the next TLS connection of the thread ends with it.
  { pattern: /\b(?:\w+K|k)ey\??\.equals\(/g, remedy: 'X509Certificate.checkPrivateKey', allowed: /^$/ },
  { pattern: /\bconsole\.\w+/g, remedy: 'Logger', allowed: /^src\/cli\// },
  { pattern: /\bprocess\.exit\b/g, remedy: 'an error that the command line shows', allowed: /^src\/cli\// },
];

/**
 * Ways to the machine that the environment of a server stands for: who takes what it is given runs in a simulation. Allowed
 * are the environment's own parts, the programs, stores, and what only they ask for.
 */
const doors: readonly Ban[] = [
  {
    pattern: /\bimport (?!type\b)[^;]*?from 'node:fs(?:\/promises)?'/g,
    remedy: 'Files',
    allowed:
      /^src\/(?:base|cli|store\/drivers)\/|^src\/pki\/key-pair-files\.ts$|^src\/outbound\/credentials\/plugin-process\.ts$/,
  },
  {
    pattern: /\bimport (?!type\b)[^;]*?from 'node:(?:https?|tls|http2|dns)'/g,
    remedy: 'Network',
    allowed: /^src\/(?:http|store\/drivers|outbound\/network)\//,
  },
  {
    pattern: /\bimport (?!type\b)[^;]*?from 'node:os'|\bprocess\.env\b/g,
    remedy: 'Environment.hostname and Environment.variables',
    allowed: /^src\/cli\/|^src\/server\/wiring\/(?:environment|addresses)\.ts$/,
  },
  {
    pattern: /\bimport (?!type\b)[^;]*?from 'node:child_process'/g,
    remedy: 'a credential plugin',
    allowed: /^src\/outbound\/credentials\/plugin-process\.ts$/,
  },
  {
    pattern: /\bimport (?!type\b)[^;]*?from 'node:worker_threads'/g,
    remedy: 'Environment.startHeavyWorker, a store, or serving threads',
    allowed:
      /^src\/(?:store\/drivers\/sqlite|server\/serving\/heavy|server\/threads)\/|^src\/cli\/(?:main|serving-thread)\.ts$/,
  },
  {
    pattern: /\bsystem(?:Clock|Random|Files|Network)\b/g,
    remedy: 'what the environment gives',
    allowed:
      /^src\/(?:base|cli|library|store\/drivers)\/|^src\/server\/wiring\/environment\.ts$|^src\/outbound\/network\/|^src\/pki\/watched-key-pair\.ts$/,
  },
];

/** In the bundle a CommonJS package has no names when it is imported dynamically. */
const lazyPackages: readonly Ban[] = [
  {
    pattern: /(?<!typeof )\bimport\('(?!\.|node:)[^']*'\)/g,
    remedy: 'a dynamic import of a file of ours that imports the package',
    allowed: /^$/,
  },
];

/** What may stand nowhere in code, whoever reads it. */
const bannedWords: readonly Ban[] = [
  {
    pattern: /(?<![\w.])any(?=\s*(?:[;,)>\]|&=]|$))(?<=(?::|<|\bas|\||&|=)\s*any)/gm,
    remedy: 'unknown',
    allowed: /^$/,
  },
  { pattern: /\bexport default\b/g, remedy: 'a name', allowed: /^$/ },
];

/** Names of the product that one dialect speaks like. Comments may say them; `kubeconfig` is the name of a file format. */
const productNames = /kubernetes|kubectl|kubelet|kubeadm|kube-|k8s/gi;

const linesMax = 600;

/** Where the product begins. */
const productEntries =
  /^src\/cli\/(?:main|serving-thread)\.ts$|^src\/library\/library\.ts$|^src\/cli\/testing\/testing\.ts$|^src\/store\/drivers\/sqlite\/sqlite-worker\.ts$|^src\/server\/serving\/heavy\/heavy-worker\.ts$/;
/** Where other programs begin. */
const otherEntries = /^(?:bench|tools|examples)\/[^/]+\.ts$|^test\/clients\/official\/[^/]+\/main\.ts$/;

/** What is wrong, one line each. Empty when all is well. */
export function tidy(files: readonly SourceFile[]): string[] {
  const product = reachable(files, (file) => productEntries.test(file.path));
  const used = reachable(
    files,
    (file) => isTest(file) || productEntries.test(file.path) || otherEntries.test(file.path),
  );
  return [
    ...files.flatMap(checkFile),
    ...files.filter(({ path }) => product.has(path)).flatMap(checkProductFile),
    ...files
      .filter(({ path }) => !used.has(path))
      .map(({ path }) => `${path}: reached from no program and no test: remove it, or use it`),
    ...findUnusedExports(files),
  ];
}

/** Exports that no other file imports. */
function findUnusedExports(files: readonly SourceFile[]): string[] {
  const imported = new Map<string, Set<string>>();
  for (const { target, names } of files.flatMap(localImports)) {
    const known = imported.get(target) ?? new Set<string>();
    imported.set(target, known);
    for (const name of names === 'all' ? ['*'] : names) known.add(name);
  }
  const isUsed = (path: string, name: string) => imported.get(path)?.has('*') || imported.get(path)?.has(name);
  return files.flatMap((file) =>
    exportsOf(file)
      .filter(({ name }) => !isUsed(file.path, name))
      .map(({ line, name }) => `${file.path}:${line}: ${name}: exported, and imported by nobody`),
  );
}

function checkFile(file: SourceFile): string[] {
  const lines = file.text.split('\n').length - 1;
  return [
    ...findMarks(file),
    ...findBanned(file, bannedWords),
    ...(lines > linesMax ? [`${file.path}: ${lines} lines, more than ${linesMax}: one file, one concept`] : []),
  ];
}

const checkProductFile = (file: SourceFile): string[] => [
  ...findBanned(file, bannedCalls),
  ...findBanned(file, [...doors, ...lazyPackages], withoutComments(file.text)),
  ...findLongFunctions(file),
  ...findProductNames(file),
];

/** Where parts are put together: as lists, none of which is longer than a page. */
const listed = /^src\/(?:server\/wiring|cli|library)\//;
const pageLines = 50;

/** By the form that the formatter gives: a function ends where the indentation of its first line comes back. */
function findLongFunctions(file: SourceFile): string[] {
  if (!listed.test(file.path)) return [];
  const lines = codeOnly(file.text).split('\n');
  return lines.flatMap((line, at) => {
    const indentation = functionStart.exec(line)?.[1];
    if (indentation === undefined) return [];
    const end = lines.findIndex(
      (other, index) => index > at && closing.test(other) && /^ */.exec(other)?.[0] === indentation,
    );
    const length = end - at + 1;
    return length > pageLines ? [`${file.path}:${at + 1}: a function of ${length} lines: a page has ${pageLines}`] : [];
  });
}

/** A declaration, a method, a constructor, or an arrow with a body of its own. */
const functionStart =
  /^( *)(?:(?:export )?(?:async )?function\b.*|(?:static |async |get )*#?\w+\(.*\).* \{|constructor\(|.*=> \{)$/;
const closing = /^ *\}[;,)]*$/;

function findBanned(file: SourceFile, bans: readonly Ban[], code = codeOnly(file.text)): string[] {
  return bans
    .filter((ban) => !ban.allowed.test(file.path))
    .flatMap(({ pattern, remedy }) =>
      hits(code, pattern).map(({ line, text }) => `${file.path}:${line}: ${text}: use ${remedy}`),
    );
}

/** Marks of unfinished work; issues are the place for it. */
function findMarks(file: SourceFile): string[] {
  const marks = ['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|');
  return hits(file.text, new RegExp(`\\b(?:${marks})\\b`, 'g')).map(
    ({ line, text }) => `${file.path}:${line}: ${text}: finish it, or file an issue`,
  );
}

function findProductNames(file: SourceFile): string[] {
  if (file.path.startsWith('src/dialect/')) return [];
  return hits(withoutComments(file.text), productNames).map(
    ({ line, text }) => `${file.path}:${line}: ${text}: names of products stand in src/dialect/`,
  );
}

interface Hit {
  readonly line: number;
  readonly text: string;
}

/** Where a pattern is found; once a line is enough. */
function hits(text: string, pattern: RegExp): readonly Hit[] {
  const byLine = new Map<number, Hit>();
  for (const match of text.matchAll(pattern)) {
    const line = lineAt(text, match.index);
    if (!byLine.has(line)) byLine.set(line, { line, text: match[0] });
  }
  return [...byLine.values()];
}

/** The paths of some files and of all that these import, however far away. */
function reachable(files: readonly SourceFile[], begins: (file: SourceFile) => boolean): ReadonlySet<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const waiting = files.filter(begins).map(({ path }) => path);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = byPath.get(path);
    if (!file || reached.has(path)) continue;
    reached.add(path);
    waiting.push(...localImports(file).map(({ target }) => target));
  }
  return reached;
}

/** The offences of the project in `root`. */
export const tidyProject = (root: string): string[] =>
  tidy(readSources(root, ['src', 'tools', 'test', 'bench', 'examples']));

if (import.meta.main) {
  const offences = tidyProject(resolve(import.meta.dirname, '..'));
  for (const offence of offences) process.stderr.write(`${offence}\n`);
  process.exitCode = offences.length > 0 ? 1 : 0;
}
