import { malformedPatch } from './patch-error.ts';

/** What an object in a strategic merge patch says beside the fields that it sets. */
export interface PatchedObject {
  readonly fields: Map<string, unknown>;
  /** `$setElementOrder/<field>`: the order that the elements of a list shall have. */
  readonly orders: ReadonlyMap<string, readonly unknown[]>;
  /** `$deleteFromPrimitiveList/<field>`: scalars to be taken out of a list. */
  readonly deletions: ReadonlyMap<string, readonly unknown[]>;
  /** `$retainKeys`: the only fields that stay. */
  readonly retained: ReadonlySet<unknown> | undefined;
}

/** On objects and on elements of lists: what becomes of the whole of it. */
export const patchDirective = '$patch';
const retainKeys = '$retainKeys';
const setElementOrder = '$setElementOrder';
const deleteFromPrimitiveList = '$deleteFromPrimitiveList';

/** True for names that are directives of their own, beside `$patch`. */
export const isDirective = (name: string): boolean =>
  name.startsWith('$') &&
  (name === retainKeys || name.startsWith(setElementOrder) || name.startsWith(deleteFromPrimitiveList));

/** Takes an object of a patch apart, `$patch` left aside; `path` says where it stands, for errors. */
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

/** In the words of published servers. */
export const badFormat = (what: string, path: string): Error => malformedPatch(path, `invalid patch format of ${what}`);
