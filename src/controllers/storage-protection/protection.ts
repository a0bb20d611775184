import { type ApiClient, hasReason } from '../../client/api-client.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/**
 * What is to be done about a protecting finalizer: `add` it to an object that was made without, `check` whether the object
 * that is to be deleted is in use, or nothing.
 */
export type ProtectionState = 'add' | 'check' | 'settled';

export function protectionState({ metadata }: ApiObject, finalizer: string): ProtectionState {
  const isProtected = metadata.finalizers?.includes(finalizer) ?? false;
  if (metadata.deletionTimestamp === undefined) return isProtected ? 'settled' : 'add';
  return isProtected ? 'check' : 'settled';
}

interface ProtectedObject {
  readonly client: ApiClient;
  readonly path: string;
  /** The object that was looked at; another one of that name is left alone. */
  readonly uid: string;
  readonly finalizer: string;
  readonly signal: AbortSignal;
}

/** Adds or removes the finalizer, if the object is still in the state. Rejects if it was changed meanwhile. */
export async function settleProtection(state: 'add' | 'check', object: ProtectedObject): Promise<void> {
  const { client, path, uid, finalizer, signal } = object;
  try {
    const found = await client.get(path, signal);
    if (found.metadata.uid !== uid || protectionState(found, finalizer) !== state) return;
    const others = (found.metadata.finalizers ?? []).filter((each) => each !== finalizer);
    const finalizers = state === 'add' ? [...others, finalizer] : others;
    await client.update(path, { ...found, metadata: { ...found.metadata, finalizers } }, signal);
  } catch (error) {
    if (!hasReason(error, 'NotFound')) throw error;
  }
}
