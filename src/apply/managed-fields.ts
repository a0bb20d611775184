import type { ManagedFieldsEntry } from '../meta/api-object.ts';
import { compareText } from './canonical-json.ts';
import { PathElementError } from './fields/field-path.ts';
import type { FieldSet } from './fields/field-set.ts';
import { decodeFields, encodeFields, namesKeyless } from './fields/fields-v1.ts';
import { type Owner, type Owners, ownerId } from './owners.ts';

/**
 * Decodes `metadata.managedFields`. Undefined if any entry is invalid: as in kube-apiserver, the whole list is then
 * ignored. The last of several entries for one owner counts; entries without fields are dropped. `stored` entries are
 * in this server's own encoding, which is reused.
 */
export function decodeOwners(entries: readonly ManagedFieldsEntry[], source: 'sent' | 'stored'): Owners | undefined {
  const owners = new Map<string, Owner>();
  for (const entry of entries) {
    const owner = decodeOwner(entry);
    if (!owner) return undefined;
    const id = ownerId(owner);
    owners.delete(id);
    if (owner.fields.size === 0) continue;
    owners.set(id, owner);
    if (source === 'stored' && entry.fieldsV1) written.set(owner.fields, entry.fieldsV1);
  }
  return owners;
}

function decodeOwner(entry: ManagedFieldsEntry): Owner | undefined {
  const { manager = '', operation, apiVersion = '', time, fieldsType, fieldsV1 = {}, subresource = '' } = entry;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (apiVersion === '' || fieldsType !== 'FieldsV1') return undefined;
  try {
    return { manager, operation, apiVersion, subresource, time, fields: decodeFields(fieldsV1) };
  } catch (error) {
    if (error instanceof PathElementError) return undefined;
    throw error;
  }
}

/** The stored encoding of decoded sets. */
const written = new WeakMap<FieldSet, Record<string, unknown>>();

/**
 * Encodes `metadata.managedFields` in kube-apiserver's order: operation, time, manager, version, subresource. Undefined
 * if there are no owners. Reuses the encoding of unchanged stored entries.
 */
export function encodeOwners(owners: Owners): ManagedFieldsEntry[] | undefined {
  if (owners.size === 0) return undefined;
  return [...owners.values()].sort(compareOwners).map(encodeOwner);
}

function compareOwners(a: Owner, b: Owner): number {
  return (
    compareText(a.operation, b.operation) ||
    // Canonical times sort as text.
    compareText(a.time ?? '', b.time ?? '') ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

/**
 * True if an owner came to own a list element that lacks a key. As in kube-apiserver, the fields of such an object cannot be
 * told apart, so nobody's are tracked.
 */
export const ownKeyless = (owners: Owners): boolean =>
  [...owners.values()].some(({ fields }) => !written.has(fields) && namesKeyless(fields));

const encodeOwner = ({ manager, operation, apiVersion, time, fields, subresource }: Owner): ManagedFieldsEntry => ({
  ...(manager !== '' && { manager }),
  operation,
  apiVersion,
  ...(time !== undefined && { time }),
  fieldsType: 'FieldsV1',
  fieldsV1: written.get(fields) ?? encodeFields(fields),
  ...(subresource !== '' && { subresource }),
});

/** A list of one empty entry is a request to reset all owners (spec section 4.7). An empty list is not. */
export function asksReset(entries: readonly ManagedFieldsEntry[]): boolean {
  const [first, second] = entries;
  return first !== undefined && second === undefined && Object.values(first).every((part) => part === undefined);
}
