/** Somebody who asked for something and may stop waiting for it: a request, or all who share one question. */
export interface Caller {
  /** Aborts when nobody wants the answer any more. It may be made when it is first read: read it only where you wait. */
  readonly signal: AbortSignal;
}
