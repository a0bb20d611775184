/** Bytes in memory that others may share: from `start` up to `end`. */
export interface ByteSpan {
  readonly memory: Buffer;
  readonly start: number;
  readonly end: number;
}

/** All of these bytes. */
export function spanOf(bytes: Uint8Array): ByteSpan {
  const memory = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { memory, start: 0, end: memory.length };
}
