/**
 * Deep equality that treats absent, null, '' and empty values as equal, since clients may send or omit empty fields.
 * False and 0 are values.
 */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  const [emptyA, emptyB] = [isEmpty(a), isEmpty(b)];
  if (emptyA || emptyB) return emptyA && emptyB;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((element, at) => sameContent(element, b[at]))
    );
  }
  return isObject(a) && isObject(b) && sameFields(a, b);
}

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (isObject(value) && Object.values(value).every(isEmpty) && (!Array.isArray(value) || value.length === 0));

const sameFields = (a: Fields, b: Fields): boolean =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => sameContent(own(a, name), own(b, name)));

const own = (fields: Fields, name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined);
