/** An object of a document whose entries are made as they are written. Values that are no `Entries` are JSON. */
export class Entries {
  readonly #entries: Iterable<readonly [name: string, value: unknown]>;

  constructor(entries: Iterable<readonly [name: string, value: unknown]>) {
    this.#entries = entries;
  }

  [Symbol.iterator](): Iterator<readonly [name: string, value: unknown]> {
    return this.#entries[Symbol.iterator]();
  }
}

/** The JSON text of a document, made piece by piece. The same text as `JSON.stringify` makes of a plain object. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (!(value instanceof Entries)) {
    yield JSON.stringify(value);
    return;
  }
  let before = '{';
  for (const [name, its] of value) {
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(its);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
