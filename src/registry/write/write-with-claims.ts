import type { BatchWrite, Committed, KeyStore, UpdateOptions } from '../../store/store.ts';

/** Writes an object, and with it what changes of its claims: all or nothing. Without claims it is an ordinary write. */
export async function writeWithClaims(
  store: KeyStore,
  write: BatchWrite,
  claims: readonly BatchWrite[] | undefined,
  options: UpdateOptions,
): Promise<Committed> {
  if (claims && claims.length > 0) {
    const [committed] = await store.batch([write, ...claims]);
    if (!committed) throw new Error('a batch of writes has no result');
    return committed;
  }
  switch (write.verb) {
    case 'create':
      return store.create(write.key, write.value, options);
    case 'update':
      return store.update(write.key, write.value, write.expected, options);
    case 'delete':
      return store.delete(write.key, write.expected, options);
  }
}
