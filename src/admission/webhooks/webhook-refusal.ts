import { internalFailure, StatusError, type StatusReason } from '../../meta/status-error.ts';
import type { ReviewAnswer } from './review-answer.ts';

/** The error of a request that a webhook refused: with its code, reason and message, as kube-apiserver passes them on. */
export function webhookRefusal(
  webhook: string,
  { code, message, reason, details }: ReviewAnswer['result'],
): StatusError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const why = message || reason;
  return new StatusError(reason as StatusReason, why === '' ? `${denied} without explanation` : `${denied}: ${why}`, {
    code: code < 400 || code > sentCodeMax ? 400 : code,
    ...(details && { details }),
  });
}

/** HTTP has three digits for it (RFC 9110 section 15). */
const sentCodeMax = 999;

/** The error of a request for which a webhook that is needed could not be called. */
export const callFailed = (webhook: string, why: string, cause: unknown): StatusError =>
  internalFailure(describeFailure(webhook, why), cause);

export const describeFailure = (webhook: string, why: string): string =>
  `failed calling webhook ${JSON.stringify(webhook)}: ${why}`;
