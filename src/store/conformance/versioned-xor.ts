import type { ValueTransformer } from '../value-transformer.ts';

/** Bytes that `versionedXor` adds to a value. */
export const xorAddedBytes = 1;

/**
 * Test support: a transformer that stands in for encryption. Values are XORed with the number of a key (from 1 on),
 * which is stored in front of them. Values of keys other than the last are stale; values of keys that are not in
 * `known` are unreadable.
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
