import type { Ending } from '../../../http/exchange.ts';
import type { RequestContext } from '../request-context.ts';

/** What became of a request. */
export interface Outcome {
  /** 0 where nothing was answered: the client went away first. */
  readonly status: number;
  /** Of the answer's body, as they were sent. */
  readonly bytes: number;
  /** From when the request's headers were there until the client had the answer, or was gone. */
  readonly durationMs: number;
  readonly ending: Ending;
}

/**
 * Is told what happens to requests; changes nothing about them, and does not throw. Each member is called at most once for
 * a request, in this order; those that are absent cost nothing.
 */
export interface RequestObserver {
  /** A request came. Nothing is known of it but method, target and headers, its credential among them. */
  readonly received?: (context: RequestContext) => void;
  /** It is known who asks for what; nothing is decided. Not called where that stays unknown. */
  readonly identified?: (context: RequestContext) => void;
  /** The answer was handed over; of lists and watches, its first part. */
  readonly answered?: (context: RequestContext) => void;
  /** It is over. Work for it may still be under way, where the client is gone. */
  readonly ended?: (context: RequestContext, outcome: Outcome) => void;
}
