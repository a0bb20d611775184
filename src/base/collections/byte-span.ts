/** A range of bytes in memory that may be shared: from `start` (inclusive) to `end` (exclusive). */
export interface ByteSpan {
  readonly memory: Buffer;
  readonly start: number;
  readonly end: number;
}

/** A Buffer view of the bytes; the argument itself if it is a Buffer. */
export const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** UTF-8 in memory of its own: a few bytes of Node's shared pool that stay in use would retain 64 KiB of it. */
export const ownText = (text: string): Buffer => asBuffer(new TextEncoder().encode(text));

/** All of the bytes. */
export function spanOf(bytes: Uint8Array): ByteSpan {
  const memory = asBuffer(bytes);
  return { memory, start: 0, end: memory.length };
}
