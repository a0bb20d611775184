import { assignAuditId } from '../observe/audit-id.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Assigns the audit ID and start time, and notifies observers of the request's start and end. */
export function observe({ clock, random, observers }: Pick<PipelineParts, 'clock' | 'random' | 'observers'>): Stage {
  const received = observers.flatMap((each) => each.received ?? []);
  const ended = observers.flatMap((each) => each.ended ?? []);
  return {
    name: 'observe',
    run(context) {
      const { exchange } = context;
      context.receivedMs = clock.monotonic();
      context.auditId = assignAuditId(exchange, random);
      for (const notify of received) notify(context);
      if (ended.length > 0) exchange.onEnd(() => end(context, clock.monotonic() - context.receivedMs, ended));
    },
  };
}

function end(
  context: RequestContext,
  durationMs: number,
  observers: readonly NonNullable<RequestObserver['ended']>[],
): void {
  const { status, bodyBytes, ending = 'complete' } = context.exchange;
  const outcome = { status, bytes: bodyBytes, durationMs, ending };
  for (const notify of observers) notify(context, outcome);
}
