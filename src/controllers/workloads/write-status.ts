import { isDeepStrictEqual } from 'node:util';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type ObjectKind, pathOf } from './owner.ts';

interface StatusWrite {
  readonly client: ApiClient;
  readonly kind: ObjectKind;
  readonly object: ApiObject;
  readonly status: object;
  /** The copy of the collection, which shows the status when the write is over: the next pass has no conflict with this one. */
  readonly informer: SharedInformer;
  readonly signal: AbortSignal;
}

/**
 * Writes the status if it differs. If the object was changed meanwhile, the status is put once into what it is now, as in
 * kube-controller-manager: it says by `observedGeneration` what it is about. Another conflict rejects. Gives the object as it is
 * then, undefined if it is gone or is another one of that name.
 */
export async function writeStatus(write: StatusWrite): Promise<ApiObject | undefined> {
  const { object, status, informer, signal } = write;
  if (isDeepStrictEqual(object['status'] ?? {}, withoutAbsent(status))) return object;
  const written = await put(write);
  await informer.reached(written?.metadata.resourceVersion, signal);
  return written;
}

async function put({ client, kind, object, status, signal }: StatusWrite): Promise<ApiObject | undefined> {
  const path = pathOf(kind, object, 'status');
  try {
    return await client.update<ApiObject>(path, { ...object, status }, signal);
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    if (!hasReason(error, 'Conflict')) throw error;
  }
  try {
    const now = await client.get<ApiObject>(pathOf(kind, object), signal);
    if (now.metadata.uid !== object.metadata.uid) return undefined;
    return await client.update<ApiObject>(path, { ...now, status }, signal);
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** As the object is after a way through JSON. */
const withoutAbsent = (status: object): object =>
  Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
