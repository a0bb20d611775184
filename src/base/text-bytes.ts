/**
 * Text as UTF-8, put together piece by piece in memory of its own, or behind what somebody else's has already. When there
 * is no room for it there, it moves to memory of its own.
 */
export class TextBytes {
  memory: Buffer = Buffer.alloc(0);
  /** Where the text begins and ends in the memory. */
  start = 0;
  end = 0;

  begin(memory: Buffer, at: number): void {
    this.memory = memory;
    this.start = at;
    this.end = at;
  }

  get length(): number {
    return this.end - this.start;
  }

  copy(): Buffer {
    return Buffer.from(this.memory.subarray(this.start, this.end));
  }

  addBytes(bytes: Uint8Array): void {
    const { length } = bytes;
    if (this.end + length > this.memory.length) this.#grow(length);
    this.memory.set(bytes, this.end);
    this.end += length;
  }

  addText(text: string): void {
    const bytesMax = utf8BytesMax * text.length;
    if (this.end + bytesMax > this.memory.length) this.#grow(bytesMax);
    this.end += this.memory.write(text, this.end);
  }

  /** As it stands between the quotes of a JSON string. False if it is not the same there, byte for character. */
  addJson(text: string): boolean {
    const { length } = text;
    if (this.end + length > this.memory.length) this.#grow(length);
    if (!this.replaceJson(this.end, text)) {
      this.addText(JSON.stringify(text).slice(1, -1));
      return false;
    }
    this.end += length;
    return true;
  }

  /** Overwrites what stands between the quotes of a JSON string. False if the new text is not the same there. */
  replaceJson(at: number, text: string): boolean {
    const { memory } = this;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code < space || code > tilde || code === quote || code === backslash) return false;
      memory[at + index] = code;
    }
    return true;
  }

  /** Decimal digits of an integer from 0 to 999,999. */
  addSixDigits(number: number): void {
    if (this.end + 6 > this.memory.length) this.#grow(6);
    this.replaceSixDigits(this.end, number);
    this.end += 6;
  }

  replaceSixDigits(at: number, number: number): void {
    const { memory } = this;
    let rest = number | 0;
    for (let place = at + 5; place >= at; place--) {
      const tenth = (rest / 10) | 0;
      memory[place] = zero + rest - 10 * tenth;
      rest = tenth;
    }
  }

  #grow(bytes: number): void {
    const { memory, start, end, length } = this;
    this.memory = Buffer.allocUnsafeSlow(2 * (length + bytes) + firstBytes);
    memory.copy(this.memory, 0, start, end);
    this.start = 0;
    this.end = length;
  }
}

const firstBytes = 1024;

/** Of a unit of UTF-16. */
const utf8BytesMax = 3;

const [space, quote, zero, backslash, tilde] = [0x20, 0x22, 0x30, 0x5c, 0x7e];
