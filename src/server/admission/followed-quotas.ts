import type { StoredQuotas } from '../../admission/plugins/resource-quota/quota-ledger.ts';
import type { Freshness } from '../../cache/cache.ts';
import { type ApiClient, ApiError } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { textsOf } from '../../kinds/quota/amounts.ts';
import { type Quota, readQuota } from '../../kinds/quota/quota.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { ScopeParts } from '../wiring/scopes/scope-parts.ts';
import { FollowedByNamespace } from './follow-by-namespace.ts';

/** The quotas of a scope, whose usage the server writes as itself: as other writes, these are audited, validated and seen by webhooks. */
export function followQuotas(
  parts: Pick<ScopeParts, 'resources' | 'logger' | 'held' | 'cache' | 'clients'>,
): StoredQuotas {
  const { cache, held, clients } = parts;
  const followed = held.add(new FollowedByNamespace<Quota>({ ...parts, resource: 'resourcequotas', read: readQuota }));
  return {
    of: (namespace) => followed.of(namespace),
    upToDate: () => upToDate(cache),
    async writeUsed({ object, name, used }) {
      const path = resourcePath({
        ...{ resource: 'resourcequotas', namespace: object.metadata.namespace, name },
        subresource: 'status',
      });
      const status = { ...(object['status'] as object), used: textsOf(used) };
      followed.written(await updated(clients.server, path, { ...object, status }));
    },
  };
}

async function upToDate(cache: Pick<Freshness, 'isFresh' | 'fresh'>): Promise<void> {
  if (!cache.isFresh()) await cache.fresh();
}

/** Its refusal is that of the write which waits for it. */
async function updated(client: ApiClient, path: string, object: ApiObject): Promise<ApiObject> {
  try {
    return await client.update(path, object);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { reason = '', message = '', details } = error.status;
    throw new StatusError(reason, message, { code: error.code, cause: error, ...(details && { details }) });
  }
}
