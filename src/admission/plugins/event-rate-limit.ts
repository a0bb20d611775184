import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import type { CountedEvent, ReachedLimit } from './event-limits.ts';

interface EventRateLimitOptions {
  readonly dialect: Dialect;
  readonly take: (event: CountedEvent) => ReachedLimit | undefined | Promise<ReachedLimit | undefined>;
}

interface EventSource {
  readonly component?: string;
  readonly host?: string;
}

interface ObjectReference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiVersion?: string;
}

/** An event in either of its groups. */
type EventView = ApiObject & {
  readonly source?: EventSource;
  readonly deprecatedSource?: EventSource;
  readonly involvedObject?: ObjectReference;
  readonly regarding?: ObjectReference;
};

/** Bounds how many events are written, whoever writes them and in whichever of their two groups. */
export const eventRateLimit = ({ dialect, take }: EventRateLimitOptions): AdmissionPlugin => ({
  name: 'EventRateLimit',
  // Tokens are taken, which come back by themselves.
  sideEffects: 'none',
  concerns: ({ operation, info: { group, resource, subresource } }) =>
    (operation === 'create' || operation === 'update') &&
    resource === 'events' &&
    subresource === '' &&
    (group === '' || group === dialect.group('events')),
  validate(attributes) {
    const reached = take(countedEvent(attributes));
    return reached instanceof Promise ? reached.then(refuse) : refuse(reached);
  },
});

function countedEvent({ info, user, object }: AdmissionAttributes): CountedEvent {
  const event = object as EventView | undefined;
  const { component = '', host = '' } = event?.source ?? event?.deprecatedSource ?? {};
  const about = event?.involvedObject ?? event?.regarding ?? {};
  const { kind = '', namespace = '', name = '', uid = '', apiVersion = '' } = about;
  return {
    namespace: info.namespace,
    user: user.username,
    sourceAndObject: [component, host, kind, namespace, name, uid, apiVersion],
  };
}

function refuse(reached: ReachedLimit | undefined): void {
  if (!reached) return;
  const { type, key, retryAfterSeconds } = reached;
  throw new StatusError('TooManyRequests', `Too many requests: limit reached on type ${type} for key ${key}`, {
    details: { retryAfterSeconds },
  });
}
