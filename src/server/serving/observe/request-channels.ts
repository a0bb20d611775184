import { type Channel, channel } from 'node:diagnostics_channel';
import type { RequestInfo } from '../../../request/request-info.ts';
import type { UserInfo } from '../../../request/user-info.ts';
import type { RequestContext } from '../request-context.ts';
import type { Outcome, RequestObserver } from './request-observer.ts';

/**
 * Names of the `node:diagnostics_channel` channels that report requests, in order of publication. Part of the public
 * interface.
 */
export const requestChannels = {
  received: 'orch:request:received',
  identified: 'orch:request:identified',
  answered: 'orch:request:answered',
  ended: 'orch:request:ended',
} as const;

/** The message for subscribers. Contains no headers, credentials or bodies. */
export interface RequestMessage {
  /** The same object in all messages of one request. IDs are not unique, since clients choose them. */
  readonly request: object;
  readonly auditId: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Present from `identified` on. */
  readonly info?: RequestInfo;
  readonly user?: UserInfo;
  /** The authenticated user if `user` is impersonated. */
  readonly impersonatedBy?: UserInfo | undefined;
  /** Present in `ended` only. */
  readonly outcome?: Outcome;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** Publishes requests for observers within the process. Without subscribers the cost is one check. */
export function requestPublisher(): RequestObserver {
  const received = channel(requestChannels.received);
  const [identified, answered, ended] = [
    channel(requestChannels.identified),
    channel(requestChannels.answered),
    channel(requestChannels.ended),
  ];
  const keys = new WeakMap<RequestContext, object>();
  const keyOf = (context: RequestContext): object => {
    const key = keys.get(context) ?? {};
    keys.set(context, key);
    return key;
  };
  const publish = (to: Channel, context: RequestContext, more: Partial<RequestMessage>): void => {
    const { exchange, auditId } = context;
    const [path = ''] = exchange.target.split('?', 1);
    to.publish({ request: keyOf(context), auditId, method: exchange.method, path, ...more } satisfies RequestMessage);
  };
  const known = ({ info, user, impersonatedBy }: RequestContext) => ({ info, user, impersonatedBy });
  return {
    received: (context) => {
      if (received.hasSubscribers) publish(received, context, {});
    },
    identified: (context) => {
      if (identified.hasSubscribers) publish(identified, context, known(context));
    },
    answered: (context) => {
      if (answered.hasSubscribers) publish(answered, context, known(context));
    },
    ended: (context, outcome) => {
      if (!ended.hasSubscribers) return;
      const annotations = context.annotations && Object.fromEntries(context.annotations);
      publish(ended, context, { ...known(context), outcome, annotations });
    },
  };
}
