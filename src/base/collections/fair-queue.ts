/**
 * Items queued by key, served round-robin over the keys, whatever the number of their items; FIFO within a key. Any
 * item can be removed at any time.
 */
export class FairQueue<K, T> implements Iterable<T> {
  /** Only non-empty queues; the first key is served next. */
  readonly #queues = new Map<K, Set<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(key: K): number {
    return this.#queues.get(key)?.size ?? 0;
  }

  add(key: K, item: T): void {
    const queue = this.#queues.get(key);
    if (queue) queue.add(item);
    else this.#queues.set(key, new Set([item]));
    this.#size += 1;
  }

  delete(key: K, item: T): void {
    const queue = this.#queues.get(key);
    if (!queue?.delete(item)) return;
    this.#size -= 1;
    if (queue.size === 0) this.#queues.delete(key);
  }

  /** The next item. */
  first(): T | undefined {
    return this.#queues.values().next().value?.values().next().value;
  }

  /** Moves the first key behind the others. Returns that key. */
  passTurn(): K | undefined {
    const [first] = this.#queues;
    if (!first) return undefined;
    this.#queues.delete(first[0]);
    this.#queues.set(...first);
    return first[0];
  }

  *[Symbol.iterator](): Generator<T, void> {
    for (const queue of this.#queues.values()) yield* queue;
  }
}
