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
  /** By text, or by the hash of its bytes: those of most are never made to a text. */
  readonly #made = new Map<string | number, Made<T>>();
  #found = 0;
  /** Strings that are left before it looks again. */
  #resting = 0;

  constructor(entriesMax: number, make: (text: string) => T) {
    this.#entriesMax = entriesMax;
    this.#make = make;
  }

  of(text: string): T {
    if (!this.#looks(text.length)) return this.#make(text);
    return this.#there(text)?.value ?? this.#keep(text, text);
  }

  /** The same for UTF-8: faster, as a text is only made of what is new. */
  ofBytes(bytes: Buffer, start: number, end: number): T {
    if (!this.#looks(end - start)) return this.#make(bytes.toString('utf8', start, end));
    const hash = hashOf(bytes, start, end);
    const made = this.#made.get(hash);
    if (made && isWritten(made.text, bytes, start, end)) {
      this.#found++;
      return made.value;
    }
    const text = bytes.toString('utf8', start, end);
    if (text.length === end - start) return this.#keep(hash, text);
    // Not ASCII, which is not compared byte by byte.
    return this.#there(text)?.value ?? this.#keep(text, text);
  }

  #looks(length: number): boolean {
    if (this.#resting === 0) return length <= textLengthMax;
    this.#resting--;
    return false;
  }

  #there(text: string): Made<T> | undefined {
    const made = this.#made.get(text);
    if (made) this.#found++;
    return made;
  }

  #keep(key: string | number, text: string): T {
    const value = this.#make(text);
    if (this.#made.size >= this.#entriesMax) this.#clear();
    else this.#made.set(key, { text, value });
    return value;
  }

  #clear(): void {
    if (this.#found < this.#entriesMax) this.#resting = restLength * this.#entriesMax;
    this.#found = 0;
    this.#made.clear();
  }
}

interface Made<T> {
  readonly text: string;
  readonly value: T;
}

/** FNV-1a, in 30 bits: keys that a map need not allocate. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return (hash ^ (hash >>> 15)) & 0x3fffffff;
}

/** True if the bytes are that text in ASCII. */
function isWritten(text: string, bytes: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) !== bytes[start + index]) return false;
  return true;
}
