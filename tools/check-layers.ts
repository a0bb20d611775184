/**
 * Fails on an import that goes up, sideways where that is not allowed, or round in a circle (design section 3). What is
 * checked are the imports that stand in the files, those of types included.
 */
import { resolve } from 'node:path';
import { type Import, isTest, isTestSupport, localImports, readSources, type SourceFile } from './source-tree.ts';

/** From the top down: a room imports only from rooms that stand after it. */
const rooms: readonly string[] = [
  'cli',
  'library',
  'server',
  'controllers',
  'client',
  'content',
  'registry',
  'resources',
  'http',
  'authn',
  'authz',
  'admission',
  'audit',
  'outbound',
  'kinds',
  'cache',
  'store',
  'apply',
  'patch',
  'codec',
  'request',
  'schema',
  'pki',
  'cel',
  'meta',
  'dialect',
  'base',
];

/** What a room may not import although it stands below: importer, imported, and why. */
const forbidden: readonly (readonly [importer: string, imported: readonly string[], why: string])[] = [
  ['registry', ['authn', 'authz', 'admission', 'audit'], 'they meet in server/'],
  ['authn', ['authz', 'admission', 'audit'], 'they meet in server/'],
  ['authz', ['admission', 'audit'], 'they meet in server/'],
  ['audit', ['kinds', 'cache', 'store'], 'events are made in server/'],
  ['kinds', ['cache', 'store'], 'kinds describe objects and hold none'],
  [
    'controllers',
    ['http', 'authn', 'authz', 'admission', 'registry', 'resources', 'cache', 'store'],
    'controllers are clients',
  ],
  ['client', ['authn', 'authz', 'admission', 'registry', 'resources', 'cache', 'store'], 'clients know the API only'],
];

interface Edge extends Import {
  readonly from: string;
}

/** What is wrong, one line each: file, line, and what it says. Empty when all is well. */
export function checkLayers(files: readonly SourceFile[]): string[] {
  const edges = files
    .filter((file) => !isTest(file) && !isTestSupport(file))
    .flatMap((file) => localImports(file).map((each) => ({ from: file.path, ...each })));
  return [...edges.flatMap(checkEdge), ...findCycles(edges)];
}

const roomOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1];

function checkEdge({ from, line, target }: Edge): string[] {
  const [importer, imported] = [roomOf(from), roomOf(target)];
  if (importer === undefined || importer === imported) return [];
  const where = `${from}:${line} imports ${target}`;
  if (imported === undefined) {
    return target.endsWith('.json') ? [] : [`${where}: only src/ is there when the product runs`];
  }
  const [above, below] = [rooms.indexOf(importer), rooms.indexOf(imported)];
  if (above < 0 || below < 0) {
    return [`${where}: ${above < 0 ? importer : imported}/ has no place in the order of rooms`];
  }
  if (below < above) return [`${where}: ${imported}/ stands above ${importer}/`];
  const rule = forbidden.find(([room, others]) => room === importer && others.includes(imported));
  return rule ? [`${where}: ${importer}/ may not import ${imported}/: ${rule[2]}`] : [];
}

/** Each circle of imports between files once, as its path. Types may refer to each other both ways within a room. */
function findCycles(edges: readonly Edge[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { from, target, typeOnly } of edges) {
    if (typeOnly) continue;
    targets.set(from, [...(targets.get(from) ?? []), target]);
  }
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) cycles.push(`imports go in a circle: ${[...trail.slice(at), path].join(' -> ')}`);
    if (at !== -1 || done.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return cycles;
}

/** The offences of the project in `root`. */
export const checkProjectLayers = (root: string): string[] => checkLayers(readSources(root, ['src']));

if (import.meta.main) {
  const offences = checkProjectLayers(resolve(import.meta.dirname, '..'));
  for (const offence of offences) process.stderr.write(`${offence}\n`);
  process.exitCode = offences.length > 0 ? 1 : 0;
}
