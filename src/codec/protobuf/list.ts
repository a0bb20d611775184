import { limits } from '../../base/limits.ts';
import type { TimeSlice } from '../../base/time-slice.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { encodeItem, listEnvelope, type TypeMeta } from './envelope.ts';

interface ListParts<T> {
  readonly listSchema: StructSchema;
  readonly itemSchema: StructSchema;
  /** `kind`, `apiVersion` and `metadata` of the list. */
  readonly head: TypeMeta & Readonly<Record<string, unknown>>;
  readonly items: Iterable<T>;
  /**
   * Makes the object of an item; the same one each time it is asked. Or promises the bytes of the item, as `encodeItem`
   * has them, where somebody else makes them.
   */
  readonly object: (item: T) => Readonly<Record<string, unknown>> | Promise<Uint8Array>;
  /** Ends the work when nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly slice: TimeSlice;
}

/**
 * A list in protobuf, in pieces (spec section 4.3). Its length stands at its beginning, so all items are encoded before
 * the first byte is sent; a long list is not kept meanwhile, but encoded again as it is sent, so that it costs time and
 * not memory. Rejects with the signal's reason.
 */
export async function encodeList<T>(parts: ListParts<T>): Promise<Iterable<Piece>> {
  const { listSchema, itemSchema, head, object, signal, slice } = parts;
  const items = [...parts.items];
  const number = itemsNumber(listSchema);
  const encode = (item: T): Piece => {
    const made = object(item);
    return made instanceof Promise ? made : encodeItem(number, itemSchema, made);
  };
  let kept: Uint8Array[] | undefined = [];
  let bytes = 0;
  for (const item of items) {
    const made = encode(item);
    const encoded = made instanceof Promise ? await made : made;
    bytes += encoded.length;
    if (bytes <= limits.protobufListKeptBytes) kept?.push(encoded);
    else kept = undefined;
    if (!slice.over) continue;
    await slice.next();
    signal.throwIfAborted();
  }
  const envelope = listEnvelope(listSchema, head, bytes);
  return pieces(envelope.head, kept ?? Iterator.from(items).map(encode), envelope.tail);
}

/** The number of the field that has the items of a list. */
export const itemsNumber = (listSchema: StructSchema): number => listSchema.fields['items']?.number ?? 0;

type Piece = Uint8Array | Promise<Uint8Array>;

function* pieces(head: Uint8Array, items: Iterable<Piece>, tail: Uint8Array): Generator<Piece, void> {
  yield head;
  yield* items;
  yield tail;
}
