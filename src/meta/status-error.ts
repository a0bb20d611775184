import { limits } from '../base/limits.ts';
import { describeFieldError, type FieldError } from './field-error.ts';

/** The closed list of Status reasons (design section 7) and their status codes. '' is published as Unknown, and not sent. */
const codes = {
  '': 500,
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServerTimeout: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type StatusReason = keyof typeof codes;

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource ('configmaps'), or the kind for invalid objects. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** The `v1` Status object sent to clients. */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  /** Always set on failures. */
  readonly code?: number;
}

/**
 * An error returned to the client as a Status. Everything in it may be shown to the client, except `cause`, which is
 * for the log.
 */
export class StatusError extends Error {
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: StatusDetails | undefined;
  /** Additional response headers: `Allow`, `WWW-Authenticate`. `Retry-After` is derived from the details. */
  readonly headers: Readonly<Record<string, string>>;
  /** For an expired list: the continue token for the rest of the list, at a newer resourceVersion. */
  readonly continue: string | undefined;

  constructor(
    reason: StatusReason,
    message: string,
    more: {
      readonly details?: StatusDetails;
      readonly headers?: Readonly<Record<string, string>>;
      readonly cause?: unknown;
      readonly code?: number;
      readonly continue?: string;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'StatusError';
    this.reason = reason;
    this.code = more.code ?? codes[reason];
    this.details = more.details;
    this.headers = more.headers ?? {};
    this.continue = more.continue;
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continue === undefined ? {} : { continue: this.continue },
      status: 'Failure',
      message: this.message,
      ...(this.reason !== '' && { reason: this.reason }),
      ...(this.details && { details: this.details }),
      code: this.code,
    };
  }
}

/**
 * Resource as named in messages: `configmaps`, `leases.coordination.orch.io`. `group` is the full name, '' for core.
 */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** `configmaps`, `leases.coordination.orch.io`. */
export const qualifiedResource = ({ group, resource }: ResourceName): string =>
  group === '' ? resource : `${resource}.${group}`;
const about = ({ group, resource }: ResourceName, name?: string): StatusDetails => ({
  ...(name !== undefined && name !== '' && { name }),
  ...(group !== '' && { group }),
  kind: resource,
});

export const badRequest = (message: string): StatusError => new StatusError('BadRequest', message);

export const notFound = (resource: ResourceName, name: string): StatusError =>
  new StatusError('NotFound', `${qualifiedResource(resource)} ${JSON.stringify(name)} not found`, {
    details: about(resource, name),
  });

/** The server cannot do this now; the client may retry. */
export const serviceUnavailable = (message: string, cause?: unknown): StatusError =>
  new StatusError('ServiceUnavailable', message, { details: { retryAfterSeconds: 1 }, cause });

/** For paths at which nothing is served. */
export const noSuchPath = (): StatusError =>
  new StatusError('NotFound', 'the server could not find the requested resource', { details: {} });

/** For paths at which nothing is served yet; published servers say the same while they start. */
export const notServedYet = (): StatusError =>
  serviceUnavailable('the request has been made before all known HTTP paths have been installed, please try again');

export const alreadyExists = (resource: ResourceName, name: string): StatusError =>
  new StatusError('AlreadyExists', `${qualifiedResource(resource)} ${JSON.stringify(name)} already exists`, {
    details: about(resource, name),
  });

/** The same while the object that is there is being deleted: the client may try again. */
export const existsWhileDeleted = (resource: ResourceName, name: string): StatusError =>
  new StatusError('AlreadyExists', `object is being deleted: ${alreadyExists(resource, name).message}`, {
    details: about(resource, name),
  });

export const conflict = (resource: ResourceName, name: string, why: string): StatusError =>
  new StatusError(
    'Conflict',
    `Operation cannot be fulfilled on ${qualifiedResource(resource)} ${JSON.stringify(name)}: ${why}`,
    {
      details: about(resource, name),
    },
  );

/** `name` is '' if the request names no object. */
export const forbiddenObject = (resource: ResourceName, name: string, why: string): StatusError => {
  const what = name === '' ? qualifiedResource(resource) : `${qualifiedResource(resource)} ${JSON.stringify(name)}`;
  return new StatusError('Forbidden', `${what} is forbidden: ${why}`, { details: about(resource, name) });
};

/** The message that clients expect for a stale resourceVersion. */
export const staleObject =
  'the object has been modified; please apply your changes to the latest version and try again';

/**
 * Causes are in the order of validation, as in kube-apiserver. An error that was found twice is shown once, and those after
 * `limits.findingsMax` are cut off, so that the response is bounded.
 */
export function invalidObject(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const causes = causesOf(errors);
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const title = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return new StatusError(
    'Invalid',
    `${title} ${JSON.stringify(name)} is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`,
    {
      details: {
        ...(name !== '' && { name }),
        ...(kind.group !== '' && { group: kind.group }),
        kind: kind.kind,
        causes,
      },
    },
  );
}

interface FieldCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

function causesOf(errors: readonly FieldError[]): FieldCause[] {
  const causes = new Map<string, FieldCause>();
  for (const error of errors) {
    if (causes.size === limits.findingsMax) break;
    const cause = { reason: error.type, message: describeFieldError(error), field: error.field };
    causes.set(JSON.stringify(cause), cause);
  }
  return [...causes.values()];
}

export const methodNotAllowed = (message: string, allow: readonly string[]): StatusError =>
  new StatusError('MethodNotAllowed', message, { details: {}, headers: { allow: allow.join(', ') } });

/** A body, the work that a request causes, or the resulting object exceeds a limit. */
export const entityTooLarge = (problem: string, more: { readonly cause?: unknown } = {}): StatusError =>
  new StatusError('RequestEntityTooLarge', `Request entity too large: ${problem}`, more);

/** The requested resourceVersion is older than the history: the client must list again (spec section 7, 410). */
export const expired = (message: string): StatusError => new StatusError('Expired', message);

/**
 * The resourceVersion of a chunked list is gone; `token` continues the list at the newest one. The message is
 * kube-apiserver's.
 */
export const expiredContinue = (token: string): StatusError =>
  new StatusError(
    'Expired',
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    { continue: token },
  );

/** A resourceVersion that the server has not reached (spec section 4.5). */
export const tooLargeResourceVersion = (wanted: number | bigint, current: number): StatusError =>
  new StatusError('Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    details: {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  });

const unknownOutcomeCause = 'UnknownOutcome';

/**
 * A write that may have been applied, or may still be; `why` tells what interrupted it. A blind retry may apply it
 * twice or undo changes that others made in the meantime.
 */
export const unknownOutcome = (why: string, cause?: unknown): StatusError =>
  new StatusError('Timeout', `${why}: the outcome is unknown; read before you try again`, {
    details: {
      causes: [{ reason: unknownOutcomeCause, message: 'the write may have been done' }],
      retryAfterSeconds: 1,
    },
    cause,
  });

/** Whether the error was created by `unknownOutcome`, possibly in another thread. */
export const isUnknownOutcome = ({ details }: StatusError): boolean =>
  details?.causes?.some(({ reason }) => reason === unknownOutcomeCause) ?? false;

/** Values that the server chooses ran out, or are taken, in a way that is no fault of a field. */
export const allocationFailed = (cause: Error): StatusError => internalFailure(cause.message, cause);

/** A failure that is not the client's, and of which it is told why, in kube-apiserver's form. */
export const internalFailure = (why: string, cause?: unknown): StatusError =>
  new StatusError('InternalError', `Internal error occurred: ${why}`, {
    cause,
    details: { causes: [{ message: why }] },
  });

export const internalError = (cause: unknown): StatusError =>
  new StatusError('InternalError', 'An internal error occurred; the server log has the details', { cause });
