type Entry = readonly [name: string, value: unknown];

/** A JSON object whose entries are generated as they are written. Undefined is a pause of the generator. */
export class Entries {
  readonly #entries: Iterable<Entry | undefined>;

  constructor(entries: Iterable<Entry | undefined>) {
    this.#entries = entries;
  }

  [Symbol.iterator](): Iterator<Entry | undefined> {
    return this.#entries[Symbol.iterator]();
  }
}

/** A value whose JSON is known. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The text that `JSON.stringify` returns for the value, with `Entries` as plain objects, in pieces. */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (!(value instanceof Entries)) {
    yield value instanceof JsonText ? value.text : JSON.stringify(value);
    return;
  }
  let before = '{';
  for (const entry of value) {
    if (!entry) {
      yield '';
      continue;
    }
    const [name, member] = entry;
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(member);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
