/** A JSON object whose entries are generated as they are written. */
export class Entries {
  readonly #entries: Iterable<readonly [name: string, value: unknown]>;

  constructor(entries: Iterable<readonly [name: string, value: unknown]>) {
    this.#entries = entries;
  }

  [Symbol.iterator](): Iterator<readonly [name: string, value: unknown]> {
    return this.#entries[Symbol.iterator]();
  }
}

/** The text that `JSON.stringify` returns for the value, with `Entries` as plain objects, in pieces. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (!(value instanceof Entries)) {
    yield JSON.stringify(value);
    return;
  }
  let before = '{';
  for (const [name, member] of value) {
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(member);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
