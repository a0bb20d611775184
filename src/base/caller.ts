import type { Span } from './span.ts';

/** A party that waits for an operation and may give up: one request, or all requests that share a call. */
export interface Caller {
  /** Aborts when nobody waits for the result any more. May be created lazily: read it only where you wait. */
  readonly signal: AbortSignal;
  /** It must be answered without the store: what is known counts, however old. */
  readonly local?: boolean | undefined;
  /** Monotonic milliseconds at which the signal aborts, if that is known. */
  readonly deadlineMs?: number | undefined;
  /** On whose behalf it works: see TimeSlice. */
  readonly owner?: unknown;
  /** Adds an audit annotation, if the request is recorded: see Annotator. */
  readonly annotate?: ((key: string, value: string) => unknown) | undefined;
  /** The operation that calls, if it is traced. Of callers that share a call, the first one's. */
  readonly span?: Span | undefined;
  /**
   * Waits for the answer of a webhook without the seat that the caller holds. Rejects, without asking, if too many requests of
   * its tenant wait so; also when the signal aborts. Absent: the caller holds no seat.
   */
  awaitWebhook?<T>(ask: () => Promise<T>): Promise<T>;
}
