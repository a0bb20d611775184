/**
 * Memoizes a function of recurring texts. At `countMax` entries the oldest half is dropped; texts longer than
 * `lengthMax` are not cached. Clients that keep sending new texts therefore cost time, but no memory.
 */
export function boundedMemo<T>(
  make: (text: string) => T,
  { countMax, lengthMax }: { readonly countMax: number; readonly lengthMax: number },
): (text: string) => T {
  const made = new Map<string, T>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined) return known;
    const value = make(text);
    if (text.length > lengthMax) return value;
    if (made.size >= countMax) {
      let drop = countMax / 2;
      for (const key of made.keys()) {
        if (drop-- <= 0) break;
        made.delete(key);
      }
    }
    made.set(text, value);
    return value;
  };
}
