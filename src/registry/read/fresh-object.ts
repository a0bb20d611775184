import type { Clock } from '../../base/time/clock.ts';
import { inSlices } from '../../base/time/in-slices.ts';
import type { Collection } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { RelatedResource } from '../../kinds/kind.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { internalError, type ResourceName } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
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
  { name: resource, collection, objectKey }: ServedResource,
  { namespace, name, signal }: ObjectPlace,
): Promise<ApiObject | undefined> {
  await untilFresh(collection, resource, { name, signal });
  const key = objectKey(namespace, name);
  const entry = collection.get(key);
  if (entry) return parseStored(entry.bytes) as ApiObject;
  refuseCorrupt(collection.snapshot(), key);
  return undefined;
}

interface Wanted {
  readonly namespace: string;
  readonly holds: (object: ApiObject) => boolean;
  readonly signal: AbortSignal;
  /** See TimeSlice. */
  readonly owner: unknown;
}

/** Copies of the objects of a namespace for which `holds` does, as new as `freshObject` has them. Looks in slices. */
export async function freshObjects(
  { clock }: { readonly clock: Clock },
  { name: resource, collection, collectionKey }: ServedResource,
  { namespace, holds, signal, owner }: Wanted,
): Promise<readonly ApiObject[]> {
  await untilFresh(collection, resource, { name: '', signal });
  const prefix = collectionKey(namespace);
  const snapshot = collection.snapshot();
  refuseCorrupt(snapshot, prefix);
  const found: ApiObject[] = [];
  await inSlices(
    (function* () {
      for (const { bytes } of snapshot.entries(prefix)) {
        const object = parseStored(bytes) as ApiObject;
        if (holds(object)) found.push(object);
        yield;
      }
    })(),
    clock,
    owner,
  );
  return found;
}

/** A resource whose objects the server looks at for itself, whether or not clients are served it. */
export function storedResource(
  resources: Pick<ResourceRegistry, 'finder'>,
  { group, version, resource }: RelatedResource,
): ServedResource {
  const served = resources.finder(group, version, resource)();
  if (!served) throw internalError(new Error(`${resource} are not stored`));
  return served;
}

async function untilFresh(
  { line }: Pick<Collection, 'line'>,
  resource: ResourceName,
  { name, signal }: { readonly name: string; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  if (line.isFresh()) return;
  await line.fresh(signal).catch((error) => {
    throw toStatusError(error, resource, name);
  });
}
