/** Parts of CBOR (RFC 8949 section 3) that API objects use. */

/** Feature gate without which CBOR is unknown to clients. */
export const cborGate = 'CBORServingAndStorage';

/** An object, a sequence of watch events (RFC 8742), and a configuration to be applied. */
export const cborTypes = {
  item: 'application/cbor',
  sequence: 'application/cbor-seq',
  apply: 'application/apply-patch+cbor',
} as const;

export const majorType = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6, simple: 7 } as const;

/** Additional information of an initial byte: how long the argument is, and 31 for an indefinite length or a break. */
export const information = { direct: 23, oneByte: 24, twoBytes: 25, fourBytes: 26, eightBytes: 27, indefinite: 31 };

export const simpleValue = { false: 20, true: 21, null: 22 } as const;

/** Tags (RFC 8949 section 3.4) with a meaning to API servers. */
export const tagNumber = { dateTime: 0, epoch: 1, bignum: 2, negativeBignum: 3, base64url: 21, base64: 22, base16: 23 };

/** The tag 55799 (RFC 8949 section 3.4.6), which encloses every object that API servers write. */
export const selfDescribed: Uint8Array = Buffer.from([0xd9, 0xd9, 0xf7]);

/** Integers are those of Go's int64, as in published servers. */
export const integerMin: bigint = -(2n ** 63n);
export const integerMax: bigint = 2n ** 63n - 1n;
