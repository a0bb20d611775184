import { equalSets, type FieldSet, noFields, union } from './field-set.ts';

/** What one manager owns, through one way of writing. */
export interface Owner {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  /** The version in which the fields are named. */
  readonly apiVersion: string;
  /** The subresource that was written through; '' for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds; undefined where an entry came without. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** A manager that writes: an owner before it is known what it owns. */
export type Writer = Omit<Owner, 'time' | 'fields'>;

/** By `ownerId`. Nobody in it owns nothing. */
export type Owners = ReadonlyMap<string, Owner>;

export const noOwners: Owners = new Map();

/**
 * What tells owners apart: the same manager owns apart what it applied and what it updated, through each subresource, and
 * its updates in each version. An applier has one set, whatever version it comes in.
 */
export const ownerId = ({ manager, operation, apiVersion, subresource }: Writer): string =>
  [operation, operation === 'Update' ? apiVersion : '', subresource, manager].join('\0');

/** Fields that a manager owns now; without fields it is no owner. Sets that stay the same leave the owner as it is. */
export function setFields(owners: Map<string, Owner>, owner: Owner, fields: FieldSet): void {
  if (fields.size === 0) owners.delete(ownerId(owner));
  else if (!equalSets(owner.fields, fields)) owners.set(ownerId(owner), { ...owner, fields });
}

/** All that anybody owns in each version. */
export function fieldsByVersion(owners: Owners): Map<string, FieldSet> {
  const fields = new Map<string, FieldSet>();
  for (const owner of owners.values()) {
    fields.set(owner.apiVersion, union(fields.get(owner.apiVersion) ?? noFields, owner.fields));
  }
  return fields;
}
