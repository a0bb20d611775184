import { isDeepStrictEqual } from 'node:util';
import type { ApiObject } from './api-object.ts';

/**
 * Whether an update changes at most finalizers and owner references. Controllers without permissions of their own must be
 * able to remove these, so that objects can be deleted.
 */
export const changesNoMoreThanOwners = (object: ApiObject, old: ApiObject): boolean =>
  isDeepStrictEqual(withoutOwners(object), withoutOwners(old));

function withoutOwners({ metadata, ...rest }: ApiObject): unknown {
  const {
    ownerReferences: _owners,
    finalizers: _finalizers,
    managedFields: _managers,
    resourceVersion: _version,
    ...kept
  } = metadata;
  return { ...rest, metadata: kept };
}
