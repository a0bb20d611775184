import { equalSets, type FieldSet, noFields, union } from './fields/field-set.ts';

/** What one manager owns through one kind of write: one managedFields entry. */
export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** The version in which the fields are recorded. */
  readonly apiVersion: string;
  /** The subresource; '' for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds; undefined if the entry has none. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** A manager that writes; its fields are not yet known. */
export type Writer = Omit<Owner, 'time' | 'fields'>;

/** By `ownerId`. Owners without fields are not in it. */
export type Owners = ReadonlyMap<string, Owner>;

export const noOwners: Owners = new Map();

/**
 * Identifies an owner: a manager has separate entries for Apply and Update, for each subresource, and for each version
 * of its updates. An applier has one entry, whatever version it applies.
 */
export const ownerId = ({ manager, operation, apiVersion, subresource }: Writer): string =>
  [operation, operation === 'Update' ? apiVersion : '', subresource, manager].join('\0');

/** Sets the fields of an owner; removes an owner without fields. Keeps the owner object if the fields are equal. */
export function setFields(owners: Map<string, Owner>, owner: Owner, fields: FieldSet): void {
  if (fields.size === 0) owners.delete(ownerId(owner));
  else if (!equalSets(owner.fields, fields)) owners.set(ownerId(owner), { ...owner, fields });
}

/** The union of all owned fields, by version. */
export function fieldsByVersion(owners: Owners): Map<string, FieldSet> {
  const fields = new Map<string, FieldSet>();
  for (const owner of owners.values()) {
    fields.set(owner.apiVersion, union(fields.get(owner.apiVersion) ?? noFields, owner.fields));
  }
  return fields;
}
