import { createHash } from 'node:crypto';

/** Shorter parts are not worth a reference. */
const sharedCharsMin = 300;

interface SharedDocuments {
  /** The documents, with `{ same: <hash> }` in the place of what occurs more than once in any of them. */
  readonly documents: readonly unknown[];
  /** What occurs more than once, by its hash. It refers to others as the documents do. */
  readonly shared: Readonly<Record<string, unknown>>;
}

/** Writes each part of JSON documents once that stands in many places. */
export function withSharedParts(documents: readonly unknown[]): SharedDocuments {
  const counts = new Map<string, number>();
  for (const document of documents) count(document, counts);
  const shared = new Map<string, unknown>();
  const short = (value: unknown): unknown => {
    if (!isLarge(value)) return value;
    const text = JSON.stringify(value);
    if ((counts.get(text) ?? 0) < 2) return inside(value);
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    if (!shared.has(hash)) shared.set(hash, inside(value));
    return { same: hash };
  };
  const inside = (value: object): unknown =>
    Array.isArray(value)
      ? value.map(short)
      : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, short(member)]));
  return {
    documents: documents.map(short),
    shared: Object.fromEntries([...shared].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

const isLarge = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && JSON.stringify(value).length >= sharedCharsMin;

/** A part inside of another one that occurs again is counted once for each place where it stands. */
function count(value: unknown, counts: Map<string, number>): void {
  if (!isLarge(value)) return;
  const text = JSON.stringify(value);
  const known = counts.get(text) ?? 0;
  counts.set(text, known + 1);
  // What is inside was counted with the first one.
  if (known > 0) return;
  for (const member of Object.values(value)) count(member, counts);
}
