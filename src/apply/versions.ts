import type { StructSchema } from '../schema/schema.ts';
import type { FieldSet } from './field-set.ts';
import type { Owner, Owners } from './owners.ts';
import { reconcile } from './reconcile.ts';
import { objectShapeOf, type StructShape } from './shape.ts';

/** Gives an object, which says its apiVersion itself, in another version; undefined where that is no longer served. */
export type ConvertObject = (
  object: Readonly<Record<string, unknown>>,
  apiVersion: string,
) => { readonly schema: StructSchema; readonly object: Readonly<Record<string, unknown>> } | undefined;

/** An object in some version, with its shape there. */
export interface VersionedObject {
  readonly apiVersion: string;
  readonly shape: StructShape;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The object in that version; undefined where it is not served. Without a conversion there is only the object's own. */
export function inVersion(
  object: VersionedObject,
  apiVersion: string,
  convert: ConvertObject | undefined,
): VersionedObject | undefined {
  if (object.apiVersion === apiVersion) return object;
  const converted = convert?.(object.value, apiVersion);
  return converted && { apiVersion, shape: objectShapeOf(converted.schema), value: converted.object };
}

/** Owners as they read under the schemas of today. Those of versions that are no longer served stay as they are. */
export function reconcileOwners(owners: Owners, object: VersionedObject, convert: ConvertObject | undefined): Owners {
  const reconciled = new Map<string, Owner>();
  for (const [id, owner] of owners) {
    const versioned = inVersion(object, owner.apiVersion, convert);
    const fields: FieldSet = versioned ? reconcile(versioned.shape, owner.fields) : owner.fields;
    reconciled.set(id, fields === owner.fields ? owner : { ...owner, fields });
  }
  return reconciled;
}
