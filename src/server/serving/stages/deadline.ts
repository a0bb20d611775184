import { parseDuration } from '../../../base/duration.ts';
import { badRequest, StatusError, unknownOutcome } from '../../../meta/status-error.ts';
import { DeadlineQueue } from '../deadline-queue.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Ends requests that take longer than they may, or than the parameter `timeout` allows, with 504. What was not sent to the
 * store until then is not sent any more; a write that was on its way may still happen, and the client is told so.
 * Watches have a timeout of their own.
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
      if (info.verb === 'watch') return;
      const askedMs = info.query.size === 0 ? 0 : askedTimeoutMs(context);
      if (askedMs > 0 && askedMs < requestMsMax) {
        const timer = clock.after(askedMs, () => expire(context, askedMs));
        exchange.onEnd(() => timer.close());
      } else {
        queue.add(context);
        exchange.onEnd(() => queue.remove(context));
      }
    },
  };
}

/**
 * The time that the client gives the request. As published, 0, a negative one, and one beyond the server's is the server's.
 * What is no time makes the request one that cannot be read.
 */
function askedTimeoutMs(context: RequestContext): number {
  const text = context.info.query.get('timeout') ?? '';
  const askedMs = text === '' ? 0 : parseDuration(text);
  if (askedMs !== undefined) return askedMs;
  const problem = `time: invalid duration ${JSON.stringify(text)}`;
  context.malformed ??= badRequest(`invalid timeout specified in the request URL - ${problem}`);
  return 0;
}
