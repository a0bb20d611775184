import type { TimeSlice } from '../../base/time/time-slice.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { EncodedAhead } from './encoded-ahead.ts';
import { encodeItem, itemLength, type ListEnvelope, listEnvelope, type TypeMeta } from './envelope.ts';

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
 * first byte is sent. What is not kept until then is encoded again while it is sent, which costs time instead of memory.
 * Rejects with the signal's reason. Who begins to read the pieces reads them to their end, or calls `return`.
 */
export async function encodeProtobufList<T>(parts: ListParts<T>): Promise<Iterable<Piece>> {
  const { listSchema, head } = parts;
  const items = [...parts.items];
  const ahead = new EncodedAhead();
  try {
    const envelope = listEnvelope(listSchema, head, await measure(items, ahead, parts));
    return pieces(items, ahead, parts, envelope);
  } catch (error) {
    ahead.giveUp();
    throw error;
  }
}

type EncodeParts<T> = Pick<ListParts<T>, 'listSchema' | 'itemSchema' | 'object'>;

/** The length of all items. */
async function measure<T>(items: readonly T[], ahead: EncodedAhead, parts: ListParts<T>): Promise<number> {
  const { itemSchema, object, signal, slice } = parts;
  const number = itemsNumber(parts.listSchema);
  let bytes = 0;
  for (const item of items) {
    const made = object(item);
    if (made instanceof Promise || ahead.keeps) {
      const encoded = made instanceof Promise ? await made : encodeItem(number, itemSchema, made);
      bytes += encoded.length;
      ahead.keep(encoded);
    } else bytes += itemLength(number, itemSchema, made);
    if (!slice.over) continue;
    await slice.next();
    signal.throwIfAborted();
  }
  return bytes;
}

function* pieces<T>(
  items: readonly T[],
  ahead: EncodedAhead,
  { listSchema, itemSchema, object }: EncodeParts<T>,
  { head, tail }: ListEnvelope,
): Generator<Piece, void> {
  const number = itemsNumber(listSchema);
  // Not here, as a generator that waits for its client may keep what it last had.
  const encode = (item: T): Piece => {
    const made = object(item);
    return made instanceof Promise ? made : encodeItem(number, itemSchema, made);
  };
  try {
    yield head;
    for (let index = 0; index < items.length; index++) yield ahead.take(index) ?? encode(items[index] as T);
    yield tail;
  } finally {
    ahead.giveUp();
  }
}

/** The field number of `items` in a list. */
export const itemsNumber = (listSchema: StructSchema): number => listSchema.fields['items']?.number ?? 0;

type Piece = Uint8Array | Promise<Uint8Array>;
