import { defaultPolicy } from '../authz/rbac/bootstrap-policy/default-policy.ts';
import { autoupdateAnnotation } from '../authz/rbac/bootstrap-policy/policy-objects.ts';
import { reconcile } from '../authz/rbac/reconcile.ts';
import { type ApiClient, hasReason } from '../client/api-client.ts';
import { parseStored } from '../codec/json.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ServedResource } from '../registry/resource-registry.ts';

interface PolicyParts {
  readonly dialect: Dialect;
  readonly client: ApiClient;
  /** Resolves when the cache shows what is stored. */
  readonly fresh: () => Promise<unknown>;
  /** Where the objects of a kind are. */
  readonly servedAs: (kind: string) => ServedResource;
}

/**
 * Makes of the default roles and bindings what they should be (spec section 5.8): at every start, unless their owner said
 * otherwise. All at once, so that the store commits them together.
 */
export async function ensureDefaultPolicy(parts: PolicyParts): Promise<void> {
  await Promise.all(defaultPolicy(parts.dialect).map((expected) => ensure(parts, expected)));
}

/** How often a lost race is run again. */
const attemptsMax = 5;

async function ensure(parts: PolicyParts, expected: ApiObject): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(parts, expected);
    } catch (error) {
      // Another server on the same store starts too, or somebody has changed it meanwhile.
      const lost = (['Conflict', 'AlreadyExists', 'NotFound'] as const).some((reason) => hasReason(error, reason));
      if (!lost || attempt === attemptsMax) throw error;
      await parts.fresh();
    }
  }
}

async function write({ dialect, client, servedAs }: PolicyParts, expected: ApiObject): Promise<void> {
  const served = servedAs(expected.kind);
  const { namespace = '', name = '' } = expected.metadata;
  const entry = served.collection.get(served.objectKey(namespace, name));
  const existing = entry && (parseStored(entry.bytes) as ApiObject);
  const step = reconcile(expected, existing, autoupdateAnnotation(dialect));
  const collection = collectionPath(served, namespace);
  const path = `${collection}/${encodeURIComponent(name)}`;
  switch (step.type) {
    case 'keep':
      return;
    case 'create':
      await client.create(collection, step.object);
      return;
    case 'update':
      await client.update(path, step.object);
      return;
    case 'recreate':
      await client.delete(path, { preconditions: { uid: step.uid } });
      await client.create(collection, step.object);
  }
}

const collectionPath = ({ apiVersion, kind }: ServedResource, namespace: string): string =>
  namespace === ''
    ? `/apis/${apiVersion}/${kind.resource}`
    : `/apis/${apiVersion}/namespaces/${encodeURIComponent(namespace)}/${kind.resource}`;
