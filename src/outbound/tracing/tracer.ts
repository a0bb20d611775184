import type { Span, SpanAttributes } from '../../base/span.ts';
import type { RemoteSpan } from './trace-context.ts';

interface RootOptions {
  /** When the operation began, on the monotonic clock. */
  readonly startedMs: number;
  readonly attributes: SpanAttributes;
  /** The trace to continue. Default: a new one. */
  readonly parent?: RemoteSpan | undefined;
  /** A trace to which a new one refers. */
  readonly link?: RemoteSpan | undefined;
}

/** Records spans and sends them to a collector. Whether something is recorded is up to the caller. */
export interface Tracer {
  /** Starts the operation of a server. */
  start(name: string, options: RootOptions): Span;
  /** Sends what waits, as long as `limits.traceFlushMsMax` allows. Never rejects. */
  close(): Promise<void>;
}
