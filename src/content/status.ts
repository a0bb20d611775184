import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { ClientGone } from '../http/base-exchange.ts';
import type { Exchange } from '../http/exchange.ts';
import { httpDate } from '../http/h2/http-date.ts';
import { sendBytes } from '../http/respond.ts';
import { status as statusSchema } from '../kinds/meta/status.ts';
import { internalError, isUnknownOutcome, type Status, StatusError } from '../meta/status-error.ts';
import { isStoreError } from '../store/store.ts';
import { formatNamed } from './formats/formats.ts';
import { json } from './formats/json.ts';
import type { Negotiated } from './negotiation.ts';

interface StatusOptions {
  /** Takes errors that are not for the client. */
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'now'>;
  /** JSON where it was not negotiated, or could not be. */
  readonly format?: Negotiated['format'];
  /** What the client calls the format; formats have several names. */
  readonly mediaType?: string;
  readonly pretty?: boolean;
}

/**
 * Answers with the Status of an error. What is not a StatusError is the server's own fault: it is logged, and the client
 * learns only that there was one. So is a store that fails, of which the client learns that it may try again. An error after the response was started is logged, and the response is left as it is.
 */
export function sendStatus(exchange: Exchange, error: unknown, options: StatusOptions): void {
  const known = error instanceof StatusError ? error : internalError(error);
  if (!(error instanceof ClientGone) && (isOurs(known) || exchange.responded)) {
    logFailure(exchange, known.cause ?? error, options);
  }
  if (exchange.responded) return;
  for (const [name, value] of Object.entries(known.headers)) exchange.setHeader(name, value);
  const seconds = known.details?.retryAfterSeconds;
  if (seconds !== undefined && seconds > 0)
    exchange.setHeader('retry-after', retryAfter(known, seconds, options.clock));
  sendBytes(exchange, { status: known.code, ...encodeStatus(known.toStatus(), options) });
}

/**
 * RFC 9110 section 10.2.3. Today's clients send a request again, without a question, where a 5xx says a number of seconds:
 * an answer whose write may have been done says a date, which they leave to their user.
 */
const retryAfter = (error: StatusError, seconds: number, clock: Pick<Clock, 'now'>): string =>
  isUnknownOutcome(error) ? httpDate(clock.now() + seconds * 1000) : String(seconds);

/** Something is wrong with the server or with what it stands on, not with the request. */
const isOurs = ({ reason, code, cause }: StatusError): boolean =>
  reason === 'InternalError' || (code >= 500 && cause !== undefined);

/** Of each logger: when a full store is told of next, and how many requests it has failed since. */
const fullStores = new WeakMap<Logger, { nextAt: number; untold: number }>();

/** A full store fails every write, and is told of at first and then once in a while: its log may be on the same disk. */
function logFailure(exchange: Exchange, error: unknown, { logger, clock }: StatusOptions): void {
  const fields = { method: exchange.method, path: pathOf(exchange), error };
  if (!isStoreError(error, 'full')) {
    logger.error('a request failed', fields);
    return;
  }
  const told = fullStores.get(logger) ?? { nextAt: 0, untold: 0 };
  fullStores.set(logger, told);
  const now = clock.now();
  if (now < told.nextAt) {
    told.untold += 1;
    return;
  }
  logger.error('a request failed', { ...fields, others: told.untold });
  told.nextAt = now + limits.fullStoreLogMs;
  told.untold = 0;
}

/** Without the query, which may hold what does not belong in a log. */
const pathOf = ({ target }: Exchange): string => target.split('?', 1)[0] ?? '';

/** A Status as it goes to a client. */
function encodeStatus(
  status: Status,
  {
    format = json.name,
    mediaType = 'application/json',
    pretty = false,
  }: Pick<StatusOptions, 'format' | 'mediaType' | 'pretty'>,
): { readonly contentType: string; readonly body: Buffer } {
  return { contentType: mediaType, body: formatNamed(format).encode(status, { pretty, schemaOf: () => statusSchema }) };
}
