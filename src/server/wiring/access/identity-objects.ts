import type { TokenObjects } from '../../../authn/service-account/revocation.ts';
import type { CacheEntry, Freshness } from '../../../cache/cache.ts';
import { parseStored } from '../../../codec/json.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { freshObject } from '../../../registry/read/fresh-object.ts';
import { toStatusError } from '../../../registry/store-errors.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';

/**
 * Looks up service accounts and the objects that tokens are bound to. Synchronous from the cache, since every request
 * needs it; a cache entry is parsed once.
 */
export function identityObjects(cache: Freshness, resources: ResourceRegistry): TokenObjects {
  const parsed = new WeakMap<CacheEntry, ApiObject>();
  const lookup = (resource: string): TokenObjects['account'] => {
    const find = resources.finder('', 'v1', resource);
    const cached = (namespace: string, name: string): ApiObject | undefined => {
      const served = find();
      const entry = served?.collection.get(served.objectKey(namespace, name));
      if (!entry) return undefined;
      const known = parsed.get(entry);
      if (known) return known;
      const object = parseStored(entry.bytes) as ApiObject;
      parsed.set(entry, object);
      return object;
    };
    return (namespace, name, freshness) => {
      const known = freshness === 'cache' || cache.isFresh() ? cached(namespace, name) : undefined;
      const served = find();
      return known || freshness === 'cache' || !served ? known : freshObject(served, { namespace, name });
    };
  };
  const node = lookup('nodes');
  return {
    upToDate: (caller) =>
      cache.freshFor(caller)?.catch((error) => {
        throw toStatusError(error, { group: '', resource: 'serviceaccounts' }, '');
      }),
    account: lookup('serviceaccounts'),
    pod: lookup('pods'),
    secret: lookup('secrets'),
    node: (name, freshness) => node('', name, freshness),
  };
}
