import { StatusError } from '../../../meta/status-error.ts';

/** Why a request got no place, as published metrics name it. */
export type RefusalReason = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

/** What clients know, and act on: they wait, and try again. */
export const tooManyRequests = (): StatusError =>
  new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  });
