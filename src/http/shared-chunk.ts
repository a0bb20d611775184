const lineEnd = '\r\n';

/** Bytes that many responses send. Their framing as an HTTP/1.1 chunk (RFC 9112 section 7.1) is built once for all. */
export class SharedChunk {
  readonly bytes: Uint8Array;
  #chunked: Buffer | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The bytes as a complete chunk. They must not be empty, which would end the body. */
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
