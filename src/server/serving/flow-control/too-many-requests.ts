import { StatusError } from '../../../meta/status-error.ts';

/** Why a request got no place, as published metrics name it. */
export type RefusalReason = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

/** Refused so that others are served: the request itself is not at fault. */
export class OverloadError extends StatusError {}

/** What clients know, and act on: they wait, and try again. */
export const tooManyRequests = (): OverloadError =>
  new OverloadError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  });
