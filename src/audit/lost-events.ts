import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Counter } from '../base/metrics.ts';
import type { Clock } from '../base/time/clock.ts';

/** Names of plugins in metrics and logs, as published. */
export type AuditPlugin = 'buffered' | 'log' | 'truncate' | 'webhook';

/** Reports events that could not be recorded. */
export type LostEvents = (plugin: AuditPlugin, count: number, error: unknown) => void;

interface LostEventsParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly errors: Counter<'plugin'>;
}

/** Counts every lost event. Logs the first at once, then sums at intervals: a full disk loses an event per request. */
export function lostEvents({ clock, logger, errors }: LostEventsParts): LostEvents {
  const unlogged = new Map<AuditPlugin, number>();
  const nextAt = new Map<AuditPlugin, number>();
  return (plugin, count, error) => {
    errors.add({ plugin }, count);
    const events = (unlogged.get(plugin) ?? 0) + count;
    const now = clock.monotonic();
    if (now < (nextAt.get(plugin) ?? Number.NEGATIVE_INFINITY)) {
      unlogged.set(plugin, events);
      return;
    }
    logger.error('audit events were lost', { plugin, events, error });
    unlogged.set(plugin, 0);
    nextAt.set(plugin, now + limits.auditLossReportMs);
  };
}
