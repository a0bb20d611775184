/** A version as semver.org defines it. What stands after `+` has no meaning for the order, and is left out. */
export interface SemanticVersion {
  readonly numbers: readonly bigint[];
  /** Parts after `-`; a version that has them is before the one that has none. */
  readonly prerelease: readonly string[];
}

const number = '(0|[1-9]\\d{0,19})';
const identifiers = '[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*';
const pattern = new RegExp(`^${number}\\.${number}\\.${number}(?:-(${identifiers}))?(?:\\+${identifiers})?$`);
const isNumber = (text: string): boolean => /^\d+$/.test(text);
/** 64 bits, without zeros in front. */
const isBadNumber = (text: string): boolean =>
  (text.length > 1 && text.startsWith('0')) || text.length > 20 || BigInt(text) >= 2n ** 64n;

/** Reads `1.2.3`, `1.2.3-alpha.1`. Undefined if the text is no version. */
export function readSemanticVersion(text: string): SemanticVersion | undefined {
  const [, major = '', minor = '', patch = '', rest] = pattern.exec(text) ?? [];
  if (major === '') return undefined;
  const prerelease = rest?.split('.') ?? [];
  if ([major, minor, patch, ...prerelease.filter(isNumber)].some(isBadNumber)) return undefined;
  return { numbers: [major, minor, patch].map(BigInt), prerelease };
}

/** Negative if `a` is before `b`. */
export function compareSemanticVersions(a: SemanticVersion, b: SemanticVersion): number {
  for (const [index, each] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (each !== other) return each < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return b.prerelease.length - a.prerelease.length;
  for (const [index, part] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length - b.prerelease.length;
}

/** Numbers come before texts. */
function compareParts(a: string, b: string): number {
  if (a === b) return 0;
  if (isNumber(a) && isNumber(b)) return BigInt(a) < BigInt(b) ? -1 : 1;
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  return a < b ? -1 : 1;
}
