import { type Schema, schemaOf } from '../schema.ts';

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
};

/** `.name` or `['name']`, with the escapes above in the latter. */
const step = /\.([^.[\]]+)|\['((?:[^'\\]|\\[abfnrtv'\\])*)'\]/y;

/** A field of an object, or a value of a map. */
interface Part<Place> {
  readonly at: Place;
  readonly isKey: boolean;
}

/**
 * The path that `fieldPath` of a rule leads to, as errors show it: `.spec['a']` is `spec.a`. Undefined if it is none, or leads
 * to a field that is not declared. Items of lists cannot be named.
 */
export function resolveFieldPath<Place>(
  fieldPath: string,
  root: Place,
  partOf: (place: Place, name: string) => Part<Place> | undefined,
): string | undefined {
  let [path, place, at] = ['', root, 0];
  while (at < fieldPath.length) {
    step.lastIndex = at;
    const [whole, plain, quoted] = step.exec(fieldPath) ?? [];
    if (whole === undefined) return undefined;
    const name = plain ?? (quoted ?? '').replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? '');
    const part = partOf(place, name);
    if (!part) return undefined;
    path += part.isKey ? `[${name}]` : `${path === '' ? '' : '.'}${name}`;
    place = part.at;
    at += whole.length;
  }
  return path;
}

export const ruleFieldPath = (fieldPath: string, schema: Schema): string | undefined =>
  resolveFieldPath(fieldPath, schema, partOf);

function partOf(schema: Schema, name: string): Part<Schema> | undefined {
  const object = schema.type === 'any' ? schema.object : schema;
  if (object?.type === 'map') return { at: object.values, isKey: true };
  const field = object?.type === 'struct' && Object.hasOwn(object.fields, name) ? object.fields[name] : undefined;
  return field && { at: schemaOf(field), isKey: false };
}
