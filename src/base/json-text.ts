/** `JSON.rawJSON` is not in TypeScript's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** JSON text of a value that may contain bigints; `indent` is the number of spaces per level, 0 for a single line. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    // JSON.stringify rejects bigints, which are rare; a replacer would slow down every value without one.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, replaceBigint, indent);
  }
}

const replaceBigint = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(String(value)) : value;
