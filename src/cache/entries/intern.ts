/** Longer strings rarely repeat. */
const textLengthMax = 1_024;

/** How many strings are not looked for once few of the last ones were found, as multiples of `entriesMax`. */
const restLength = 16;

/**
 * Returns one shared value for equal strings, so that values repeated in thousands of objects (namespaces, label sets) are
 * stored once. Cleared when full: values already returned stay valid but are not shared with later ones. Rests for a while
 * if most were different, as addresses are. Long strings are not cached, which bounds its memory.
 */
export class Interner<T> {
  readonly #make: (text: string) => T;
  readonly #entriesMax: number;
  readonly #byText = new Map<string, T>();
  #found = 0;
  /** Strings that are left before it looks again. */
  #resting = 0;

  constructor(entriesMax: number, make: (text: string) => T) {
    this.#entriesMax = entriesMax;
    this.#make = make;
  }

  of(text: string): T {
    if (this.#resting > 0) {
      this.#resting--;
      return this.#make(text);
    }
    if (text.length > textLengthMax) return this.#make(text);
    const there = this.#byText.get(text);
    if (there !== undefined) {
      this.#found++;
      return there;
    }
    const made = this.#make(text);
    if (this.#byText.size >= this.#entriesMax) this.#clear();
    else this.#byText.set(text, made);
    return made;
  }

  #clear(): void {
    if (this.#found < this.#entriesMax) this.#resting = restLength * this.#entriesMax;
    this.#found = 0;
    this.#byText.clear();
  }
}
