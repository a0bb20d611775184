/**
 * The least key that sorts after all keys that start with `prefix`, in UTF-8 byte order: the prefix with its last code
 * point moved on by one. Undefined where no key sorts after them.
 */
export function prefixEnd(prefix: string): string | undefined {
  const points = [...prefix];
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0;
    if (point === 0x10ffff) continue;
    // Surrogates are no code points.
    return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1);
  }
  return undefined;
}
