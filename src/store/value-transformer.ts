/** A value as it was before `toStored`. */
interface ReadValue {
  readonly bytes: Uint8Array;
  /** It was stored in a form that `toStored` no longer produces: with an old key, or in an old encoding. */
  readonly stale: boolean;
}

/**
 * Transforms values between the registry and the driver of a store: encryption at rest. It may select by key which
 * values it transforms, and returns the others unchanged. Both functions run on every value that is written or read:
 * synchronously, and without modifying their input.
 */
export interface ValueTransformer {
  toStored(bytes: Uint8Array, key: string): Uint8Array;
  /** Throws if the value cannot be read, for example because its key is lost: the value then counts as corrupt. */
  fromStored(bytes: Uint8Array, key: string): ReadValue;
}
