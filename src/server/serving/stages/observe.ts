import { assignAuditId } from '../observe/audit-id.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import type { PipelineParts } from './parts.ts';

/** Assigns the audit ID and start time, and notifies observers and auditor of the request's start and end. */
export function observe({
  clock,
  random,
  observers,
  auditor,
}: Pick<PipelineParts, 'clock' | 'random' | 'observers' | 'auditor'>): Stage {
  const received = observers.flatMap((each) => each.received ?? []);
  const ended = observers.flatMap((each) => each.ended ?? []);
  return {
    name: 'observe',
    run(context) {
      const { exchange } = context;
      context.receivedMs = clock.monotonic();
      context.auditId = assignAuditId(exchange, random);
      for (const notify of received) notify(context);
      if (!auditor && ended.length === 0) return;
      exchange.onEnd(() => {
        const endedMs = clock.monotonic();
        notifyEnded(context, endedMs - context.receivedMs, ended);
        auditor?.ended(context, endedMs);
      });
    },
  };
}

function notifyEnded(
  context: RequestContext,
  durationMs: number,
  observers: readonly NonNullable<RequestObserver['ended']>[],
): void {
  const { status, bodyBytes, ending = 'complete' } = context.exchange;
  const outcome = { status, bytes: bodyBytes, durationMs, ending };
  for (const notify of observers) notify(context, outcome);
}
