import type { Kind } from '../kinds/kind.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';

/**
 * API versions to serve besides those that are served by default, as in `--runtime-config` (spec section 9). Keys:
 * `<group>/<version>/<resource>`, `<group>/<version>`, `api/alpha` or another stage, `api/all`.
 */
export type RuntimeConfig = ReadonlyMap<string, boolean>;

type VersionedKind = Pick<Kind, 'group' | 'version' | 'resource' | 'offByDefault'>;

const stageOf = (version: string): string => /\d(alpha|beta)\d/.exec(version)?.[1] ?? 'ga';

/** The keys that apply to a version of a resource. The first one given counts. */
const keysOf = (kind: VersionedKind): readonly string[] => [
  `${apiVersionOf(kind)}/${kind.resource}`,
  apiVersionOf(kind),
  `api/${stageOf(kind.version)}`,
  'api/all',
];

/** Versions that are served by default cannot be switched off. */
export function isEnabledVersion(kind: VersionedKind, config: RuntimeConfig): boolean {
  if (!kind.offByDefault) return true;
  const key = keysOf(kind).find((each) => config.has(each));
  return key !== undefined && config.get(key) === true;
}

/** Throws an Error that names a setting which would switch off what is served by default. */
export function requireServed(kinds: readonly VersionedKind[], config: RuntimeConfig): void {
  for (const [key, isOn] of config) {
    if (isOn || !kinds.some((kind) => !kind.offByDefault && keysOf(kind).includes(key))) continue;
    throw new Error(`${key}=false: APIs cannot be switched off: forbid their use by roles`);
  }
}

/** Settings that name nothing which is served here. */
export const unknownKeys = (kinds: readonly VersionedKind[], config: RuntimeConfig): readonly string[] => {
  const known = new Set(kinds.flatMap(keysOf)).union(new Set(['api/ga', 'api/beta', 'api/alpha', 'api/all']));
  return [...config.keys()].filter((key) => !known.has(key));
};
