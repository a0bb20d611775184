import type { Snapshot } from '../../cache/cache.ts';
import { expired, internalFailure } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision } from '../../store/store.ts';
import type { RegistryParts } from '../verb.ts';

/** Why is in the log since the value was found. */
export const unreadableValue = (key: string, revision: Revision): string =>
  `the value of ${key} at ${revision} cannot be read`;

/**
 * Fails a read that would include an object whose stored value cannot be decoded: omitting it would report it as
 * deleted. `prefix` is a key or the key prefix of a collection.
 */
export function refuseCorrupt({ corrupt }: Snapshot, prefix: string): void {
  if (corrupt.size === 0) return;
  for (const [key, revision] of corrupt) {
    const isMeant = prefix.endsWith('/') ? key.startsWith(prefix) : key === prefix;
    if (isMeant) throw internalFailure(unreadableValue(key, revision));
  }
}

/**
 * Rejects reads at a revision at which the namespace of this name was a different one: rights in the present namespace
 * do not cover its predecessor. Reads across namespaces are not restricted, since their rights cover all namespaces.
 */
export async function refuseFormerNamespace(
  parts: Pick<RegistryParts, 'isSameNamespace'>,
  { kind, collection: { line } }: ServedResource,
  namespace: string,
  at: Revision,
): Promise<void> {
  if (kind.scope === 'Cluster' || namespace === '') return;
  if (await parts.isSameNamespace(namespace, { line, revision: at })) return;
  throw expired(`The resourceVersion for the provided request is too old: ${at}: the namespace was created after it`);
}
