/** Encoded forms of one event, by their names. */
export interface Encodings {
  get(name: string): Buffer | undefined;
  set(name: string, encoded: Buffer): void;
}

/** What keeping a form takes beside its bytes. */
const overheadBytes = 128;

/**
 * Keeps what events were encoded to, under one bound for all: of more the oldest are forgotten, and encoded again if
 * somebody still asks for them. Watchers are told of an event within moments of each other, so that few do.
 */
export class EncodingMemo {
  readonly #bytesMax: number;
  /** `#held[#first]` is the oldest; what is before it was forgotten. */
  #held: { readonly forms: Map<string, Buffer>; readonly name: string; readonly bytes: number }[] = [];
  #first = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** For a new event. */
  ofEvent(): Encodings {
    const forms = new Map<string, Buffer>();
    return {
      get: (name) => forms.get(name),
      set: (name, encoded) => {
        forms.set(name, encoded);
        this.#keep({ forms, name, bytes: encoded.length + overheadBytes });
      },
    };
  }

  #keep(held: { readonly forms: Map<string, Buffer>; readonly name: string; readonly bytes: number }): void {
    this.#held.push(held);
    this.#bytes += held.bytes;
    while (this.#bytes > this.#bytesMax) {
      const oldest = this.#held[this.#first++];
      if (!oldest) break;
      oldest.forms.delete(oldest.name);
      this.#bytes -= oldest.bytes;
    }
    if (this.#first * 2 <= this.#held.length) return;
    this.#held = this.#held.slice(this.#first);
    this.#first = 0;
  }
}
