import { limits } from '../base/limits.ts';
import { type BatchWrite, StoreError } from './store.ts';

/** Validates a batch independently of the store's state: throws `tooLarge`, or RangeError if a key occurs twice. */
export const checkBatch = (writes: readonly BatchWrite[]): void => {
  if (writes.length > limits.storeBatchWritesMax) {
    throw tooLarge(`a batch has at most ${limits.storeBatchWritesMax} writes, not ${writes.length}`);
  }
  const keys = new Set<string>();
  let bytes = 0;
  for (const write of writes) {
    if (keys.has(write.key)) throw new RangeError(`key ${write.key} comes twice in one batch`);
    keys.add(write.key);
    bytes += Buffer.byteLength(write.key) + (write.verb === 'delete' ? 0 : write.value.length);
  }
  if (bytes <= limits.storeBatchBytesMax) return;
  throw tooLarge(`a batch has at most ${limits.storeBatchBytesMax} bytes of keys and values, not ${bytes}`);
};

const tooLarge = (message: string): StoreError => new StoreError('tooLarge', message);
