/**
 * Remembers what a function made of each text, for texts that come again and again. When `countMax` are held the oldest
 * half goes; texts longer than `lengthMax` are not kept. So clients that send ever new ones cost time, never memory.
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
