import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { storedOfRecord } from '../../registry/write/stored-object.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { Revision, Store } from '../../store/store.ts';

/**
 * Says whether a namespace at a past revision is the one that has its name now: who has rights in the one has none in the
 * other. True also where no namespace has the name now, since then nobody has rights by one. A promise only where the
 * namespace was written after the revision and the cache has forgotten what it was then.
 */
export const namespaceIdentity =
  (namespaces: () => ServedResource | undefined, store: Pick<Store, 'get'>) =>
  (name: string, at: Revision): boolean | Promise<boolean> => {
    const served = namespaces();
    if (!served) return true;
    const { collection } = served;
    const key = served.objectKey('', name);
    const now = collection.get(key);
    if (!now || now.revision <= at) return true;
    const { uid } = (parseStored(now.bytes) as ApiObject).metadata;
    const snapshot = collection.snapshotAt(at);
    if (snapshot) {
      const then = snapshot.get(key);
      return then !== undefined && (parseStored(then.bytes) as ApiObject).metadata.uid === uid;
    }
    return store
      .get(key, at)
      .then((record) => record !== undefined && storedOfRecord(record).object.metadata.uid === uid);
  };
