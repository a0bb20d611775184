import { limits } from '../../base/limits.ts';

/** Lists that keep items, the one that began first in front, and the bytes of all. */
const holders = new Set<EncodedAhead>();
let heldBytes = 0;

/**
 * Items of a list that were encoded before they can be sent, so that they need not be encoded again. A list that is too long
 * keeps none; where all lists keep too much, those that began first give up theirs: their clients are the slowest to read, or
 * were told something else before they were sent anything.
 */
export class EncodedAhead {
  #items: (Uint8Array | undefined)[] | undefined = [];
  #bytes = 0;

  /** False once it keeps nothing any more. */
  get keeps(): boolean {
    return this.#items !== undefined;
  }

  /** Keeps the next item. */
  keep(item: Uint8Array): void {
    if (!this.#items) return;
    holders.add(this);
    this.#items.push(item);
    this.#count(item.length);
    if (this.#bytes > limits.protobufListKeptBytes) this.giveUp();
    for (const oldest of holders) {
      if (heldBytes <= limits.protobufListsKeptBytes) return;
      oldest.giveUp();
    }
  }

  /** The item of this index, which is kept no longer; undefined if it is not there. */
  take(index: number): Uint8Array | undefined {
    const item = this.#items?.[index];
    if (!this.#items || !item) return undefined;
    this.#items[index] = undefined;
    this.#count(-item.length);
    return item;
  }

  /** To be called when the list is over. */
  giveUp(): void {
    holders.delete(this);
    this.#items = undefined;
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    heldBytes += bytes;
  }
}
