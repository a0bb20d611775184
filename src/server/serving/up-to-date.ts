import { limits } from '../../base/limits.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import type { Freshness } from '../../cache/cache.ts';
import { toStatusError } from '../../registry/store-errors.ts';
import { isReadVerb } from '../../request/request-info.ts';
import { groupMasters } from '../../request/user-info.ts';
import type { UnservedDefinitions } from '../definitions/unserved-definitions.ts';
import type { RequestContext } from './request-context.ts';

interface UpToDateParts {
  readonly clock: Clock;
  readonly cache: Pick<Freshness, 'isFresh' | 'freshFor'>;
  readonly unserved: Pick<UnservedDefinitions, 'settled'>;
}

/**
 * Waits until the cache has all that was acknowledged before the request, and until the kinds of its group are those that were
 * defined then. Two sorts of requests do not wait for the store, so that they are answered while it is away: those for paths
 * (health, metrics), which show no objects, and reads of a version that may be old by masters, about whom no object decides.
 * Discovery and documents wait for a while.
 */
export const upToDate =
  ({ clock, cache, unserved }: UpToDateParts) =>
  (context: RequestContext): Promise<void> | undefined => {
    const { info, exchange } = context;
    if (info.type === 'path') {
      if (!describesKinds.test(info.path) || (cache.isFresh() && !unserved.settled())) return undefined;
      const { signal } = exchange;
      const known = (cache.freshFor({ signal }) ?? Promise.resolve()).then(() => unserved.settled());
      // Old documents are better than none.
      return inTime(
        known.catch(() => {}),
        limits.kindsKnownMsMax,
        { clock, signal },
      );
    }
    const served = (): Promise<void> | undefined => {
      const waiting = unserved.settled(info.group);
      return waiting && untilAborted(waiting, exchange.signal);
    };
    const fresh = cache.isFresh() || asksNoObject(context) ? undefined : cache.freshFor(exchange);
    if (!fresh) return served();
    return fresh.then(served, (error) => {
      throw toStatusError(error, info, info.name);
    });
  };

const describesKinds = /^\/(apis|openapi)(\/|$)/;

const asksNoObject = ({ info, user }: RequestContext): boolean =>
  user.groups.includes(groupMasters) && isReadVerb(info.verb) && Boolean(info.query.get('resourceVersion'));
