import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Value of `ExportResultCode.SUCCESS`, of a package that this one need not load for it. */
const success = 0;

/** Why spans do not reach the collector. */
type LossReason = 'queue_full' | 'not_sent';

interface BoundedExportParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Bounds the spans that wait between a server and its collector, counts those that are lost, and reports an outage once a
 * minute. The library's queue does not count the spans that it has handed over, nor tell anybody what it drops.
 */
export class BoundedExport {
  readonly #parts: BoundedExportParts;
  readonly #lost: Record<LossReason, number> = { queue_full: 0, not_sent: 0 };
  #waiting = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;
  #failing = false;

  constructor(parts: BoundedExportParts) {
    this.#parts = parts;
    parts.metrics.totals(
      { name: 'orch_traces_lost_spans_total', help: 'Spans that did not reach the collector.', labels: ['reason'] },
      () => Object.entries(this.#lost).map(([reason, total]) => [{ reason: reason as LossReason }, total] as const),
    );
  }

  /** In front of the library's queue. */
  processor(queue: SpanProcessor): SpanProcessor {
    return {
      onStart() {},
      onEnd: (span) => {
        if (this.#waiting >= limits.traceSpansWaitingMax) {
          this.#lost.queue_full += 1;
          return;
        }
        this.#waiting += 1;
        queue.onEnd(span);
      },
      forceFlush: () => queue.forceFlush(),
      shutdown: () => queue.shutdown(),
    };
  }

  /** Behind it. */
  exporter(inner: SpanExporter): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done: (result: ExportResult) => void) =>
        inner.export(spans, (result) => {
          this.#waiting -= spans.length;
          this.#note(spans.length, result);
          done(result);
        }),
      shutdown: () => inner.shutdown(),
    };
  }

  /** Counts what still waits as lost. */
  giveUp(): void {
    this.#lost.not_sent += this.#waiting;
    if (this.#waiting > 0) this.#parts.logger.warn('spans were not sent in time', { spans: this.#waiting });
  }

  #note(spans: number, { code, error }: ExportResult): void {
    const { clock, logger } = this.#parts;
    if (code === success) {
      if (this.#failing) logger.info('the collector of traces takes spans again');
      this.#failing = false;
      return;
    }
    this.#lost.not_sent += spans;
    this.#failing = true;
    if (clock.monotonic() - this.#reportedMs < limits.traceLossReportMs) return;
    this.#reportedMs = clock.monotonic();
    logger.warn('spans cannot be sent', { problem: error?.message.slice(0, limits.traceTextCharactersMax) });
  }
}
