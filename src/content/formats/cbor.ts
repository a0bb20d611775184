import { parseCbor } from '../../codec/cbor/decode.ts';
import { encodeCbor, encodeElement } from '../../codec/cbor/encode.ts';
import { cborGate, cborTypes } from '../../codec/cbor/format.ts';
import { encodeCborList } from '../../codec/cbor/list.ts';
import type { Table, TableRow } from '../../codec/table.ts';
import { list, opt, type StructSchema, struct } from '../../schema/schema.ts';
import { cborItems, cborMessages } from './event-framing.ts';
import type { EncodeOptions, Format, ItemParts, Shown } from './format.ts';

/** CBOR (RFC 8949) as in KEP-4222: the fields of JSON, with bytes in the place of base64. */
export const cbor: Format = {
  name: 'cbor',
  gate: cborGate,
  mediaTypes: () => [
    { name: cborTypes.item, advertised: true },
    { name: cborTypes.sequence, advertised: true, streamsOnly: true },
  ],
  // Documents such as discovery are not offered in it, as in kube-apiserver 1.32.
  covers: (schema) => schema !== undefined,
  tables: true,
  isBinary: true,
  isStored: false,
  decode: (bytes, { elementsMax, schema }) => parseCbor(bytes, { elementsMax, schema }),
  encode: (shown, options) => encodeCbor(shown, schemaOf(shown, options)),
  list(parts) {
    const { elsewhere } = parts;
    return {
      type: 'pieces',
      pieces: encodeCborList(parts, (entry) => elsewhere(entry) ?? encodeItem(parts.shown(entry), parts)),
    };
  },
  item: (entry, parts) => encodeItem(parts.shown(entry), parts),
  watch: { stream: cborItems, messages: cborMessages, contentType: () => cborTypes.sequence },
};

function schemaOf(shown: Shown, options: EncodeOptions): StructSchema | undefined {
  if (!isTable(shown)) return options.schemaOf(shown.kind, shown.apiVersion);
  const [row] = shown.rows;
  return row && tableSchemas(row, options)?.table;
}

const isTable = (shown: Shown): shown is Table => shown.kind === 'Table';

function encodeItem(shown: ReturnType<ItemParts['shown']>, parts: ItemParts): Buffer {
  const schema = isRow(shown) ? tableSchemas(shown, parts)?.row : parts.schemaOf(parts.itemKind);
  return encodeElement(shown, schema);
}

const isRow = (shown: ReturnType<ItemParts['shown']>): shown is TableRow => !('kind' in shown);

interface TableSchemas {
  readonly row: StructSchema;
  readonly table: StructSchema;
}

/** By the schema of the objects in a table. */
const tables = new WeakMap<StructSchema, TableSchemas>();

/** Undefined if a row has no object, and so no bytes. */
function tableSchemas({ object }: TableRow, options: EncodeOptions): TableSchemas | undefined {
  if (object === null) return undefined;
  const schema = options.schemaOf(object.kind, object.apiVersion);
  const known = tables.get(schema);
  if (known) return known;
  const row = struct('', 'A row.', { object: opt(0, schema, 'The object.') });
  const made = { row, table: struct('', 'A table.', { rows: opt(0, list(row), 'Its rows.') }) };
  tables.set(schema, made);
  return made;
}
