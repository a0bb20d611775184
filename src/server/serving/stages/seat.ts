import type { Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/**
 * Takes a seat; if none is free, waits in a fair queue. The seat is released when the answer, or its first part, has
 * been handed over (`servePipeline`).
 */
export const seat = ({
  clock,
  access: { stages },
  flowControl: { pools },
}: Pick<PipelineParts, 'clock' | 'access' | 'flowControl'>): Stage => ({
  name: 'seat',
  run(context) {
    const { operation, ticket, exchange } = context;
    if (!ticket || operation?.type !== 'resource' || !operation.seat) return undefined;
    const pool = pools[operation.seat];
    const free = pool.tryAcquire(ticket);
    if (free) return ticket.seated(free, pool);
    const since = clock.monotonic();
    return pool.wait(ticket, exchange.signal).then((granted) => {
      context.waitedMs = clock.monotonic() - since;
      stages.priorityAndFairness.observe(context.waitedMs / 1000);
      ticket.seatedLate(granted, pool);
    });
  },
});
