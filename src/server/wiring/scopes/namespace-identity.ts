import { parseStored } from '../../../codec/json.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { readRecord } from '../../../registry/write/stored-object.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import type { Revision, Store } from '../../../store/store.ts';

/**
 * Tells whether a namespace at a past revision is the current namespace of that name, so that rights in one give none
 * in the other. True if no namespace has the name now, since then no rights by namespace exist. Returns a promise only
 * if the namespace was written after the revision and the cache no longer has its past state.
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
    return store.get(key, at).then((record) => record !== undefined && readRecord(record).object.metadata.uid === uid);
  };
