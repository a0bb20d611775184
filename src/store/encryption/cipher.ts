/** Encrypts values with one key. Both functions are synchronous and leave their input as it is. */
export interface Cipher {
  /** `at` is the key of the record, which a cipher with additional data authenticates. */
  seal(bytes: Uint8Array, at: string): Uint8Array;
  /** Throws an Undecryptable if these bytes were not sealed with this key, or for another record. */
  open(sealed: Uint8Array, at: string): Uint8Array;
}

/** A stored value that cannot be decrypted. Its message holds neither keys nor values. */
export class Undecryptable extends Error {
  constructor(why: string, cause?: unknown) {
    super(why, cause === undefined ? undefined : { cause });
    this.name = 'Undecryptable';
  }
}

/** For sealed bytes that are shorter than what every sealed value has. */
export const tooShort = (): Undecryptable => new Undecryptable('the stored data was shorter than the required size');
