/** The only file that loads the OpenTelemetry libraries; it is imported when traces are configured. */
import { credentials } from '@grpc/grpc-js';
import {
  type Span as ApiSpan,
  type Tracer as ApiTracer,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Span, SpanAttributes } from '../../base/span.ts';
import type { Clock } from '../../base/time/clock.ts';
import { inTime } from '../../base/time/in-time.ts';
import { BoundedExport } from './bounded-export.ts';
import { parentHeader, type RemoteSpan, stateHeader } from './trace-context.ts';
import type { Tracer } from './tracer.ts';
import type { CollectorEndpoint } from './tracing-configuration.ts';

export interface TracerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Opens a tracer that sends spans in batches. Connects with the first batch, and again whenever that is needed. */
export function openTelemetry(endpoint: CollectorEndpoint, parts: TracerParts): Tracer {
  const { clock, random } = parts;
  const bounded = new BoundedExport(parts);
  const exporter = bounded.exporter(
    new OTLPTraceExporter({
      // The library drops the default port of the scheme, which is 443 for gRPC as well.
      url: endpoint.type === 'unix' ? `unix://${endpoint.path}` : `https://${endpoint.authority}`,
      credentials: credentials.createInsecure(),
      timeoutMillis: limits.traceExportMsMax,
    }),
  );
  const queue = new BatchSpanProcessor(exporter, {
    maxQueueSize: limits.traceSpansWaitingMax,
    maxExportBatchSize: limits.traceBatchSpansMax,
    exportTimeoutMillis: 2 * limits.traceExportMsMax,
  });
  const provider = new BasicTracerProvider({
    sampler: new AlwaysOnSampler(),
    resource: resourceFromAttributes({
      'service.name': 'apiserver',
      'service.instance.id': `apiserver-${random.uuid()}`,
    }),
    spanLimits: {
      attributeCountLimit: limits.traceAttributesMax,
      attributePerEventCountLimit: limits.traceAttributesMax,
      attributeValueLengthLimit: limits.traceTextCharactersMax,
      eventCountLimit: limits.traceEventsMax,
      linkCountLimit: 1,
    },
    spanProcessors: [bounded.processor(queue)],
  });
  const tracer = provider.getTracer('orch');
  return {
    start(name, { startedMs, attributes, parent, link }) {
      // One offset for a whole trace: its spans agree whatever becomes of the wall clock meanwhile.
      const offsetMs = clock.now() - clock.monotonic();
      const now = (): number => offsetMs + clock.monotonic();
      const within = parent ? trace.setSpanContext(ROOT_CONTEXT, remoteContext(parent)) : ROOT_CONTEXT;
      const links = link ? [{ context: remoteContext(link) }] : [];
      const options = { kind: SpanKind.SERVER, startTime: offsetMs + startedMs, attributes, links };
      return new RecordedSpan(tracer.startSpan(name, options, within), { tracer, now });
    },
    async close() {
      await inTime(
        provider.shutdown().catch(() => {}),
        limits.traceFlushMsMax,
        { clock },
      );
      bounded.giveUp();
    },
  };
}

const remoteContext = ({ traceId, spanId, sampled, state }: RemoteSpan): SpanContext => ({
  ...{ traceId, spanId, isRemote: true },
  traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  ...(state !== undefined && { traceState: createTraceState(state) }),
});

interface SpanParts {
  readonly tracer: ApiTracer;
  /** Wall-clock milliseconds, with fractions. */
  readonly now: () => number;
}

class RecordedSpan implements Span {
  readonly #span: ApiSpan;
  readonly #parts: SpanParts;
  #context: Context | undefined;
  #ended = false;

  constructor(span: ApiSpan, parts: SpanParts) {
    this.#span = span;
    this.#parts = parts;
  }

  get headers(): Readonly<Record<string, string>> {
    const { traceId, spanId, traceState } = this.#span.spanContext();
    const state = traceState?.serialize() ?? '';
    return { [parentHeader]: `00-${traceId}-${spanId}-01`, ...(state !== '' && { [stateHeader]: state }) };
  }

  child(name: string, attributes: SpanAttributes = {}, kind: 'internal' | 'client' = 'internal'): Span {
    this.#context ??= trace.setSpan(ROOT_CONTEXT, this.#span);
    const { tracer, now } = this.#parts;
    const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, startTime: now(), attributes };
    return new RecordedSpan(tracer.startSpan(name, options, this.#context), this.#parts);
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (!this.#ended) this.#span.addEvent(name, attributes, this.#parts.now());
  }

  set(attributes: SpanAttributes): void {
    if (!this.#ended) this.#span.setAttributes(attributes);
  }

  fail(): void {
    if (!this.#ended) this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.end(this.#parts.now());
  }
}
