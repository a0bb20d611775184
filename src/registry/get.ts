import { notFound } from '../meta/status-error.ts';
import { getConsistency } from './list-options.ts';
import { awaitConsistency } from './read-consistency.ts';
import type { Reply } from './reply.ts';
import { toStatusError } from './store-errors.ts';
import { refuseUnreadable } from './unreadable.ts';
import type { RegistryParts, VerbRequest } from './verb.ts';

/** Reads one object, or a view of it: the answer is the bytes that the cache holds. */
export async function get(parts: RegistryParts, request: VerbRequest): Promise<Reply> {
  const { served, info } = request;
  try {
    await awaitConsistency(parts.cache, getConsistency(info.query), request.signal);
  } catch (error) {
    throw toStatusError(error, served.name, info.name);
  }
  const key = served.objectKey(info.namespace, info.name);
  const entry = served.collection.get(key);
  if (entry) return { type: 'object', status: 200, served, bytes: entry.bytes };
  refuseUnreadable(served.collection.snapshot(), key);
  throw notFound(served.name, info.name);
}
