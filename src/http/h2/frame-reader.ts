import { ConnectionError, errorCode, frameFlag, frameHeadBytes, frameType, windowMax } from './frames.ts';

/** Result of `next`: nothing if bytes are missing, a whole frame, or a part of a DATA frame. */
type Found = 'nothing' | 'frame' | 'data';

/**
 * Parses frames from a byte stream, however it is split. DATA is returned in parts as it arrives; all other frames
 * are returned whole; padding is removed. The result is in the fields until the next call of `next`.
 */
export class FrameReader {
  readonly #payloadMax: number;
  type = 0;
  flags = 0;
  stream = 0;
  /** Length of the whole payload including padding, as flow control counts it. */
  length = 0;
  /** The payload, or part of it, is in `bytes` between `from` and `to`. */
  bytes: Buffer = noBytes;
  from = 0;
  to = 0;
  /** Position among the parts of a DATA frame. Every DATA frame has a first and a last part. */
  first = false;
  last = false;
  #chunk: Buffer = noBytes;
  #at = 0;
  /** The start of an incomplete frame. */
  #held: Buffer = noBytes;
  #heldBytes = 0;
  #reading: 'head' | 'content' | 'padding' = 'head';
  /** Remaining bytes of a DATA frame. */
  #content = 0;
  #padding = 0;
  /** The next part is the first. */
  #begun = false;

  constructor(payloadMax: number) {
    this.#payloadMax = payloadMax;
  }

  /** Adds input. All earlier input must have been read: `next` returned `nothing`. */
  push(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#at = 0;
  }

  /** @throws ConnectionError for a frame that is too long, or whose padding exceeds its payload. */
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

  /** Drops references to input buffers, which may be large. */
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

  /** Makes `bytes` available contiguously at `from` without consuming them; false if they have not all arrived. */
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

  /** Consumes the bytes last peeked. */
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
