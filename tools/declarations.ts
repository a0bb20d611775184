/**
 * Writes the types of the library into `dist/types/`, for who imports the package: npm's `prepack` script. Of all declarations
 * that the compiler makes only those stay that the library's own need.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';

const entries = ['library/library.d.ts', 'cli/testing/testing.d.ts'] as const;

/** Writes `root/dist/types` anew; how many files. Throws with the compiler's words, and leaves what is there, where that fails. */
export function writeDeclarations(root: string): number {
  const dist = join(root, 'dist');
  mkdirSync(dist, { recursive: true });
  // In the project: the compiler looks for packages of types from where its configuration lies.
  const work = mkdtempSync(join(dist, '.types-'));
  try {
    const complaints = compile(root, work);
    const needed = follow(work);
    const ours = complaints.filter(({ file }) => needed.has(file.replace(/\.ts$/, '.d.ts')));
    if (ours.length > 0) throw new Error(ours.map(({ text }) => text).join('\n'));
    const types = join(dist, 'types');
    rmSync(types, { recursive: true, force: true });
    for (const [path, text] of needed) {
      mkdirSync(dirname(join(types, path)), { recursive: true });
      writeFileSync(join(types, path), text);
    }
    return needed.size;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

interface Complaint {
  /** Below `src/`. */
  readonly file: string;
  readonly text: string;
}

/**
 * Makes the declarations of all files, and says what the compiler complains of. It does so where a type cannot be named, which
 * matters only in files that others need: `tsc` alone checks the types themselves.
 */
function compile(root: string, work: string): readonly Complaint[] {
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(root, 'src'),
      outDir: work,
    },
    include: [],
    files: entries.map((entry) => join(root, 'src', entry.replace(/\.d\.ts$/, '.ts'))),
  };
  const file = join(work, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(config));
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const options = { encoding: 'utf8', cwd: root } as const;
  const { stdout, stderr, error } = spawnSync(process.execPath, [compiler, '--pretty', 'false', '-p', file], options);
  if (error) throw error;
  if (!entries.every((entry) => existsSync(join(work, entry)))) {
    throw new Error(`no declarations were made: ${stdout}${stderr}`);
  }
  return stdout.split('\n').flatMap((text) => {
    const [, path] = /^src\/([^(]+)\(/.exec(text) ?? [];
    return path === undefined ? [] : [{ file: path, text }];
  });
}

/** What the entries import, however far away, by paths below `work`; imports name files that are there in the package. */
function follow(work: string): ReadonlyMap<string, string> {
  const needed = new Map<string, string>();
  const waiting: string[] = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (needed.has(path)) continue;
    const from = dirname(path);
    const text = readFileSync(join(work, path), 'utf8').replace(
      specifier,
      (_, before: string, name: string, after: string) => {
        if (name.startsWith('node:')) return `${before}${name}${after}`;
        if (!/^\.{1,2}\/.*\.ts$/.test(name)) throw new Error(`${path}: ${name}: types of other packages are not shown`);
        waiting.push(normalize(join(from, name.replace(/\.ts$/, '.d.ts'))));
        return `${before}${name.replace(/\.ts$/, '.js')}${after}`;
      },
    );
    needed.set(path, text);
  }
  return needed;
}

const specifier = /(\bfrom\s+['"]|\bimport\(['"]|^import\s+['"])([^'"]+)(['"])/gm;

if (import.meta.main) {
  const files = writeDeclarations(resolve(import.meta.dirname, '..'));
  process.stdout.write(`wrote dist/types: ${files} files\n`);
}
