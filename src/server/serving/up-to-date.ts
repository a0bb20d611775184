import type { WatchCache } from '../../cache/cache.ts';
import { toStatusError } from '../../registry/store-errors.ts';
import { isReadVerb } from '../../request/request-info.ts';
import { groupMasters } from '../../request/user-info.ts';
import type { RequestContext } from './request-context.ts';

/**
 * Waits until the cache has all that was acknowledged before the request. Two sorts of requests do not wait, so that they are
 * answered while the store is away: those for paths (health, discovery, documents, metrics), which show no objects, and reads
 * of a version that may be old by masters, about whom no object decides.
 */
export const upToDate =
  (cache: Pick<WatchCache, 'isFresh' | 'freshFor'>) =>
  (context: RequestContext): Promise<void> | undefined => {
    const { info, exchange } = context;
    if (info.type === 'path' || cache.isFresh() || asksNoObject(context)) return undefined;
    return cache.freshFor(exchange)?.catch((error) => {
      throw toStatusError(error, info, info.name);
    });
  };

const asksNoObject = ({ info, user }: RequestContext): boolean =>
  user.groups.includes(groupMasters) && isReadVerb(info.verb) && Boolean(info.query.get('resourceVersion'));
