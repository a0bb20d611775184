import { sortedNames, writeValue } from './encode.ts';
import { selfDescribed } from './format.ts';
import { CborWriter } from './writer.ts';

interface ListShape<T> {
  /** All fields except the items. */
  readonly head: Readonly<Record<string, unknown>>;
  /** Field that holds the items. */
  readonly field: string;
  readonly items: Iterable<T>;
  /** Number of the items. */
  readonly count: () => number;
}

type Piece = Uint8Array | Promise<Uint8Array>;

/**
 * Encodes a list in pieces, one per item, lazily. The array of the items starts with their number. `encode` returns the bytes of an item (`encodeElement`), or a promise of them if they are encoded elsewhere.
 */
export function* encodeCborList<T>(
  { head, field, items, count }: ListShape<T>,
  encode: (item: T) => Piece,
): Generator<Piece, void> {
  // Fields are in the order of their names, so some of the head stand behind the items.
  const names = sortedNames({ ...head, [field]: [] });
  const at = names.indexOf(field);
  const start = new CborWriter();
  start.raw(selfDescribed);
  start.map(names.length);
  writeFields(start, head, names.slice(0, at));
  start.text(field);
  start.array(count());
  yield start.finish();
  for (const item of items) yield encode(item);
  const end = new CborWriter();
  writeFields(end, head, names.slice(at + 1));
  yield end.finish();
}

function writeFields(writer: CborWriter, head: Readonly<Record<string, unknown>>, names: readonly string[]): void {
  for (const name of names) {
    writer.text(name);
    writeValue(writer, head[name]);
  }
}
