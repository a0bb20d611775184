import type { FieldError } from '../meta/field-error.ts';
import { invalid } from '../meta/field-error.ts';
import { invalidObject } from '../meta/status-error.ts';
import { booleanParameter } from '../request/request-info.ts';
import { isRecord } from '../schema/own-property.ts';
import { toStatusError } from './store-errors.ts';
import type { RegistryParts, VerbRequest } from './verb.ts';

const option = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** What cannot be combined with the option: nothing of it could be heeded for an object that cannot be read. */
const excluded = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'preconditions', 'propagationPolicy'] as const;

/**
 * Whether a deletion asks to remove the object even where it cannot be read (spec section 3.2). Without the gate the
 * option is not looked at. Throws Invalid for what may not stand beside it.
 */
export function asksUnsafeDelete(parts: RegistryParts, { body, info: { query, verb } }: VerbRequest): boolean {
  if (!parts.unsafeDeletion) return false;
  const sent = isRecord(body?.value) ? body.value : {};
  if (sent[option] !== true && booleanParameter(query, option) !== true) return false;
  const detail = `cannot be set together with ${option}`;
  const errors: FieldError[] = excluded
    .filter((name) => (sent[name] !== undefined && sent[name] !== null) || query.has(name))
    .map((name) => invalid(name, sent[name] ?? query.get(name), detail));
  if (verb === 'deletecollection') errors.push(invalid(option, true, 'is not allowed for a collection'));
  if (errors.length > 0) throw invalidObject({ group: parts.dialect.group('meta'), kind: 'DeleteOptions' }, '', errors);
  return true;
}

/**
 * Removes the stored value where it is no object that can be read, whatever it is; without finalizers, preconditions,
 * admission or a grace period. False where the object can be read, or is not there: then an ordinary deletion decides.
 */
export async function removeUnreadable(parts: RegistryParts, { served, info, user }: VerbRequest): Promise<boolean> {
  const key = served.objectKey(info.namespace, info.name);
  await parts.cache.fresh();
  const revision = served.collection.snapshot().unreadable.get(key);
  if (revision === undefined) return false;
  parts.logger.warn('an unreadable object is removed', { key, revision, user: user.username });
  try {
    await parts.store.delete(key, revision);
  } catch (error) {
    throw toStatusError(error, served.name, info.name);
  }
  return true;
}
