interface Entry<Value> {
  readonly value: Value;
  /** Monotonic milliseconds; Infinity if the entry does not expire. */
  readonly until: number;
  /** Approximate size of the value in characters. */
  readonly weight: number;
}

/** FIFO cache with expiry, bounded in entries and total weight; the oldest entries are evicted first. */
export class BoundedEntries<Value> {
  readonly #max: { readonly entries: number; readonly weight: number };
  readonly #entries = new Map<string, Entry<Value>>();
  #weight = 0;

  constructor(max: { readonly entries: number; readonly weight: number }) {
    this.#max = max;
  }

  get(key: string, now: number): Entry<Value> | undefined {
    const entry = this.#entries.get(key);
    if (!entry || now < entry.until) return entry;
    this.#drop(key, entry);
    return undefined;
  }

  set(key: string, entry: Entry<Value>): void {
    const before = this.#entries.get(key);
    if (before) this.#drop(key, before);
    this.#entries.set(key, entry);
    this.#weight += entry.weight;
    for (const [oldestKey, oldest] of this.#entries) {
      if (this.#entries.size <= this.#max.entries && this.#weight <= this.#max.weight) return;
      this.#drop(oldestKey, oldest);
    }
  }

  #drop(key: string, entry: Entry<Value>): void {
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}
