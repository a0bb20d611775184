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
  /** Makes the object of an item; the same one each time it is asked. */
  readonly object: (item: T) => Readonly<Record<string, unknown>>;
  /** Ends the work when nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly slice: TimeSlice;
}

/**
 * A list in protobuf, in pieces (spec section 4.3). Its length stands at its beginning, so all items are encoded before
 * the first byte is sent; a long list is not kept meanwhile, but encoded again as it is sent, so that it costs time and
 * not memory. Rejects with the signal's reason.
 */
export async function encodeList<T>(parts: ListParts<T>): Promise<Iterable<Uint8Array>> {
  const { listSchema, itemSchema, head, object, signal, slice } = parts;
  const items = [...parts.items];
  const number = listSchema.fields['items']?.number ?? 0;
  const encode = (item: T): Buffer => encodeItem(number, itemSchema, object(item));
  let kept: Buffer[] | undefined = [];
  let bytes = 0;
  for (const item of items) {
    const encoded = encode(item);
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

function* pieces(head: Uint8Array, items: Iterable<Uint8Array>, tail: Uint8Array): Generator<Uint8Array, void> {
  yield head;
  yield* items;
  yield tail;
}
