/** A value as it was before `toStored`. */
export interface ReadValue {
  readonly bytes: Uint8Array;
  /** It was stored in a form that `toStored` no longer produces: with an old key, or in an old encoding. */
  readonly stale: boolean;
}

/**
 * Transforms values between the registry and the driver of a store: encryption at rest. It may select by key which
 * values it transforms, and returns the others unchanged. Both functions run on every value that is written or read,
 * without modifying their input.
 */
export interface ValueTransformer {
  /** Throws if no value can be written now; the write then fails with `unavailable`. */
  toStored(bytes: Uint8Array, key: string): Uint8Array;
  /**
   * Throws, or rejects, if the value cannot be read, for example because its key is lost: the value then counts as
   * corrupt. A promise only where somebody else must be asked for a key first.
   */
  fromStored(bytes: Uint8Array, key: string): ReadValue | Promise<ReadValue>;
  /** See `Store.formMayChange`. Default: it never does. */
  formMayChange?(key: string): boolean;
}
