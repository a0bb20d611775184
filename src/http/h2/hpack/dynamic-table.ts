import type { HeaderField } from '../header-field.ts';

/** The dynamic table, newest field first; the oldest are evicted when room is needed (RFC 7541 section 2.3.2). */
export class DynamicTable {
  /** A ring buffer; its length is a power of two. */
  #ring: (HeaderField | undefined)[] = new Array(16);
  #newest = 0;
  #count = 0;
  #size = 0;
  #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Size of all fields, in the units of RFC 7541 section 4.1. */
  get size(): number {
    return this.#size;
  }

  /** The field at a zero-based index. */
  at(index: number): HeaderField | undefined {
    return index < this.#count ? this.#ring[(this.#newest - index) & (this.#ring.length - 1)] : undefined;
  }

  /** A field larger than the table empties it (section 4.4). */
  add(field: HeaderField): void {
    this.#evict(this.#sizeMax - field.size);
    if (field.size > this.#sizeMax) return;
    if (this.#count === this.#ring.length) this.#grow();
    this.#newest = (this.#newest + 1) & (this.#ring.length - 1);
    this.#ring[this.#newest] = field;
    this.#count += 1;
    this.#size += field.size;
  }

  resize(sizeMax: number): void {
    this.#sizeMax = sizeMax;
    this.#evict(sizeMax);
  }

  #evict(sizeMax: number): void {
    while (this.#count > 0 && this.#size > sizeMax) {
      const oldest = (this.#newest - this.#count + 1) & (this.#ring.length - 1);
      this.#size -= this.#ring[oldest]?.size ?? 0;
      this.#ring[oldest] = undefined;
      this.#count -= 1;
    }
  }

  #grow(): void {
    const kept = Array.from({ length: this.#count }, (_, index) => this.at(this.#count - 1 - index));
    this.#ring = [...kept, ...new Array<undefined>(kept.length)];
    this.#newest = this.#count - 1;
  }
}
