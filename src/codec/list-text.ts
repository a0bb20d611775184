import { stringifyJson } from './json.ts';
import { formatYaml } from './yaml-writer.ts';

/** A text format: how a value is written, and a list item by item, so that one of any length streams. */
export interface TextLayout {
  /** A whole value, with the end of its last line where the format has lines. */
  whole(value: unknown): string;
  /** All before the first item of the list `field`, the last of the fields of `head`. */
  open(head: object, field: string): string;
  item(value: unknown): string;
  readonly between: string;
  /** All behind the last item. */
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

/** JSON with each field on a line of its own, for people. */
export const prettyJson: TextLayout = {
  whole: (value) => `${stringifyJson(value, { pretty: true })}\n`,
  open: (head, field) => `${stringifyJson(head, { pretty: true }).slice(0, -2)},\n  ${JSON.stringify(field)}: [\n    `,
  // Texts have no line ends of their own in JSON.
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
 * The text of an object whose last field is a list, in pieces: one for each item, which is made when it is asked for.
 * `encode` gives what an item shows, or a promise of its text where somebody else makes that (`itemText`).
 */
export function* encodeList<T>(
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
