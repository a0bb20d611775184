const lineEnd = '\r\n';

/** Bytes that many responses send alike. Their framing as a chunk of HTTP/1.1 (RFC 9112 section 7.1) is made once for all. */
export class SharedChunk {
  readonly bytes: Uint8Array;
  #chunked: Buffer | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The bytes as a whole chunk; they may not be empty, which would be the end of the body. */
  get chunked(): Buffer {
    this.#chunked ??= chunkOf(this.bytes);
    return this.#chunked;
  }
}

function chunkOf(bytes: Uint8Array): Buffer {
  const head = `${bytes.length.toString(16)}${lineEnd}`;
  const chunk = Buffer.allocUnsafe(head.length + bytes.length + lineEnd.length);
  chunk.write(head, 0, 'latin1');
  chunk.set(bytes, head.length);
  chunk.write(lineEnd, head.length + bytes.length, 'latin1');
  return chunk;
}
