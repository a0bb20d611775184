import { auditMetrics } from '../../audit/audit-metrics.ts';
import type { AuditBackend } from '../../audit/backend.ts';
import { Batching, type BatchOptions } from '../../audit/batching.ts';
import { blockingBackend } from '../../audit/blocking.ts';
import { EventEncoder } from '../../audit/event-encoder.ts';
import { BatchedLog, blockingLog, type LogFormat } from '../../audit/log-backend.ts';
import { type LostEvents, lostEvents } from '../../audit/lost-events.ts';
import { type Policy, policyEvaluator } from '../../audit/policy.ts';
import { truncating } from '../../audit/truncation.ts';
import { unionBackend } from '../../audit/union.ts';
import { webhookSink } from '../../audit/webhook-sink.ts';
import { limits } from '../../base/limits.ts';
import { Auditor } from '../serving/audit/auditor.ts';
import { openWebhook } from './access/webhooks.ts';
import type { Basis } from './basis.ts';
import type { LogConfig } from './environment.ts';

/** Configuration of auditing: a policy, and at least one backend. */
export interface AuditConfig {
  readonly policy: Policy;
  readonly log?: BackendConfig & { readonly output: LogConfig; readonly format: LogFormat };
  readonly webhook?: BackendConfig & {
    /** A kubeconfig. */
    readonly file: string;
    /** Delay before the second attempt. Milliseconds. */
    readonly initialBackoffMs: number;
  };
}

/** What both backends have. */
export interface BackendConfig {
  readonly mode: 'blocking' | 'blocking-strict' | ({ readonly type: 'batch' } & BatchOptions);
  /** Undefined: events are not truncated. */
  readonly truncate?: { readonly batchBytesMax: number; readonly eventBytesMax: number } | undefined;
}

/** Opens the backends, which close with the server, after everything that makes events. */
export function openAudit(config: AuditConfig | undefined, basis: Basis): Auditor | undefined {
  if (!config || (!config.log && !config.webhook)) return undefined;
  const { clock, dialect, logger, metrics, shutdown } = basis;
  const encoder = new EventEncoder(dialect);
  const { counts, errors } = auditMetrics(metrics);
  const lost = lostEvents({ clock, logger, errors });
  const parts = { ...basis, encoder, lost };
  const { log, webhook } = config;
  const backends = [...(log ? [openLog(log, parts)] : []), ...(webhook ? [openWebhookBackend(webhook, parts)] : [])];
  const auditor = new Auditor({
    ...{ encoder, clock, dialect, counts },
    evaluate: policyEvaluator(config.policy),
    backend: unionBackend(backends),
    blocks: [log, webhook].some((backend) => backend && typeof backend.mode === 'string'),
  });
  shutdown.add('audit', () => auditor.close());
  return auditor;
}

interface BackendParts extends Basis {
  readonly encoder: EventEncoder;
  readonly lost: LostEvents;
}

function openLog(config: NonNullable<AuditConfig['log']>, parts: BackendParts): AuditBackend {
  const { mode, format, truncate } = config;
  const { clock, lost } = parts;
  const output = parts.environment.openLog(config.output, parts.logger);
  const backend =
    typeof mode === 'string'
      ? blockingLog({ output, format, lost, strict: mode === 'blocking-strict' })
      : new BatchedLog({ ...{ output, format, lost, clock }, options: mode });
  return truncated(backend, truncate, parts);
}

function openWebhookBackend(config: NonNullable<AuditConfig['webhook']>, parts: BackendParts): AuditBackend {
  const { mode, file, initialBackoffMs, truncate } = config;
  const { dialect, clock, random, lost } = parts;
  const sender = openWebhook({ type: 'file', file }, limits.auditWebhookMsMax, parts);
  const sink = webhookSink({ sender, dialect, clock, random, initialBackoffMs });
  const batchBytesMax = Math.min(truncate?.batchBytesMax ?? Number.POSITIVE_INFINITY, limits.auditBatchBytesMax);
  const backend =
    typeof mode === 'string'
      ? blockingBackend({ sink, plugin: 'webhook', lost, strict: mode === 'blocking-strict' })
      : new Batching({ ...{ sink, plugin: 'webhook', lost, clock, batchBytesMax }, options: mode });
  return truncated(backend, truncate, parts);
}

const truncated = (
  backend: AuditBackend,
  truncate: BackendConfig['truncate'],
  { encoder, lost }: BackendParts,
): AuditBackend => (truncate ? truncating(backend, { encoder, lost, eventBytesMax: truncate.eventBytesMax }) : backend);
