import type { ApiObject } from '../meta/api-object.ts';
import { decode } from '../schema/decode.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { GroupVersionKind, Kind, StoredAs } from './kind.ts';

/** `v1`, `coordination.orch.io/v1`. */
export const apiVersionOf = ({ group, version }: Pick<GroupVersionKind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/**
 * Conversion of a version that differs from the stored form only in names of top-level fields. `names` maps each name in
 * this version to the stored one. Lossless in both directions.
 */
export function renamedFields(
  stored: Kind,
  version: GroupVersionKind,
  names: Readonly<Record<string, string>>,
): StoredAs {
  const back = Object.fromEntries(Object.entries(names).map(([here, there]) => [there, here]));
  return {
    kind: stored,
    names,
    toStored: (object) => renamed(object, names, stored),
    fromStored: (object) => renamed(object, back, version),
    storedLabel: (label) => renamedPath(label, names),
    versionPath: (path) => renamedPath(path, back),
  };
}

/**
 * Normalizes a converted object by its schema: field order, and presence of empty fields.
 */
export const canonical = ({ schema }: { readonly schema: StructSchema }, converted: ApiObject): ApiObject =>
  decode(schema, converted).value as unknown as ApiObject;

function renamed(object: ApiObject, names: Readonly<Record<string, string>>, form: GroupVersionKind): ApiObject {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(object)) result[names[name] ?? name] = value;
  return { ...(result as unknown as ApiObject), kind: form.kind, apiVersion: apiVersionOf(form) };
}

const renamedPath = (path: string, names: Readonly<Record<string, string>>): string =>
  path.replace(/^[^.[]+/, (name) => (Object.hasOwn(names, name) ? (names[name] ?? name) : name));
