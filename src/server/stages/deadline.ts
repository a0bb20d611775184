import { StatusError, unknownOutcome } from '../../meta/status-error.ts';
import { DeadlineQueue } from '../deadline-queue.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Ends requests that take too long, with 504. What was not sent to the store until then is not sent any more; a write that
 * was on its way may still happen, and the client is told so.
 * Watches have a timeout of their own.
 */
export function deadline({
  clock,
  resources,
  refuse,
  requestMsMax,
}: Pick<PipelineParts, 'clock' | 'resources' | 'refuse' | 'requestMsMax'>): Stage {
  const tooLong = `the request did not complete within ${requestMsMax / 1000} s`;
  const queue = resources.add(
    new DeadlineQueue<RequestContext>({
      clock,
      afterMs: requestMsMax,
      expire: (context) => {
        const error = context.writeSent ? unknownOutcome(tooLong) : new StatusError('Timeout', tooLong);
        context.exchange.abort(error);
        if (!context.exchange.responded) refuse(context, error);
      },
    }),
  );
  return {
    name: 'deadline',
    run(context) {
      if (context.info.verb === 'watch') return;
      queue.add(context);
      context.exchange.onEnd(() => queue.remove(context));
    },
  };
}
