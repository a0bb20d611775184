/** A value as it was before it was kept. */
interface ReadValue {
  readonly bytes: Uint8Array;
  /** It was kept in a form that `toStored` no longer makes: with an old key, in an old encoding. */
  readonly stale: boolean;
}

/**
 * What is done to values between the registry and the driver of a store: encryption at rest. It may tell by the key which
 * values are its business, and gives the others as they are. Both functions run on every value that is written or read:
 * synchronously, and without changing the bytes that they are given.
 */
export interface ValueTransformer {
  toStored(bytes: Uint8Array, key: string): Uint8Array;
  /** Throws where the value cannot be read, such as one of which the key is lost: it is taken for a corrupt one. */
  fromStored(bytes: Uint8Array, key: string): ReadValue;
}
