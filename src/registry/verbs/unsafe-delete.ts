import { toStatusError } from '../store-errors.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';

/**
 * Removes a stored value that cannot be decoded, without finalizers, preconditions, admission or a grace period.
 * Returns false if the object can be read or does not exist; an ordinary deletion follows.
 */
export async function removeCorrupt(parts: RegistryParts, request: VerbRequest): Promise<boolean> {
  const { served, info, user, auditId } = request;
  const key = served.objectKey(info.namespace, info.name);
  await served.collection.line.fresh(request.signal);
  const revision = served.collection.snapshot().corrupt.get(key);
  if (revision === undefined) return false;
  parts.logger.warn('a corrupt object is removed', { 'audit-ID': auditId, key, revision, user: user.username });
  try {
    request.beforeWrite();
    await parts.store.delete(key, revision);
  } catch (error) {
    throw toStatusError(error, served.name, info.name);
  }
  return true;
}
