/**
 * Flat binary messages between the store and its worker. A message is one ArrayBuffer, transferred to the other thread
 * without copying; cloning thousands of small arrays costs more than the disk does. The reader reads fields in the
 * order they were written. Numbers are float64, which holds every safe integer.
 */
export class Packer {
  #buffer: Buffer<ArrayBuffer>;
  #view: DataView;
  #length = 0;

  /** `sizeHint` avoids reallocation; any amount may be packed. */
  constructor(sizeHint = 256) {
    this.#buffer = Buffer.from(new ArrayBuffer(sizeHint));
    this.#view = new DataView(this.#buffer.buffer);
  }

  get length(): number {
    return this.#length;
  }

  number(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value);
    this.#length += 8;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(4 + value.length);
    this.#view.setUint32(this.#length, value.length);
    this.#buffer.set(value, this.#length + 4);
    this.#length += 4 + value.length;
  }

  /** Read back with `text`, or as its UTF-8 bytes with `bytes`. */
  text(value: string): void {
    this.#reserve(4 + value.length * 3);
    const written = this.#buffer.write(value, this.#length + 4, 'utf8');
    this.#view.setUint32(this.#length, written);
    this.#length += 4 + written;
  }

  /** The message, trimmed to what was packed. The packer must not be used afterwards. */
  finish(): ArrayBuffer {
    return this.#buffer.buffer.transferToFixedLength(this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = this.#buffer.buffer.transferToFixedLength(Math.max(needed, this.#buffer.length * 2));
    this.#buffer = Buffer.from(grown);
    this.#view = new DataView(grown);
  }
}

export class Unpacker<Memory extends ArrayBufferLike = ArrayBuffer> {
  readonly #memory: Memory;
  readonly #buffer: Buffer<Memory>;
  readonly #view: DataView;
  #position: number;

  constructor(message: Memory, position = 0) {
    this.#position = position;
    this.#memory = message;
    this.#buffer = Buffer.from(message) as Buffer<Memory>;
    this.#view = new DataView(message);
  }

  get position(): number {
    return this.#position;
  }

  get done(): boolean {
    return this.#position === this.#buffer.length;
  }

  number(): number {
    const value = this.#view.getFloat64(this.#position);
    this.#position += 8;
    return value;
  }

  /** A view on the message. */
  bytes(): Uint8Array<Memory> {
    const end = this.#end();
    const start = this.#position;
    this.#position = end;
    return new Uint8Array(this.#memory, start, end - start);
  }

  text(): string {
    const end = this.#end();
    const value = this.#buffer.toString('utf8', this.#position, end);
    this.#position = end;
    return value;
  }

  #end(): number {
    const length = this.#view.getUint32(this.#position);
    this.#position += 4;
    return this.#position + length;
  }
}
