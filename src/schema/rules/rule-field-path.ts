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

/**
 * The path that `fieldPath` of a rule leads to, as errors show it: `.spec['a']` is `spec.a`. Undefined if it is none, or leads
 * to a field that the schema does not declare. Items of lists cannot be named.
 */
export function ruleFieldPath(fieldPath: string, schema: Schema): string | undefined {
  let [path, place, at]: [string, Schema | undefined, number] = ['', schema, 0];
  while (at < fieldPath.length) {
    step.lastIndex = at;
    const [whole, plain, quoted] = step.exec(fieldPath) ?? [];
    if (whole === undefined || !place) return undefined;
    const name = plain ?? (quoted ?? '').replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? '');
    const isKey = place.type === 'map';
    place = partOf(place, name);
    if (!place) return undefined;
    path += isKey ? `[${name}]` : `${path === '' ? '' : '.'}${name}`;
    at += whole.length;
  }
  return path;
}

function partOf(schema: Schema, name: string): Schema | undefined {
  if (schema.type === 'map') return schema.values;
  const struct = schema.type === 'any' ? schema.object : schema;
  if (struct?.type === 'map') return struct.values;
  const field = struct?.type === 'struct' && Object.hasOwn(struct.fields, name) ? struct.fields[name] : undefined;
  return field && schemaOf(field);
}
