/** Longer texts hardly repeat. */
const textLengthMax = 1_024;

/**
 * Gives equal texts one value, so that what thousands of objects repeat (namespaces, label sets) is held once. Forgets
 * all when it is full: what was given out stays valid, and is only not shared with what comes later. Long texts are not
 * kept, so that what it holds is bounded.
 */
export class Intern<T> {
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
