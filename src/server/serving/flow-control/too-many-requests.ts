import { StatusError } from '../../../meta/status-error.ts';

/** Why a request got no seat, with the label values of kube-apiserver's metrics. */
export type RefusalReason = 'concurrency-limit' | 'queue-full' | 'time-out' | 'cancelled';

/** A refusal due to load; the request itself is valid. */
export class OverloadError extends StatusError {}

/** The error that client-go retries after `Retry-After`. */
export const tooManyRequests = (): OverloadError =>
  new OverloadError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds: 1 },
  });
