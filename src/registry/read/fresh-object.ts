import type { WatchCache } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { toStatusError } from '../store-errors.ts';
import { refuseCorrupt } from './read-checks.ts';

/** Location of an object. */
interface ObjectPlace {
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly signal?: AbortSignal;
}

/** A copy of an object, at least as new as any write acknowledged before the call; undefined if it does not exist. */
export async function freshObject(
  cache: Pick<WatchCache, 'isFresh' | 'fresh'>,
  { name: resource, collection, objectKey }: ServedResource,
  { namespace, name, signal }: ObjectPlace,
): Promise<ApiObject | undefined> {
  if (!cache.isFresh()) {
    await cache.fresh(signal).catch((error) => {
      throw toStatusError(error, resource, name);
    });
  }
  const key = objectKey(namespace, name);
  const entry = collection.get(key);
  if (entry) return parseStored(entry.bytes) as ApiObject;
  refuseCorrupt(collection.snapshot(), key);
  return undefined;
}
