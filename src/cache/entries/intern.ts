/** Longer strings rarely repeat. */
const textLengthMax = 1_024;

/**
 * Returns one shared value for equal strings, so that values repeated in thousands of objects (namespaces, label sets) are
 * stored once. Cleared when full: values already returned stay valid but are not shared with later ones. Long strings are not
 * cached, which bounds its memory.
 */
export class Interner<T> {
  readonly #make: (text: string) => T;
  readonly #entriesMax: number;
  readonly #byText = new Map<string, T>();

  constructor(entriesMax: number, make: (text: string) => T) {
    this.#entriesMax = entriesMax;
    this.#make = make;
  }

  of(text: string): T {
    if (text.length > textLengthMax) return this.#make(text);
    const there = this.#byText.get(text);
    if (there !== undefined) return there;
    const made = this.#make(text);
    if (this.#byText.size >= this.#entriesMax) this.#byText.clear();
    this.#byText.set(text, made);
    return made;
  }
}
