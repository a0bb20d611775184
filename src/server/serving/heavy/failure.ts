import { internalError, type StatusDetails, StatusError, type StatusReason } from '../../../meta/status-error.ts';
import { StoreError, type StoreErrorCode } from '../../../store/store.ts';

/** An error in transit between threads; structured clones lose the class. */
export type Failure = StatusFailure | StoreFailure | OtherFailure;

interface StatusFailure {
  readonly type: 'status';
  readonly reason: StatusReason;
  readonly message: string;
  readonly code: number;
  readonly details: StatusDetails | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly cause: string | undefined;
}

interface StoreFailure {
  readonly type: 'store';
  readonly code: StoreErrorCode;
  readonly message: string;
  readonly key: string | undefined;
  readonly revision: number | undefined;
}

/** An internal error. */
interface OtherFailure {
  readonly type: 'other';
  readonly message: string;
}

export function toFailure(error: unknown): Failure {
  if (error instanceof StatusError) {
    const { reason, message, code, details, headers, cause } = error;
    return {
      type: 'status',
      reason,
      message,
      code,
      details,
      headers,
      cause: cause === undefined ? undefined : describe(cause),
    };
  }
  if (error instanceof StoreError) {
    const { code, message, key, revision } = error;
    return { type: 'store', code, message, key, revision };
  }
  return { type: 'other', message: describe(error) };
}

const describe = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

export function fromFailure(failure: Failure): Error {
  switch (failure.type) {
    case 'status': {
      const { reason, message, code, details, headers, cause } = failure;
      return new StatusError(reason, message, {
        code,
        headers,
        ...(details && { details }),
        ...(cause !== undefined && { cause: new Error(cause) }),
      });
    }
    case 'store': {
      const { code, message, key, revision } = failure;
      return new StoreError(code, message, {
        ...(key !== undefined && { key }),
        ...(revision !== undefined && { revision }),
      });
    }
    case 'other':
      return internalError(new Error(failure.message));
  }
}
