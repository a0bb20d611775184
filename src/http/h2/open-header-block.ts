import { limits } from '../../base/limits.ts';
import { ConnectionError, errorCode } from './frames.ts';

interface FirstPart {
  readonly stream: number;
  /** HEADERS had END_STREAM. */
  readonly ended: boolean;
  /** Copied. */
  readonly part: Uint8Array;
  /** Maximum of a request's headers. */
  readonly headerBytesMax: number;
}

/** A header block whose CONTINUATION frames are still to come (section 6.10): only they may follow on the connection. */
export class OpenHeaderBlock {
  readonly stream: number;
  readonly ended: boolean;
  readonly #bytesMax: number;
  readonly #parts: Buffer[] = [];
  #bytes = 0;
  #sweeps = 0;

  constructor({ stream, ended, part, headerBytesMax }: FirstPart) {
    this.stream = stream;
    this.ended = ended;
    // Slightly oversized headers are read, so that the response can report it.
    this.#bytesMax = 2 * headerBytesMax;
    this.#keep(part);
  }

  /** The payload of a CONTINUATION frame, which is copied. */
  add(part: Uint8Array): void {
    if (this.#bytes + part.length > this.#bytesMax || this.#parts.length >= limits.headerFramesMax) {
      throw new ConnectionError(errorCode.enhanceYourCalm, 'headers are too large');
    }
    this.#keep(part);
  }

  #keep(part: Uint8Array): void {
    this.#bytes += part.length;
    this.#parts.push(Buffer.from(part));
  }

  /** The block, complete after the frame with END_HEADERS. */
  join(): Buffer {
    return Buffer.concat(this.#parts, this.#bytes);
  }

  /** Throws once the block has been open for longer than `msMax`. Called every `sweepMs`. */
  sweep(sweepMs: number, msMax: number): void {
    this.#sweeps += 1;
    if (this.#sweeps * sweepMs > msMax) {
      throw new ConnectionError(errorCode.enhanceYourCalm, 'headers were not ended');
    }
  }
}
