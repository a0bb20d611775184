import type { Kind } from './kind.ts';
import { isLazy } from './lazy-schema.ts';
import { renamedFields } from './stored-as.ts';

/** A kind without functions, which can be posted to another thread. */
export interface KindData {
  readonly kind: Omit<Kind, 'storedAs'>;
  /** For a version stored as another kind: its renamed fields, see `renamedFields`. */
  readonly storedNames?: Readonly<Record<string, string>>;
}

const known = new WeakMap<Kind, { readonly data: KindData | undefined }>();

/** Undefined if any part of the kind is a function. */
export function kindData(kind: Kind): KindData | undefined {
  let found = known.get(kind);
  if (!found) {
    found = { data: dataOf(kind) };
    known.set(kind, found);
  }
  return found.data;
}

function dataOf(whole: Kind): KindData | undefined {
  // Its schema is data, and read when the kind is posted: here it would be kept.
  if (isLazy(whole)) return { kind: whole };
  const { storedAs, ...kind } = whole;
  if (!isData(kind, new Set())) return undefined;
  if (!storedAs) return { kind };
  return storedAs.names && { kind, storedNames: storedAs.names };
}

function isData(value: unknown, seen: Set<object>): boolean {
  if (typeof value === 'function') return false;
  if (typeof value !== 'object' || value === null || seen.has(value)) return true;
  seen.add(value);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return false;
  return Object.values(value).every((each) => isData(each, seen));
}

/** Restores the kinds of a resource from their data, the stored one first. */
export function kindsOfData([first, ...others]: readonly KindData[]): readonly Kind[] {
  if (!first) return [];
  const stored = first.kind;
  const versions = others.map(({ kind, storedNames }) =>
    storedNames ? { ...kind, storedAs: renamedFields(stored, kind, storedNames) } : kind,
  );
  return [stored, ...versions];
}
