import type { Closable } from '../../../base/disposable.ts';
import type { Logger } from '../../../base/logger.ts';
import type { RevisionLine } from '../../../cache/cache.ts';
import { parseStored } from '../../../codec/json.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { PastState } from '../../../registry/verb.ts';
import { readRecord } from '../../../registry/write/stored-object.ts';
import { startInformer } from '../../../resources/object-informer.ts';
import type { ServedResource } from '../../../resources/resource.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import type { KeyStore } from '../../../store/store.ts';
import { KnownNamespaces } from './known-namespaces.ts';

interface NamespaceIdentityParts {
  readonly resources: ResourceRegistry;
  readonly store: Pick<KeyStore, 'get'>;
  readonly logger: Logger;
  readonly held: { add<T extends Closable>(closable: T): T };
}

type IsSameNamespace = (name: string, at: PastState) => boolean | Promise<boolean>;

/**
 * Tells whether a namespace at a past revision is the current namespace of that name, so that rights in one give none
 * in the other. True if no namespace has the name now, since then no rights by namespace exist. Returns a promise only
 * if the namespace was written after the revision and the cache no longer has its past state, or the revision is another
 * store's.
 */
export function namespaceIdentity(parts: NamespaceIdentityParts): IsSameNamespace {
  const { resources, store } = parts;
  const namespaces = resources.finder('', 'v1', 'namespaces');
  const others = otherLines(parts, namespaces);
  return (name, { line, revision: at }) => {
    const served = namespaces();
    if (!served) return true;
    const { collection } = served;
    const key = served.objectKey('', name);
    const now = collection.get(key);
    if (!now) return true;
    if (line !== collection.line) return others.get(line)?.hasSince(name, at) ?? false;
    if (now.revision <= at) return true;
    const { uid } = (parseStored(now.bytes) as ApiObject).metadata;
    const snapshot = collection.snapshotAt(at);
    if (snapshot) {
      const then = snapshot.get(key);
      return then !== undefined && (parseStored(then.bytes) as ApiObject).metadata.uid === uid;
    }
    return store.get(key, at).then((record) => record !== undefined && readRecord(record).object.metadata.uid === uid);
  };
}

/** The stores besides that of the namespaces that have objects in namespaces. Usually there are none. */
function otherLines(
  { resources, logger, held }: NamespaceIdentityParts,
  find: () => ServedResource | undefined,
): ReadonlyMap<RevisionLine, KnownNamespaces> {
  const ofNamespaces = find()?.collection.line;
  const lines = new Set([...resources.stored()].map(({ collection }) => collection.line));
  const others = new Map<RevisionLine, KnownNamespaces>();
  for (const line of lines) {
    if (!ofNamespaces || line === ofNamespaces) continue;
    const known = new KnownNamespaces(line);
    held.add(
      startInformer(
        { resources, find },
        { put: (object) => known.put(object), remove: (_, name) => known.remove(name) },
        logger,
      ),
    );
    others.set(line, known);
  }
  return others;
}
