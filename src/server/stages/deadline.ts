import { limits } from '../../base/limits.ts';
import { StatusError } from '../../meta/status-error.ts';
import { DeadlineQueue } from '../deadline-queue.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Ends requests that take too long, with 504. A write that was on its way may still happen: the client must look.
 * Watches have a timeout of their own.
 */
export function deadline({ clock, resources, refuse }: PipelineParts): Stage {
  const queue = resources.add(
    new DeadlineQueue<RequestContext>({
      clock,
      afterMs: limits.requestMsMax,
      expire: (context) => {
        const error = timedOut();
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

const timedOut = (): StatusError =>
  new StatusError('Timeout', `the request did not complete within ${limits.requestMsMax / 1000} s`);
