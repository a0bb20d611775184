import { parseDuration } from '../../../base/time/duration.ts';
import { badRequest, StatusError, unknownOutcome } from '../../../meta/status-error.ts';
import { isLongRunning } from '../../../request/request-info.ts';
import { DeadlineQueue } from '../deadline-queue.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Ends requests with 504 once they exceed the server's limit or their `timeout` parameter. Writes that were not sent to
 * the store are dropped; one that was sent may still succeed, and the error says so. Watches have their own timeout.
 */
export function deadline({
  clock,
  resources,
  refuse,
  requestMsMax,
}: Pick<PipelineParts, 'clock' | 'resources' | 'refuse' | 'requestMsMax'>): Stage {
  const expire = (context: RequestContext, afterMs: number): void => {
    const tooLong = `the request did not complete within ${afterMs / 1000} s`;
    const error = context.writeSent ? unknownOutcome(tooLong) : new StatusError('Timeout', tooLong);
    context.terminated = true;
    context.timedOut = true;
    context.exchange.abort(error);
    if (!context.exchange.responded) refuse(context, error);
  };
  const queue = resources.add(
    new DeadlineQueue<RequestContext>({
      clock,
      afterMs: requestMsMax,
      expire: (context) => expire(context, requestMsMax),
    }),
  );
  return {
    name: 'deadline',
    run(context) {
      const { info, exchange } = context;
      if (isLongRunning(info)) return;
      const askedMs = info.query.size === 0 ? 0 : requestedTimeoutMs(context);
      const isAsked = askedMs > 0 && askedMs < requestMsMax;
      context.deadlineMs = context.receivedMs + (isAsked ? askedMs : requestMsMax);
      if (isAsked) {
        const timer = clock.after(askedMs, () => expire(context, askedMs));
        exchange.onEnd(() => timer.close());
      } else {
        const place = queue.add(context);
        exchange.onEnd(() => queue.remove(context, place));
      }
    },
  };
}

/**
 * The timeout that the client requests. As in kube-apiserver, 0, a negative value, or one above the server's limit
 * means the server's limit. An invalid value makes the request malformed.
 */
function requestedTimeoutMs(context: RequestContext): number {
  const text = context.info.query.get('timeout') ?? '';
  const askedMs = text === '' ? 0 : parseDuration(text);
  if (askedMs !== undefined) return askedMs;
  const problem = `time: invalid duration ${JSON.stringify(text)}`;
  context.malformed ??= badRequest(`invalid timeout specified in the request URL - ${problem}`);
  return 0;
}
