import { encodeObject, parseStored } from '../codec/json.ts';
import type { Kind } from '../kinds/kind.ts';
import { apiVersionOf, canonical } from '../kinds/stored-as.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { normalise } from '../schema/structural/normalise.ts';

/** Converts an object of a custom resource to a version of it. */
type Conversion = (object: ApiObject, apiVersion: string) => ApiObject;

/** Strategy `None`: the versions have the same fields. */
export const sameFields: Conversion = (object, apiVersion) => ({ ...object, apiVersion });

/**
 * The versions of a custom resource. Unlike those of built-in kinds each has a schema of its own: an object is stored in the
 * version that its apiVersion says, and written in the version of the request before it is converted to the stored one.
 */
export interface CustomVersions {
  /** The kind in which objects are stored first; then the other ones. */
  readonly kinds: readonly Kind[];
  readonly conversion: Conversion;
  /** Objects may have been stored in other versions, which the definition remembers. */
  readonly storedInOthers: boolean;
}

/** The object in the version of a kind, pruned by its schema. The same object if it is in that version. */
export function inVersion({ conversion }: CustomVersions, object: ApiObject, kind: Kind): ApiObject {
  const wanted = apiVersionOf(kind);
  return object.apiVersion === wanted ? object : canonical(kind, conversion(object, wanted));
}

/**
 * Brings a stored value of one of these kinds into the form that clients get: pruned and with the defaults of the schema in
 * which it is stored. Values in versions that are gone stay as they are.
 */
export const normaliser = (kinds: readonly Kind[]): ((value: Uint8Array) => Uint8Array) => {
  const byVersion = new Map(kinds.map((kind) => [apiVersionOf(kind), kind]));
  return (value) => {
    const object = parseStored(value as Buffer) as ApiObject;
    const schema = byVersion.get(object.apiVersion)?.schema;
    if (!schema) return value;
    const normal = normalise(schema, object);
    return normal.changed ? encodeObject(normal.value as ApiObject) : value;
  };
};
