import type { ValueTransformer } from '../value-transformer.ts';

/** What `versionedXor` adds to a value. */
export const xorAddedBytes = 1;

/**
 * Test support: a transformer that stands for encryption. Values are kept behind the number of a key, from 1 on, combined with it;
 * those of other keys than the last are stale, those of a key that is not among the known ones cannot be read.
 */
export const versionedXor = (last: number, known: readonly number[] = [last]): ValueTransformer => ({
  toStored(bytes) {
    const kept = new Uint8Array(bytes.length + xorAddedBytes);
    kept[0] = last;
    kept.set(combined(bytes, last), xorAddedBytes);
    return kept;
  },
  fromStored(bytes) {
    const [key = 0] = bytes;
    if (!known.includes(key)) throw new Error(`key ${key} is not known`);
    return { bytes: combined(bytes.subarray(1), key), stale: key !== last };
  },
});

const combined = (bytes: Uint8Array, key: number): Uint8Array => bytes.map((byte) => byte ^ key);
