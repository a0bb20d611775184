import type { Counter, Metrics } from '../base/metrics.ts';
import { type AuditLevel, auditLevels } from './policy.ts';

/** Counts since the start. Plain numbers, because they are updated for every request. */
export interface AuditCounts {
  events: number;
  /** Requests that were refused because their event could not be recorded. */
  rejected: number;
  /** Requests by level. */
  readonly levels: Record<AuditLevel, number>;
}

interface AuditMetrics {
  readonly counts: AuditCounts;
  /** Events that could not be recorded. */
  readonly errors: Counter<'plugin'>;
}

/** Metrics of auditing under the names of kube-apiserver. */
export function auditMetrics(metrics: Metrics): AuditMetrics {
  const counts: AuditCounts = {
    events: 0,
    rejected: 0,
    levels: { None: 0, Metadata: 0, Request: 0, RequestResponse: 0 },
  };
  metrics.totals({ name: 'apiserver_audit_event_total', help: 'Audit events.', labels: [] }, () => [
    [{}, counts.events],
  ]);
  metrics.totals({ name: 'apiserver_audit_level_total', help: 'Requests by audit level.', labels: ['level'] }, () =>
    auditLevels.map((level) => [{ level }, counts.levels[level]] as const),
  );
  metrics.totals(
    {
      name: 'apiserver_audit_requests_rejected_total',
      help: 'Requests that were rejected because their audit event could not be recorded.',
      labels: [],
    },
    () => [[{}, counts.rejected]],
  );
  const errors = metrics.counter({
    name: 'apiserver_audit_error_total',
    help: 'Audit events that could not be recorded, by plugin.',
    labels: ['plugin'],
  });
  return { counts, errors };
}
