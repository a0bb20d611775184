import type { Kind } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';

/**
 * API versions to serve or not, other than by default, as in `--runtime-config` (spec section 9). Keys:
 * `<group>/<version>/<resource>`, `<group>/<version>`, `api/ga` or another stage, `api/all`. The core group has no name:
 * `v1`, `v1/pods`.
 */
export type RuntimeConfig = ReadonlyMap<string, boolean>;

type VersionedKind = Pick<Kind, 'group' | 'version' | 'resource' | 'offByDefault'>;

const all = 'api/all';
const stages: ReadonlySet<string> = new Set([all, 'api/ga', 'api/beta', 'api/alpha']);
const stageOf = (version: string): string => `api/${/^v\d+(alpha|beta)\d+$/.exec(version)?.[1] ?? 'ga'}`;
const isVersion = (text: string): boolean => /^v\d+(?:(?:alpha|beta)\d+)?$/.test(text);

/** The keys that apply to a version of a resource. The first one given counts. */
const keysOf = (kind: VersionedKind): readonly string[] => [
  `${apiVersionOf(kind)}/${kind.resource}`,
  apiVersionOf(kind),
  stageOf(kind.version),
  all,
];

export function isEnabledVersion(kind: VersionedKind, config: RuntimeConfig): boolean {
  const key = keysOf(kind).find((each) => config.has(each));
  return key === undefined ? !kind.offByDefault : config.get(key) === true;
}

interface ApiName {
  /** Full name; '' for core. */
  readonly group: string;
  readonly version: string;
  readonly resource?: string;
}

function parseName(key: string): ApiName | undefined {
  const parts = key.split('/');
  const [group = '', version = '', resource, ...more] = isVersion(parts[0] ?? '') ? ['', ...parts] : parts;
  if (more.length > 0 || version === '' || resource === '') return undefined;
  return { group, version, ...(resource !== undefined && { resource }) };
}

/** Versions of each known group, whether they are served here or not, by full name. */
type KnownVersions = ReadonlyMap<string, readonly string[]>;

/** Throws an Error for a key that names no API. */
export function checkRuntimeConfig(config: RuntimeConfig, known: KnownVersions): void {
  // Only where nothing else is asked for: a server without any API has no use.
  if (config.size === 1 && config.get(all) === false) throw new Error(`invalid key with only ${all}=false`);
  const unknown: string[] = [];
  for (const key of config.keys()) {
    const problem = problemOf(key, known);
    if (problem?.type === 'group') unknown.push(problem.group);
    else if (problem) throw new Error(problem.message);
  }
  if (unknown.length > 0) throw new Error(`unknown api groups ${[...new Set(unknown)].join()}`);
}

type Problem = { readonly type: 'group'; readonly group: string } | { readonly type: 'key'; readonly message: string };

function problemOf(key: string, known: KnownVersions): Problem | undefined {
  if (stages.has(key)) return undefined;
  const name = parseName(key);
  if (!name) return invalid(`invalid key ${key}: it is not of the form GROUP/VERSION or GROUP/VERSION/RESOURCE`);
  const { group, version, resource } = name;
  const versions = known.get(group);
  if (!versions) return { type: 'group', group };
  if (!versions.includes(version)) return invalid(`group version ${apiVersionOf(name)} that has not been registered`);
  if (resource === undefined || resource === resource.toLowerCase()) return undefined;
  return invalid(`invalid key ${key}: a resource is named by its lower-case plural, not ${JSON.stringify(resource)}`);
}

const invalid = (message: string): Problem => ({ type: 'key', message });

/** Settings of known APIs that cannot be served here. */
export const ignoredKeys = (
  kinds: readonly VersionedKind[],
  config: RuntimeConfig,
  known: KnownVersions,
): readonly string[] => unknownKeys(kinds, config).filter((key) => problemOf(key, known) === undefined);

/** Settings that name nothing which can be served here. */
export const unknownKeys = (kinds: readonly VersionedKind[], config: RuntimeConfig): readonly string[] => {
  const known = new Set(kinds.flatMap(keysOf)).union(stages);
  return [...config.keys()].filter((key) => !known.has(key));
};
