import { difference, type FieldSet, intersection, noFields, union } from './fields/field-set.ts';
import { fieldsOf } from './fields/fields-of.ts';
import { removeFields, withNamedFields } from './fields/remove-fields.ts';
import { fieldsByVersion, type Owner, type Owners } from './owners.ts';
import { type ConvertObject, inVersion, type VersionedObject } from './versions.ts';

/**
 * Removes the fields that an applier applied before, no longer applies, and that nobody else owns (spec section 4.7).
 * `last` is its previous entry; `owners` contains its new one. Unowned parts of removed fields, such as defaults, are
 * removed too.
 *
 * The fields to remove are computed in the version of `last`, those of other owners in their own versions.
 */
export function prune(
  merged: VersionedObject,
  last: Owner,
  owners: Owners,
  convert: ConvertObject | undefined,
): VersionedObject {
  const whole = inVersion(merged, last.apiVersion, convert);
  if (!whole) return merged;
  const lastFields = withNamedFields(whole.shape, last.fields);
  const owned = keepOwned(whole, without(whole, lastFields), owners, convert);
  const kept = owned && inVersion(owned, last.apiVersion, convert);
  if (!kept) return merged;
  const gone = intersection(difference(namedFieldsOf(whole), namedFieldsOf(kept)), lastFields);
  if (gone.size === 0) return merged;
  return inVersion(without(whole, gone), merged.apiVersion, convert) ?? merged;
}

/** `rest` plus the fields of `whole` that have owners. The caller restores the unowned ones. */
function keepOwned(
  whole: VersionedObject,
  rest: VersionedObject,
  owners: Owners,
  convert: ConvertObject | undefined,
): VersionedObject {
  const fields = fieldsByVersion(owners);
  // The version of the removed fields comes first: conversion to other versions may need these fields.
  const versions = new Set([whole.apiVersion, ...fields.keys()]);
  let kept = rest;
  for (const apiVersion of versions) {
    const [wholeThere, keptThere] = [inVersion(whole, apiVersion, convert), inVersion(kept, apiVersion, convert)];
    if (!wholeThere || !keptThere) continue;
    const wanted = withNamedFields(wholeThere.shape, fields.get(apiVersion) ?? noFields);
    kept = without(wholeThere, difference(namedFieldsOf(wholeThere), union(namedFieldsOf(keptThere), wanted)));
  }
  return kept;
}

const namedFieldsOf = ({ shape, value }: VersionedObject): FieldSet => withNamedFields(shape, fieldsOf(shape, value));

const without = (object: VersionedObject, fields: FieldSet): VersionedObject => ({
  ...object,
  value: removeFields(object.shape, object.value, fields) as Readonly<Record<string, unknown>>,
});
