import { ConnectionError, errorCode, frameFlag, frameHeadBytes, frameType, windowMax } from './frames.ts';

/** What `next` has found: nothing as long as bytes are missing, a whole frame, or a part of a DATA frame. */
type Found = 'nothing' | 'frame' | 'data';

/**
 * Finds the frames in what a connection brings, however it is cut. DATA comes in the parts in which it arrives; every other
 * frame comes whole; padding is taken off. What was found stands in the fields until `next` is called again.
 */
export class FrameReader {
  readonly #payloadMax: number;
  type = 0;
  flags = 0;
  stream = 0;
  /** Bytes of the whole payload, padding included: what flow control counts. */
  length = 0;
  /** The payload, or the part of it, stands in `bytes` from `from` up to `to`. */
  bytes: Buffer = noBytes;
  from = 0;
  to = 0;
  /** Of the parts of a DATA frame. There is always one that is the first, and one that is the last. */
  first = false;
  last = false;
  #chunk: Buffer = noBytes;
  #at = 0;
  /** The beginning of a frame whose rest is still to come. */
  #held: Buffer = noBytes;
  #heldBytes = 0;
  #reading: 'head' | 'content' | 'padding' = 'head';
  /** Of a DATA frame: bytes still to come. */
  #content = 0;
  #padding = 0;
  /** No part of it was found yet. */
  #begun = false;

  constructor(payloadMax: number) {
    this.#payloadMax = payloadMax;
  }

  /** Adds what has come. All that came before must have been read: `next` has found nothing. */
  push(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#at = 0;
  }

  /** @throws ConnectionError for a frame that is longer than allowed, or padded with more than there is. */
  next(): Found {
    for (;;) {
      switch (this.#reading) {
        case 'content':
          return this.#takePart() ? 'data' : this.#nothing();
        case 'padding':
          if (!this.#skipPadding()) return this.#nothing();
          break;
        case 'head':
          if (!this.#peek(frameHeadBytes)) return this.#nothing();
          this.#readHead();
          if (this.type === frameType.data) {
            if (!this.#beginData()) return this.#nothing();
          } else return this.#takeFrame() ? 'frame' : this.#nothing();
      }
    }
  }

  /** What is not needed any more may be large. */
  #nothing(): Found {
    this.#chunk = noBytes;
    this.#at = 0;
    this.bytes = noBytes;
    return 'nothing';
  }

  #readHead(): void {
    const { bytes, from } = this;
    this.length = ((bytes[from] as number) << 16) | ((bytes[from + 1] as number) << 8) | (bytes[from + 2] as number);
    this.type = bytes[from + 3] as number;
    this.flags = bytes[from + 4] as number;
    this.stream = bytes.readUInt32BE(from + 5) & windowMax;
    if (this.length > this.#payloadMax) {
      throw new ConnectionError(errorCode.frameSizeError, `a frame of ${this.length} bytes is longer than allowed`);
    }
  }

  #takeFrame(): boolean {
    const bytes = frameHeadBytes + this.length;
    if (!this.#peek(bytes)) return false;
    this.#consume(bytes);
    this.from += frameHeadBytes;
    this.to = this.from + this.length;
    if (this.type === frameType.headers && this.flags & frameFlag.padded) {
      const padding = this.length > 0 ? (this.bytes[this.from] as number) : 0;
      this.from += 1;
      this.to -= padding;
      if (this.to < this.from) throw tooMuchPadding();
    }
    return true;
  }

  #beginData(): boolean {
    const isPadded = (this.flags & frameFlag.padded) !== 0;
    if (isPadded && this.length === 0) throw tooMuchPadding();
    const bytes = frameHeadBytes + (isPadded ? 1 : 0);
    if (!this.#peek(bytes)) return false;
    this.#padding = isPadded ? (this.bytes[this.from + frameHeadBytes] as number) : 0;
    this.#content = this.length - (isPadded ? 1 : 0) - this.#padding;
    if (this.#content < 0) throw tooMuchPadding();
    this.#consume(bytes);
    this.#begun = true;
    this.#reading = 'content';
    return true;
  }

  #takePart(): boolean {
    const there = this.#chunk.length - this.#at;
    if (there === 0 && this.#content > 0) return false;
    this.first = this.#begun;
    this.#begun = false;
    const taken = Math.min(there, this.#content);
    this.bytes = this.#chunk;
    this.from = this.#at;
    this.to = this.#at + taken;
    this.#at += taken;
    this.#content -= taken;
    this.last = this.#content === 0;
    if (this.last) this.#reading = this.#padding > 0 ? 'padding' : 'head';
    return true;
  }

  #skipPadding(): boolean {
    const skipped = Math.min(this.#chunk.length - this.#at, this.#padding);
    this.#at += skipped;
    this.#padding -= skipped;
    if (this.#padding > 0) return false;
    this.#reading = 'head';
    return true;
  }

  /** Has `bytes` in one piece from `from` on, and leaves them where they are; false where they have not all come. */
  #peek(bytes: number): boolean {
    const there = this.#chunk.length - this.#at;
    if (this.#heldBytes === 0 && there >= bytes) {
      this.bytes = this.#chunk;
      this.from = this.#at;
      return true;
    }
    const taken = Math.min(there, bytes - this.#heldBytes);
    if (taken > 0) this.#hold(taken, bytes);
    this.bytes = this.#held;
    this.from = 0;
    return this.#heldBytes >= bytes;
  }

  #hold(taken: number, room: number): void {
    if (this.#held.length < room) {
      const larger = Buffer.allocUnsafe(room);
      larger.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = larger;
    }
    this.#chunk.copy(this.#held, this.#heldBytes, this.#at, this.#at + taken);
    this.#heldBytes += taken;
    this.#at += taken;
  }

  /** Goes on behind what was peeked at last. */
  #consume(bytes: number): void {
    if (this.#heldBytes === 0) {
      this.#at += bytes;
      return;
    }
    this.#held = noBytes;
    this.#heldBytes = 0;
  }
}

const noBytes = Buffer.alloc(0);

const tooMuchPadding = (): ConnectionError =>
  new ConnectionError(errorCode.protocolError, 'a frame is padded with more than it holds');
