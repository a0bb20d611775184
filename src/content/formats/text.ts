import type { CacheEntry } from '../../cache/cache.ts';
import { encodeTextList, type TextLayout } from '../../codec/list-text.ts';
import type { ItemParts, ListParts, ListRepresentation, Shown } from './format.ts';

/** Common parts of the text formats: a layout writes a value as a whole or item by item. */

export const encodeText = (layout: TextLayout, shown: Shown): Buffer => Buffer.from(layout.whole(shown));

export const listText = (layout: TextLayout, parts: ListParts): ListRepresentation => {
  const { head, field, items, shown, elsewhere } = parts;
  return {
    type: 'pieces',
    pieces: encodeTextList(layout, head, field, items, (entry) => elsewhere(entry) ?? shown(entry)),
  };
};

export const itemText = (layout: TextLayout, entry: Pick<CacheEntry, 'bytes'>, { shown }: ItemParts): Uint8Array =>
  Buffer.from(layout.item(shown(entry)));
