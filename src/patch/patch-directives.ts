import { malformedPatch } from './patch-error.ts';

/** The fields and directives of an object in a strategic merge patch. */
export interface PatchedObject {
  readonly fields: Map<string, unknown>;
  /** `$setElementOrder/<field>`: the order of a list's elements. */
  readonly orders: ReadonlyMap<string, readonly unknown[]>;
  /** `$deleteFromPrimitiveList/<field>`: scalars to remove from a list. */
  readonly deletions: ReadonlyMap<string, readonly unknown[]>;
  /** `$retainKeys`: the only fields to keep. */
  readonly retained: ReadonlySet<unknown> | undefined;
}

/** Applies to a whole object or list element. */
export const patchDirective = '$patch';
const retainKeys = '$retainKeys';
const setElementOrder = '$setElementOrder';
const deleteFromPrimitiveList = '$deleteFromPrimitiveList';

/** True for directive fields other than `$patch`. */
export const isDirective = (name: string): boolean =>
  name.startsWith('$') &&
  (name === retainKeys || name.startsWith(setElementOrder) || name.startsWith(deleteFromPrimitiveList));

/** Splits a patch object into fields and directives other than `$patch`. `path` is its location, for errors. */
export function readDirectives(patch: Readonly<Record<string, unknown>>, path: () => string): PatchedObject {
  const fields = new Map<string, unknown>();
  const orders = new Map<string, readonly unknown[]>();
  const deletions = new Map<string, readonly unknown[]>();
  let retained: Set<unknown> | undefined;
  for (const [name, value] of Object.entries(patch)) {
    if (!isDirective(name)) fields.set(name, value);
    else if (name === retainKeys) retained = new Set(listOf(value, 'retainKeys', path));
    else if (name.startsWith(setElementOrder)) {
      orders.set(fieldOf(name, setElementOrder, path), listOf(value, 'setElementOrder list', path));
    } else {
      deletions.set(fieldOf(name, deleteFromPrimitiveList, path), listOf(value, 'primitive list', path));
    }
  }
  for (const [name, value] of fields) {
    if (retained && value !== null && !retained.has(name)) throw badFormat('retainKeys', path());
  }
  return { fields, orders, deletions, retained };
}

function listOf(value: unknown, what: string, path: () => string): readonly unknown[] {
  if (!Array.isArray(value)) throw badFormat(what, path());
  return value;
}

function fieldOf(name: string, directive: string, path: () => string): string {
  if (name[directive.length] === '/') return name.slice(directive.length + 1);
  throw badFormat(directive === setElementOrder ? 'setElementOrder list' : 'primitive list', path());
}

/** In kube-apiserver's words. */
export const badFormat = (what: string, path: string): Error => malformedPatch(path, `invalid patch format of ${what}`);
