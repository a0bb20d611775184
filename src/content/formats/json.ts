import { parseJson } from '../../codec/json.ts';
import { compactJson, prettyJson } from '../../codec/list-text.ts';
import { jsonLines, jsonMessages } from './event-framing.ts';
import type { Format } from './format.ts';
import { encodeText, itemText, listText } from './text.ts';

/** JSON (RFC 8259): the default format, and the one that the cache stores. */
export const json: Format = {
  name: 'json',
  mediaTypes: () => [{ name: 'application/json', advertised: true }],
  covers: () => true,
  tables: true,
  isBinary: false,
  isStored: true,
  decode: (bytes) => parseJson(bytes),
  encode: (shown, { pretty }) => encodeText(pretty ? prettyJson : compactJson, shown),
  list(parts) {
    if (parts.pretty) return listText(prettyJson, parts);
    if (!parts.json) return listText(compactJson, parts);
    const head = compactJson.open(parts.head, parts.field);
    return { type: 'items', head, items: parts.json, tail: compactJson.close };
  },
  item: (entry, parts) => itemText(parts.pretty ? prettyJson : compactJson, entry, parts),
  watch: { stream: jsonLines, messages: jsonMessages, contentType: (mediaType) => mediaType },
};
