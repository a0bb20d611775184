/** `JSON.rawJSON` is not in TypeScript's library yet. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** JSON text of a value that may hold bigints; `indent` is spaces for each level, 0 for one line. */
export function jsonText(value: unknown, indent = 0): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    // The engine refuses bigints, which are rare; a replacer would cost every value without one.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, replaceBigint, indent);
  }
}

const replaceBigint = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? rawJSON(String(value)) : value;
