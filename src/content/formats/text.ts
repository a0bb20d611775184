import { encodeList, type TextLayout } from '../../codec/list-text.ts';
import type { ListParts, ListRepresentation, Shown } from './format.ts';

/** What formats that are text have in common: a layout says how a value is written, whole or item by item. */

export const encodeText = (layout: TextLayout, shown: Shown): Buffer => Buffer.from(layout.whole(shown));

export const listText = (layout: TextLayout, { head, field, items, shown }: ListParts): ListRepresentation => ({
  type: 'pieces',
  pieces: encodeList(layout, head, field, items, shown),
});
