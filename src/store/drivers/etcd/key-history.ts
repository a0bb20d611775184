import { type Revision, StoreError } from '../../store.ts';
import type { EtcdConnection } from './etcd-connection.ts';
import type { WatchEvent, WatchResponse } from './etcd-messages.ts';

/**
 * The changes of one key after a revision, oldest first, until the signal aborts. Throws `compacted` if etcd reports
 * that history is gone, and a ServiceError if the stream broke. A deletion at the very revision of a compaction may be
 * missing (see `EtcdWatch`): a caller that depends on it must verify afterwards that history still reaches back to
 * `after`.
 */
export async function* changesOfKey(
  connection: EtcdConnection,
  { key, after }: { readonly key: Uint8Array; readonly after: Revision },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void> {
  const watch = connection.openWatch('shared');
  const stop = (): void => watch.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    watch.call.write({ type: 'create', key, startRevision: after + 1 });
    const responses: AsyncIterable<WatchResponse> = watch.call;
    for await (const { events, compactRevision, canceled, cancelReason } of responses) {
      if (compactRevision > 0) {
        const message = `etcd has compacted its history before revision ${compactRevision}`;
        throw new StoreError('compacted', message, { revision: compactRevision });
      }
      if (canceled) throw new StoreError('unavailable', `etcd at ${watch.endpoint} ended the watch: ${cancelReason}`);
      yield* events;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    watch.close();
  }
}
