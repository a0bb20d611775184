import { decodeMessage } from '../../codec/protobuf/decode.ts';
import { encodeEnvelope, encodeItem, openEnvelope } from '../../codec/protobuf/envelope.ts';
import { encodeProtobufList, itemsNumber } from '../../codec/protobuf/list.ts';
import { hasMessage } from '../../codec/protobuf/message.ts';
import { dialects } from '../../dialect/dialects.ts';
import { protobufFrames, protobufMessages } from './event-framing.ts';
import type { Format } from './format.ts';

/** Protobuf in an envelope that states the type (spec section 4.3), for kinds whose fields have numbers. */
export const protobuf: Format = {
  name: 'protobuf',
  // Also accepts the media types that clients of the other dialects have compiled in.
  mediaTypes: ({ protobufMediaType: own }) => [
    { name: own, advertised: true },
    ...Object.values(dialects)
      .filter(({ protobufMediaType }) => protobufMediaType !== own)
      .map(({ protobufMediaType }) => ({ name: protobufMediaType, advertised: false })),
  ],
  covers: (schema) => schema !== undefined && hasMessage(schema),
  tables: false,
  isBinary: true,
  isStored: false,
  decode(bytes, expected) {
    const { apiVersion, kind, raw } = openEnvelope(bytes);
    // An object of another kind is not decoded: the registry rejects it by its kind.
    if (kind !== '' && kind !== expected.kind) return { value: { apiVersion, kind }, duplicates: [] };
    return { value: { apiVersion, kind, ...decodeMessage(expected.schema, raw) }, duplicates: [] };
  },
  encode: (shown, { schemaOf }) => encodeEnvelope(schemaOf(shown.kind, shown.apiVersion), { ...shown }),
  // The length is computed first, since it precedes the content.
  async list({ head, items, itemKind, shown, elsewhere, schemaOf, signal, slice }) {
    const pieces = await encodeProtobufList({
      listSchema: schemaOf(head.kind, head.apiVersion),
      itemSchema: schemaOf(itemKind),
      head,
      items,
      object: (entry) => elsewhere(entry) ?? { ...shown(entry) },
      signal,
      slice,
    });
    return { type: 'pieces', pieces };
  },
  item: (entry, { head, itemKind, shown, schemaOf }) =>
    encodeItem(itemsNumber(schemaOf(head.kind, head.apiVersion)), schemaOf(itemKind), { ...shown(entry) }),
  watch: {
    stream: protobufFrames,
    messages: protobufMessages,
    contentType: (mediaType) => `${mediaType};stream=watch`,
  },
};
