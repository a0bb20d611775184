import { limits } from '../../base/limits.ts';
import type { TimeSlice } from '../../base/time/time-slice.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { encodeItem, listEnvelope, type TypeMeta } from './envelope.ts';

interface ListParts<T> {
  readonly listSchema: StructSchema;
  readonly itemSchema: StructSchema;
  /** `kind`, `apiVersion` and `metadata` of the list. */
  readonly head: TypeMeta & Readonly<Record<string, unknown>>;
  readonly items: Iterable<T>;
  /**
   * Returns the object of an item, or a promise of the item's bytes in the format of `encodeItem` if it is encoded
   * elsewhere. May be called twice per item and must then return an equal object.
   */
  readonly object: (item: T) => Readonly<Record<string, unknown>> | Promise<Uint8Array>;
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal;
  readonly slice: TimeSlice;
}

/**
 * Encodes a list in protobuf, in pieces (spec section 4.3). It starts with its length, so all items are encoded before the
 * first byte is sent. A long list is not kept in memory but encoded again while it is sent, which costs time instead of
 * memory. Rejects with the signal's reason.
 */
export async function encodeProtobufList<T>(parts: ListParts<T>): Promise<Iterable<Piece>> {
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

/** The field number of `items` in a list. */
export const itemsNumber = (listSchema: StructSchema): number => listSchema.fields['items']?.number ?? 0;

type Piece = Uint8Array | Promise<Uint8Array>;

function* pieces(head: Uint8Array, items: Iterable<Piece>, tail: Uint8Array): Generator<Piece, void> {
  yield head;
  yield* items;
  yield tail;
}
