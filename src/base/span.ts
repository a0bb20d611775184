/** What a span says of its operation. Never a body, a credential or the value of a query. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/**
 * One operation of a trace that is recorded. It is passed along explicitly; where nothing is recorded there is none, and
 * nothing is done.
 */
export interface Span {
  /** Header fields by which a callee continues the trace (W3C Trace Context). */
  readonly headers: Readonly<Record<string, string>>;
  /** Starts an operation within this one. Kind `client`: a call of another program. */
  child(name: string, attributes?: SpanAttributes, kind?: 'internal' | 'client'): Span;
  /** Marks a point in time. */
  event(name: string, attributes?: SpanAttributes): void;
  set(attributes: SpanAttributes): void;
  /** Marks the operation as failed. Without a message: that could quote what a client sent. */
  fail(): void;
  /** Once; further calls do nothing. */
  end(): void;
}

/** Runs work that a span describes, and ends the span with it. Synchronous if the work is. */
export function spanning<T>(span: Pick<Span, 'end'>, work: () => T): T {
  let pending = false;
  try {
    const result = work();
    if (!(result instanceof Promise)) return result;
    pending = true;
    return result.finally(() => span.end()) as T;
  } finally {
    if (!pending) span.end();
  }
}
