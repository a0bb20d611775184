import type { Exchange } from '../http/exchange.ts';
import { anonymousUser } from '../request/user-info.ts';
import type { RequestContext, Stage } from './request-context.ts';
import { authenticate } from './stages/authenticate.ts';
import { authorize } from './stages/authorize.ts';
import { deadline } from './stages/deadline.ts';
import { dispatch } from './stages/dispatch.ts';
import { impersonate } from './stages/impersonate.ts';
import { limitInFlight } from './stages/limit-in-flight.ts';
import type { PipelineParts } from './stages/parts.ts';
import { requestInfo } from './stages/request-info.ts';

/** What every request goes through, in this order (design section 4). The last stage answers. */
export const stages = (parts: PipelineParts): readonly Stage[] => [
  requestInfo(),
  deadline(parts),
  authenticate(parts),
  impersonate(parts),
  limitInFlight(parts),
  authorize(parts),
  dispatch(parts),
];

/** Until the first stage has read the request. */
const unread = { type: 'path', path: '', query: new URLSearchParams(), verb: '' } as const;

/**
 * Takes exchanges through the stages. What a stage throws becomes the answer. Runs without a promise for as long as no
 * stage waits.
 */
export function servePipeline(
  list: readonly Stage[],
  refuse: (context: RequestContext, error: unknown) => void,
): (exchange: Exchange) => void {
  const run = (context: RequestContext, from: number): void => {
    try {
      for (let at = from; at < list.length; at++) {
        const waiting = list[at]?.run(context);
        if (waiting) {
          waiting.then(
            () => run(context, at + 1),
            (error) => refuse(context, error),
          );
          return;
        }
      }
    } catch (error) {
      refuse(context, error);
    }
  };
  return (exchange) => run({ exchange, info: unread, user: anonymousUser }, 0);
}
