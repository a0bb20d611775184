import type { StructSchema } from '../schema/schema.ts';
import type { FieldSet } from './fields/field-set.ts';
import { objectShapeOf, type StructShape } from './fields/shape.ts';
import type { Owner, Owners } from './owners.ts';
import { reconcile } from './reconcile.ts';

/**
 * Converts an object to another version; undefined if that is no longer served. The object contains its own apiVersion.
 */
export type ConvertObject = (
  object: Readonly<Record<string, unknown>>,
  apiVersion: string,
) => { readonly schema: StructSchema; readonly object: Readonly<Record<string, unknown>> } | undefined;

/** An object in some version, with its shape in that version. */
export interface VersionedObject {
  readonly apiVersion: string;
  readonly shape: StructShape;
  readonly value: Readonly<Record<string, unknown>>;
}

/**
 * The object in a version; undefined if that is not served. Without `convert` only the object's own version is
 * available.
 */
export function inVersion(
  object: VersionedObject,
  apiVersion: string,
  convert: ConvertObject | undefined,
): VersionedObject | undefined {
  if (object.apiVersion === apiVersion) return object;
  const converted = convert?.(object.value, apiVersion);
  return converted && { apiVersion, shape: objectShapeOf(converted.schema), value: converted.object };
}

/** Adapts owners to the current schemas. Owners in versions that are no longer served are unchanged. */
export function reconcileOwners(owners: Owners, object: VersionedObject, convert: ConvertObject | undefined): Owners {
  const reconciled = new Map<string, Owner>();
  for (const [id, owner] of owners) {
    const versioned = inVersion(object, owner.apiVersion, convert);
    const fields: FieldSet = versioned ? reconcile(versioned.shape, owner.fields) : owner.fields;
    reconciled.set(id, fields === owner.fields ? owner : { ...owner, fields });
  }
  return reconciled;
}
