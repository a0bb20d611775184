import { type Changes, compareValues, withoutFields } from './compare-values.ts';
import { difference, type FieldSet, intersection, union } from './fields/field-set.ts';
import { type Owner, type Owners, setFields } from './owners.ts';
import { type ConvertObject, inVersion, type VersionedObject } from './versions.ts';

/** One write: the object before and after, in the version of the request. */
export interface Write {
  readonly old: VersionedObject;
  readonly now: VersionedObject;
  /** Fields that this endpoint does not write; their changes are not attributed to anyone. */
  readonly excluded: FieldSet;
  readonly convert: ConvertObject | undefined;
}

export const changesOf = ({ old, now, excluded }: Write): Changes | undefined =>
  withoutFields(compareValues(now.shape, old.value, now.value), excluded);

/** Fields with a new value. */
export const written = ({ added, modified }: Changes): FieldSet => union(added, modified);

export interface Overruled {
  readonly owner: Owner;
  /** Fields it owned that have another value now. */
  readonly fields: FieldSet;
}

/**
 * Removes the fields that a write changed from their owners: fields with another value, which become `overruled`, and
 * removed fields. Each owner is compared in its own version; owners in versions that are no longer served are dropped.
 * The owner `writer` is left unchanged.
 */
export function takeOver(
  owners: Owners,
  write: Write,
  changes: Changes,
  writer?: string,
): { readonly owners: Map<string, Owner>; readonly overruled: readonly Overruled[] } {
  const changesIn = compareByVersion(write, changes);
  const left = new Map(owners);
  const overruled: Overruled[] = [];
  for (const [id, owner] of owners) {
    if (id === writer) continue;
    const { served, changes: theirs } = changesIn(owner.apiVersion);
    if (!served) left.delete(id);
    if (!served || !theirs) continue;
    const fields = intersection(owner.fields, written(theirs));
    if (fields.size > 0) overruled.push({ owner, fields });
    setFields(left, owner, difference(difference(owner.fields, fields), theirs.removed));
  }
  return { owners: left, overruled };
}

interface VersionChanges {
  readonly served: boolean;
  readonly changes: Changes | undefined;
}

function compareByVersion(write: Write, own: Changes): (apiVersion: string) => VersionChanges {
  const known = new Map<string, VersionChanges>([[write.now.apiVersion, { served: true, changes: own }]]);
  return (apiVersion) => {
    const versionChanges = known.get(apiVersion) ?? compareIn(apiVersion, write);
    known.set(apiVersion, versionChanges);
    return versionChanges;
  };
}

function compareIn(apiVersion: string, write: Write): VersionChanges {
  const old = inVersion(write.old, apiVersion, write.convert);
  const now = inVersion(write.now, apiVersion, write.convert);
  if (!old || !now) return { served: false, changes: undefined };
  return { served: true, changes: changesOf({ ...write, old, now }) };
}
