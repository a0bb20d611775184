import { type ServiceError, status } from '@grpc/grpc-js';
import { StoreError } from '../../store.ts';

/**
 * Translates failures of etcd calls to StoreErrors. Statuses and their texts are those of etcd's published `rpctypes`
 * package and of gRPC (https://grpc.io/docs/guides/status-codes).
 */

/** Whether another attempt, possibly on another member, may succeed. Only used for calls that change nothing. */
export const isTransient = (error: ServiceError): boolean => {
  switch (error.code) {
    case status.UNAVAILABLE:
    case status.DEADLINE_EXCEEDED:
    case status.CANCELLED:
    case status.ABORTED:
    case status.INTERNAL:
    case status.UNKNOWN:
    case status.FAILED_PRECONDITION:
      return true;
    case status.RESOURCE_EXHAUSTED:
      return error.details.includes('too many requests');
    default:
      return false;
  }
};

/** The response exceeds what this client accepts (`limits.etcdMessageBytesMax`): request less. */
export const isAnswerTooLarge = (error: unknown): boolean =>
  error instanceof StoreError &&
  isServiceError(error.cause) &&
  error.cause.code === status.RESOURCE_EXHAUSTED &&
  error.cause.details.startsWith('Received message larger than max');

/** The server has only some of etcd's transactions, and refused one unseen: the text is that of kine. */
export const isUnsupported = (error: unknown): boolean =>
  error instanceof StoreError &&
  isServiceError(error.cause) &&
  error.cause.code === status.INVALID_ARGUMENT &&
  error.cause.details.includes('unsupported operations in txn request');

/** The role of this client does not allow the call. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof StoreError && isServiceError(error.cause) && error.cause.code === status.PERMISSION_DENIED;

/** True for the error of a failed gRPC call. */
export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error;

/**
 * The reason that etcd, gRPC or TLS gives for a failure, without what they add to it (a time, places in their source, advice
 * for Node.js). What flags of this server can mend begins with a sentence that names them.
 */
export const reasonOf = (error: ServiceError): string => {
  const reason = error.details
    .replace(/^No connection established\. Last error: (Error: )?/, '')
    .replace(/\.? Resolution note: $/, '')
    .replace(/\s*\(\d{4}-[\d:.TZ-]+\)$/, '')
    .replace(/; if the root CA is installed locally.*$/, '')
    .replace(/^[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/, '$1');
  const known = misconfigured.find(([pattern]) => pattern.test(reason));
  return known ? `${known[1]} (${reason})` : reason;
};

/** Texts of OpenSSL, of Node.js and of etcd, and what to do about them. */
const misconfigured: readonly (readonly [RegExp, string])[] = [
  [
    /unable to verify|unable to get (local )?issuer|self[- ]signed certificate/,
    '--etcd-cafile must name the authority that signed the certificate of etcd',
  ],
  [
    /alert (bad certificate|certificate required|unknown ca|handshake failure)/,
    '--etcd-certfile and --etcd-keyfile must name a client certificate of an authority that etcd trusts',
  ],
  [
    /user name is empty/,
    'etcd has users (auth is enabled): --etcd-certfile and --etcd-keyfile must name a client certificate whose common name is one',
  ],
];

/**
 * Whether a failed write has not happened and never will: etcd refused it before or instead of proposing it, or it
 * never reached etcd. Everything else is in doubt, such as `request timed out`, `leader changed`, a broken connection,
 * or a deadline. Texts of the gRPC library are matched too; if they change, more writes are in doubt, but none is
 * wrongly reported as refused.
 */
const isRefusal = (error: ServiceError): boolean => {
  switch (error.code) {
    case status.INVALID_ARGUMENT:
    case status.OUT_OF_RANGE:
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
    case status.UNIMPLEMENTED:
    case status.DATA_LOSS:
      return true;
    case status.RESOURCE_EXHAUSTED:
      return error.details.includes('etcdserver: too many requests') || isRequestTooLarge(error);
    default:
      return neverProposed.some((text) => error.details.includes(text));
  }
};

const neverProposed: readonly string[] = [
  // gRPC had no connection to send the call on.
  'No connection established',
  'Name resolution failed',
  'Waiting for LB pick',
  'Failed to start HTTP/2 stream',
  // RST_STREAM with REFUSED_STREAM, or a stream above the last one of a GOAWAY (RFC 9113 section 8.7).
  'Stream refused by server',
  'etcdserver: no leader',
  'etcdserver: not capable',
  'etcdserver: rpc not supported for learner',
  'raft proposal dropped',
];

/**
 * etcd is at its quota. The write may have been applied nevertheless: of the writes checked at apply, the one that
 * exceeds the quota is applied and still gets this error. Either way the write is over.
 */
export const isOutOfSpace = (error: unknown): boolean =>
  isServiceError(error) &&
  error.code === status.RESOURCE_EXHAUSTED &&
  error.details.includes('database space exceeded');

/** The StoreError of a failed write: `unknownOutcome` if it may have happened or may still happen. */
export const toWriteError = (error: ServiceError, endpoint: string): StoreError =>
  isRefusal(error)
    ? toStoreError(error, endpoint)
    : new StoreError('unknownOutcome', `etcd at ${endpoint}: ${reasonOf(error)}`, { cause: error });

/** The StoreError of a failed call. Defaults to `unavailable` if nothing more specific is known. */
export const toStoreError = (error: ServiceError, endpoint: string): StoreError => {
  const text = `etcd at ${endpoint}: ${reasonOf(error)}`;
  switch (error.code) {
    case status.OUT_OF_RANGE:
      if (error.details.includes('compacted')) return new StoreError('compacted', text, { cause: error });
      if (error.details.includes('future revision')) return new StoreError('futureRevision', text, { cause: error });
      break;
    case status.RESOURCE_EXHAUSTED:
      if (error.details.includes('database space exceeded')) return new StoreError('full', text, { cause: error });
      if (isRequestTooLarge(error)) return new StoreError('tooLarge', text, { cause: error });
      break;
    case status.INVALID_ARGUMENT:
      if (isRequestTooLarge(error)) return new StoreError('tooLarge', text, { cause: error });
      break;
    case status.DATA_LOSS:
      return new StoreError('corrupt', text, {
        cause: error,
        remedy: 'the data of that member is damaged: replace the member, or restore a snapshot of etcd',
      });
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
      return new StoreError('unavailable', `etcd at ${endpoint} refuses this client: ${reasonOf(error)}`, {
        cause: error,
      });
    default:
      break;
  }
  return new StoreError('unavailable', text, { cause: error });
};

/** Refused by etcd's own checks, or earlier by its gRPC server; both refuse before anything is written. */
const isRequestTooLarge = (error: ServiceError): boolean =>
  error.details.includes('request is too large') ||
  error.details.includes('too many operations in txn request') ||
  error.details.startsWith('grpc: received message larger than max');
