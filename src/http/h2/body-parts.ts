/** Shorter parts are joined: a separate buffer costs a hundred bytes, and a client can send one byte at a time. */
const joinedBytesMax = 1_024;
const blockBytes = 4_096;

/** The parts of a request body that were received and not taken yet. */
export class BodyParts {
  #parts: Buffer[] = [];
  /** The last part, if it is a block that short parts are joined in. */
  #block: Buffer | undefined;
  #blockUsed = 0;

  add(part: Buffer): void {
    if (part.length === 0) return;
    // Most bodies have only one or two short parts: those are not copied.
    if (part.length >= joinedBytesMax || this.#parts.length < 2) {
      this.#endBlock();
      this.#parts.push(part);
      return;
    }
    if (this.#block && this.#blockUsed + part.length > blockBytes) this.#endBlock();
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes);
    this.#block.set(part, this.#blockUsed);
    this.#blockUsed += part.length;
  }

  #endBlock(): void {
    if (!this.#block) return;
    this.#parts.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = undefined;
    this.#blockUsed = 0;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0 && !this.#block;
  }

  /** Takes all parts. */
  take(): readonly Buffer[] {
    this.#endBlock();
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }
}
