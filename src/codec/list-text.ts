import { stringifyJson } from './json.ts';
import { formatYaml } from './yaml-writer.ts';

/** A text format, which can write a list item by item, so that a list of any length can be streamed. */
export interface TextLayout {
  /** A whole value, with a trailing newline. */
  whole(value: unknown): string;
  /** Everything before the first item of the list `field`, which follows the fields of `head`. */
  open(head: object, field: string): string;
  item(value: unknown): string;
  readonly between: string;
  /** Everything after the last item. */
  readonly close: string;
}

/** JSON on one line. */
export const compactJson: TextLayout = {
  whole: (value) => `${stringifyJson(value)}\n`,
  open: (head, field) => `${stringifyJson(head).slice(0, -1)},${JSON.stringify(field)}:[`,
  item: stringifyJson,
  between: ',',
  close: ']}\n',
};

/** Indented JSON (`?pretty`). */
export const prettyJson: TextLayout = {
  whole: (value) => `${stringifyJson(value, { pretty: true })}\n`,
  open: (head, field) => `${stringifyJson(head, { pretty: true }).slice(0, -2)},\n  ${JSON.stringify(field)}: [\n    `,
  // JSON strings contain no raw line breaks.
  item: (value) => stringifyJson(value, { pretty: true }).replaceAll('\n', '\n    '),
  between: ',\n    ',
  close: '\n  ]\n}\n',
};

export const yaml: TextLayout = {
  whole: formatYaml,
  open: (head, field) => `${formatYaml(head)}${field}:\n`,
  item: (value) => `- ${formatYaml(value, '  ')}`,
  between: '',
  close: '',
};

/**
 * Encodes an object whose last field is a list, in pieces, one per item, lazily. `encode` returns the value of an item, or
 * a promise of its text if that is encoded elsewhere (`itemText`).
 */
export function* encodeTextList<T>(
  layout: TextLayout,
  head: object,
  field: string,
  items: Iterable<T>,
  encode: (item: T) => unknown,
): Generator<string | Promise<Uint8Array>, void, undefined> {
  let before: string | undefined;
  for (const item of items) {
    const shown = encode(item);
    const start = before ?? layout.open(head, field);
    before = layout.between;
    if (shown instanceof Promise) {
      yield start;
      yield shown;
    } else yield start + layout.item(shown);
  }
  yield before === undefined ? layout.whole({ ...head, [field]: [] }) : layout.close;
}
