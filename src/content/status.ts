import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Clock } from '../base/time/clock.ts';
import { ClientGone } from '../http/base-exchange.ts';
import type { Exchange } from '../http/exchange.ts';
import { httpDate } from '../http/h2/http-date.ts';
import { loggedTarget } from '../http/logged-target.ts';
import { sendBytes } from '../http/respond.ts';
import { status as statusSchema } from '../kinds/meta/status.ts';
import { internalError, isUnknownOutcome, type Status, StatusError } from '../meta/status-error.ts';
import { isStoreError } from '../store/store.ts';
import { formatNamed } from './formats/formats.ts';
import { json } from './formats/json.ts';
import type { Negotiated } from './negotiation.ts';

interface StatusOptions {
  /** Receives errors that are not shown to the client. */
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'now'>;
  /** Default: JSON, if not negotiated or if negotiation failed. */
  readonly format?: Negotiated['format'];
  /** The requested media type of the format; a format can have several. */
  readonly mediaType?: string;
  readonly pretty?: boolean;
}

/**
 * Responds with the Status of an error. An error that is not a StatusError is internal: it is logged in full, and the
 * client only learns that one occurred. A store failure is logged too, and the client learns that it may retry. An
 * error after the response has started is only logged.
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
 * RFC 9110 section 10.2.3. client-go retries automatically on a 5xx with a number of seconds. If the outcome of a
 * write is unknown, the header is a date instead, which leaves the retry to the caller.
 */
const retryAfter = (error: StatusError, seconds: number, clock: Pick<Clock, 'now'>): string =>
  isUnknownOutcome(error) ? httpDate(clock.now() + seconds * 1000) : String(seconds);

/** The server or its store failed, rather than the request being invalid. */
const isOurs = ({ reason, code, cause }: StatusError): boolean =>
  reason === 'InternalError' || (code >= 500 && cause !== undefined);

/** By logger: the next time to log a full store, and the number of failures not logged since. */
const fullStores = new WeakMap<Logger, { nextAt: number; unlogged: number }>();

/** A full store fails every write: it is logged at once, then periodically, since the log may be on the same disk. */
function logFailure(exchange: Exchange, error: unknown, { logger, clock }: StatusOptions): void {
  const fields = { 'audit-ID': exchange.auditId, method: exchange.method, path: loggedPath(exchange), error };
  if (!isStoreError(error, 'full')) {
    logger.error('a request failed', fields);
    return;
  }
  const log = fullStores.get(logger) ?? { nextAt: 0, unlogged: 0 };
  fullStores.set(logger, log);
  const now = clock.now();
  if (now < log.nextAt) {
    log.unlogged += 1;
    return;
  }
  logger.error('a request failed', { ...fields, others: log.unlogged });
  log.nextAt = now + limits.fullStoreLogMs;
  log.unlogged = 0;
}

/** Without the query, and masked if it is no path of the API: either may contain a secret. */
const loggedPath = ({ target }: Exchange): string => loggedTarget(target.split('?', 1)[0] ?? '');

/** Encodes a Status for a client. */
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
