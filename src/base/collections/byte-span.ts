/** A range of bytes in memory that may be shared: from `start` (inclusive) to `end` (exclusive). */
export interface ByteSpan {
  readonly memory: Buffer;
  readonly start: number;
  readonly end: number;
}

/** All of the bytes. */
export function spanOf(bytes: Uint8Array): ByteSpan {
  const memory = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { memory, start: 0, end: memory.length };
}
