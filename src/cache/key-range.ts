/**
 * The least key greater than all keys with this prefix, in UTF-8 byte order: the prefix with its last code point incremented.
 * Undefined if there is none.
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point === 0x10ffff) continue;
    // Skips the surrogates, which are not valid code points.
    return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
  }
  return undefined;
}
