import { boundedMemo } from '../../base/collections/bounded-memo.ts';
import { limits } from '../../base/limits.ts';
import { readJson } from '../../codec/json-reader.ts';
import { isRecord } from '../../schema/own-property.ts';
import { canonicalJson, compareText } from '../canonical-json.ts';

/**
 * One step of a field path, in its FieldsV1 form (KEP-555): a field or map key `f:replicas`, a list element by its keys
 * `k:{"name":"x","port":80}`, a set element by its value `v:"x"`, an element by its index `i:0`. The text is canonical,
 * so equal elements are equal strings.
 */
export type PathElement = `f:${string}` | `k:${string}` | `v:${string}` | `i:${string}`;

/** From the root of the object; the empty path is the object itself. */
export type FieldPath = readonly PathElement[];

export const fieldElement = (name: string): PathElement => `f:${name}`;
export const valueElement = (value: unknown): PathElement => `v:${canonicalJson(value)}`;

export const indexElement = (index: number): PathElement => `i:${index}`;

/** `keys` must be sorted by `compareText`. */
export function keyElement(keys: readonly string[], valueAt: (key: string, index: number) => unknown): PathElement {
  let text = '';
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    text += `${index === 0 ? '' : ','}${keyText(key)}:${canonicalJson(valueAt(key, index))}`;
  }
  return `k:{${text}}`;
}

/** Keys come from schemas, so there are few. */
const keyText = boundedMemo(canonicalJson, { countMax: 1_024, lengthMax: 64 });

export const isField = (element: PathElement): boolean => element.charCodeAt(0) === fieldMark;
/** The name of a field element. */
export const nameOf = (element: PathElement): string => element.slice(2);

const fieldMark = 'f'.charCodeAt(0);

/** An invalid path element; the message says why. */
export class PathElementError extends Error {}

/**
 * Parses a path element in any equivalent form. Undefined for an unknown kind of element, which is dropped as in
 * kube-apiserver. Throws PathElementError if the element is invalid in every version.
 */
export function readElement(text: string): PathElement | undefined {
  if (text.charCodeAt(1) !== colon)
    throw new PathElementError(`path element ${shown(text)} has no kind before a colon`);
  switch (text[0]) {
    case 'f':
      return text as PathElement;
    case 'k':
    case 'v':
      return readJsonElement(text as `k:${string}` | `v:${string}`);
    case 'i':
      if (!indexText.test(text)) throw new PathElementError(`path element ${shown(text)} is no index`);
      return `i:${Number(text.slice(2))}`;
    default:
      return undefined;
  }
}

const colon = ':'.charCodeAt(0);
const indexText = /^i:[+-]?\d{1,15}$/;
const shownLengthMax = 64;
const shown = (text: string): string => JSON.stringify(text.slice(0, shownLengthMax));

function readJsonElement(text: `k:${string}` | `v:${string}`): PathElement {
  const known = canonical.get(text);
  if (known !== undefined) return known;
  const value = jsonOf(text);
  if (text.startsWith('k') && !isRecord(value)) throw new PathElementError(`path element ${shown(text)} has no keys`);
  const element = `${text[0]}:${canonicalJson(value)}` as PathElement;
  remember(text, element);
  return element;
}

/** The value in a key or value element. */
function jsonOf(text: string): unknown {
  try {
    // Keeps integers that a number cannot represent.
    if (longNumber.test(text)) return readJson(text.slice(2), limits.depthMax).value;
    return JSON.parse(text.slice(2));
  } catch {
    throw new PathElementError(`path element ${shown(text)} is not JSON`);
  }
}

const longNumber = /\d{16}|\d[eE]/;

/**
 * List keys recur in every request, so their canonical form is cached. Cleared when full; keys in use return quickly.
 */
const canonical = new Map<string, PathElement>();

function remember(text: string, element: PathElement): void {
  if (text.length > rememberedLengthMax) return;
  if (canonical.size >= limits.pathElementsKept) canonical.clear();
  canonical.set(text, element);
}

const rememberedLengthMax = 256;

/** kube-apiserver's order: fields by name, then keys, values, indexes. */
export function sortElements(elements: readonly PathElement[]): readonly PathElement[] {
  if (elements.length < 2) return elements;
  if (elements.every(isField)) return isSorted(elements) ? elements : [...elements].sort(compareText);
  return elements
    .map(sortKey)
    .sort((a, b) => a.rank - b.rank || compareJson(a.value, b.value))
    .map(({ element }) => element);
}

interface SortKey {
  readonly element: PathElement;
  readonly rank: number;
  /** The value to compare. For keys: alternating names and values. */
  readonly value: unknown;
}

function sortKey(element: PathElement): SortKey {
  return isField(element) ? { element, rank: 0, value: nameOf(element) } : knownSortKey(element);
}

/** List elements recur in every write, and parsing them takes longer than sorting. */
const knownSortKey = boundedMemo(
  (text): SortKey => {
    const value = jsonOf(text as PathElement);
    return {
      element: text as PathElement,
      rank: ranks[text[0] ?? ''] ?? 0,
      value: text.startsWith('k') && isRecord(value) ? pairsOf(value) : value,
    };
  },
  { countMax: limits.pathElementsKept, lengthMax: rememberedLengthMax },
);

/** The usual case: a set decoded from an object whose writer sorted it. */
function isSorted(elements: readonly PathElement[]): boolean {
  for (let at = 1; at < elements.length; at++) {
    if (compareText(elements[at - 1] as PathElement, elements[at] as PathElement) > 0) return false;
  }
  return true;
}

const ranks: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/** kube-apiserver's order of JSON values of different types: numbers, strings, booleans, lists, maps, null. */
function compareJson(a: unknown, b: unknown): number {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA - rankB;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b);
  if (isRecord(a) && isRecord(b)) return compareLists(pairsOf(a), pairsOf(b));
  // Bigints and numbers are comparable.
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

function rankOf(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'bigint') return 0;
  if (typeof value === 'string') return 1;
  if (typeof value === 'boolean') return 2;
  if (Array.isArray(value)) return 3;
  return value === null ? 5 : 4;
}

/** Alternating names and values, sorted by name. */
const pairsOf = (record: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Object.keys(record)
    .sort(compareText)
    .flatMap((name) => [name, record[name]]);

function compareLists(a: readonly unknown[], b: readonly unknown[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareJson(a[i], b[i]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** True for a list element without a value for one of its keys. */
export function isKeyless(element: PathElement): boolean {
  if (!element.startsWith('k') || !element.includes(':null')) return false;
  const keys = jsonOf(element);
  return isRecord(keys) && Object.values(keys).includes(null);
}

/** `.spec.containers[name="x"].image`, as in conflicts and errors. */
export const describePath = (path: FieldPath): string => path.map(describeElement).join('');

export function describeElement(element: PathElement): string {
  if (isField(element)) return `.${nameOf(element)}`;
  const value = jsonOf(element);
  if (element.startsWith('v')) return `[=${canonicalJson(value)}]`;
  if (!isRecord(value)) return `[${value}]`;
  const keys = Object.keys(value).sort(compareText);
  return `[${keys.map((key) => `${key}=${canonicalJson(value[key])}`).join(',')}]`;
}
