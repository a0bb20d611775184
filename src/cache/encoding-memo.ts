/** Encoded forms of one event, by name. */
export interface Encodings {
  get(name: string): Buffer | undefined;
  set(name: string, encoded: Buffer): void;
}

/** Memory of a cached form in addition to its bytes. */
const overheadBytes = 128;

/**
 * The bytes in memory of their own: Node's pool, from which short buffers come, is shared by what is made at the same time, and
 * a few bytes of it that are kept would retain all of it, 64 KiB.
 */
function inOwnMemory(encoded: Buffer): Buffer {
  if (encoded.buffer.byteLength === encoded.length) return encoded;
  const own = Buffer.allocUnsafeSlow(encoded.length);
  own.set(encoded);
  return own;
}

/**
 * Caches the encoded forms of events under one shared byte limit. The oldest are evicted and encoded again on demand, which is
 * rare: the watchers of an event receive it within moments of each other.
 */
export class EncodingMemo {
  readonly #bytesMax: number;
  /** `#held[#first]` is the oldest; those before it were evicted. */
  #held: { readonly forms: Map<string, Buffer>; readonly name: string; readonly bytes: number }[] = [];
  #first = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Encodings for a new event. */
  forEvent(): Encodings {
    const forms = new Map<string, Buffer>();
    return {
      get: (name) => forms.get(name),
      set: (name, encoded) => {
        forms.set(name, inOwnMemory(encoded));
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
