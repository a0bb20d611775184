import {
  alreadyExists,
  conflict,
  entityTooLarge,
  expired,
  internalError,
  notFound,
  type ResourceName,
  serviceUnavailable,
  staleObject,
  tooLargeResourceVersion,
  unknownOutcome,
} from '../meta/status-error.ts';
import { StoreError } from '../store/store.ts';
import { EncryptionUnavailable } from '../store/transformed-store.ts';

/**
 * Maps store errors to API statuses; the only place that does. Returns other errors unchanged. `wanted` is the revision
 * that the client requested, if any.
 */
export function toStatusError(error: unknown, resource: ResourceName, name: string, wanted = 0): unknown {
  if (!(error instanceof StoreError)) return error;
  switch (error.code) {
    case 'notFound':
      return notFound(resource, name);
    case 'exists':
      return alreadyExists(resource, name);
    case 'conflict':
      return conflict(resource, name, staleObject);
    case 'compacted':
      return expired(`The resourceVersion for the provided request is too old: ${wanted}`);
    case 'futureRevision':
      return tooLargeResourceVersion(wanted, error.revision ?? 0);
    case 'unavailable':
      return serviceUnavailable(
        error instanceof EncryptionUnavailable
          ? 'the object cannot be encrypted now; try again'
          : 'the data store cannot be reached; try again',
        error,
      );
    case 'unknownOutcome':
      return unknownOutcome('the data store did not confirm the write', error);
    case 'full':
      return serviceUnavailable('the data store has no room left; the request was not carried out', error);
    case 'tooLarge':
      return entityTooLarge('the data store takes no object of this size', { cause: error });
    case 'corrupt':
      return internalError(error);
  }
}
