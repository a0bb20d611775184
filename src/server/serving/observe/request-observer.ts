import type { Ending } from '../../../http/exchange.ts';
import type { RequestContext } from '../request-context.ts';

/** The outcome of a request. */
export interface Outcome {
  /** 0 if the client went away before an answer. */
  readonly status: number;
  /** Bytes of the response body as sent. */
  readonly bytes: number;
  /** From the receipt of the request headers until the client had the answer or was gone. */
  readonly durationMs: number;
  readonly ending: Ending;
}

/**
 * Is notified of the progress of requests. It must not change them or throw. Each member is called at most once per
 * request, in this order; absent members cost nothing.
 */
export interface RequestObserver {
  /** A request arrived. Only method, target and headers are known, including its credentials. */
  readonly received?: (context: RequestContext) => void;
  /** User and request are known, authorization is not done yet. Not called for requests that fail before. */
  readonly identified?: (context: RequestContext) => void;
  /** The answer was handed over; for lists and watches, its first part. */
  readonly answered?: (context: RequestContext) => void;
  /** The request is over. Its work may still be running if the client is gone. */
  readonly ended?: (context: RequestContext, outcome: Outcome) => void;
}
