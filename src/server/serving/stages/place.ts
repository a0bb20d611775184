import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Takes a place among the requests that are worked on at once; waits for one, in a fair order, where all are taken. It is
 * given back when the answer, or its first part, has been handed over (`servePipeline`).
 */
export const place = ({ clock, flowControl: { pools } }: Pick<PipelineParts, 'clock' | 'flowControl'>): Stage => ({
  name: 'place',
  run(context) {
    const { operation, ticket, exchange } = context;
    if (!ticket || operation?.type !== 'resource' || !operation.place) return undefined;
    const pool = pools[operation.place];
    ticket.place = pool.enter(ticket);
    if (ticket.place) return undefined;
    const since = clock.monotonic();
    return pool.wait(ticket, exchange.signal).then((granted) => {
      context.waitedMs = clock.monotonic() - since;
      ticket.place = granted;
    });
  },
});
