import { limits } from '../../base/limits.ts';
import type { ManagedFieldsEntry } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, tooLong } from '../../meta/field-error.ts';

/** Maximum length of a field manager name. */
export const managerBytesMax = 128;
/** A character that field manager names may not contain: no letter, mark, number, punctuation, symbol or space. */
export const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

const subresourceBytesMax = 256;

/** Checks the form of managedFields entries. `apply/` validates the field sets themselves. */
export const validateManagedFields = (entries: readonly ManagedFieldsEntry[], field: string): FieldError[] =>
  errorsOfEach(entries, (entry, index) => validateEntry(entry, `${field}[${index}]`));

function validateEntry(entry: ManagedFieldsEntry, field: string): FieldError[] {
  const errors: FieldError[] = [];
  // The static type names fixed values, but the schema accepts any string.
  const operation: string = entry.operation ?? '';
  const fieldsType: string = entry.fieldsType ?? '';
  if (operation !== 'Apply' && operation !== 'Update') {
    errors.push(invalid(`${field}.operation`, operation, 'must be `Apply` or `Update`'));
  }
  if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
    errors.push(invalid(`${field}.fieldsType`, fieldsType, 'must be `FieldsV1`'));
  }
  errors.push(...validateFieldManager(entry.manager ?? '', `${field}.manager`));
  if (Buffer.byteLength(entry.subresource ?? '') > subresourceBytesMax) {
    errors.push(tooLong(`${field}.subresource`, subresourceBytesMax));
  }
  return errors;
}

/**
 * Limits the field managers that own fields by apply, because each one adds cost to every later write of the object. Only
 * a new apply manager can violate a limit; existing ones and other writers are not affected.
 */
export function validateAppliers(
  entries: readonly ManagedFieldsEntry[],
  old: readonly ManagedFieldsEntry[],
  field: string,
): FieldError[] {
  if (!entries.some(isApplied)) return [];
  const known = new Set(old.filter(isApplied).map(applierId));
  const appliers = entries.filter(isApplied);
  if (appliers.every((entry) => known.has(applierId(entry)))) return [];
  const count = appliers.length;
  if (count > limits.applyManagersMax) {
    const detail = `must have at most ${limits.applyManagersMax} field managers that apply; ${remedy}`;
    return [{ type: 'FieldValueTooMany', field, value: count, detail }];
  }
  const { applyManagersBytesMax: bytesMax } = limits;
  // The fields of a single manager are bounded by the size limit of the object.
  if (count === 1 || Buffer.byteLength(JSON.stringify(appliers)) <= bytesMax) return [];
  const detail = `may not be more than ${bytesMax} bytes when another field manager applies; ${remedy}`;
  return [{ type: 'FieldValueTooLong', field, detail }];
}

const remedy =
  'apply as one that is there, or remove entries: a patch that sets metadata.managedFields to [{}] removes all of them';

const isApplied = ({ operation }: ManagedFieldsEntry): boolean => operation === 'Apply';

const applierId = ({ manager, apiVersion, subresource }: ManagedFieldsEntry): string =>
  [manager, apiVersion, subresource].join('\0');

/** Checks a field manager name, of an entry or of the `fieldManager` parameter (spec section 4.7). */
export function validateFieldManager(manager: string, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (manager === '') return errors;
  if (Buffer.byteLength(manager) > managerBytesMax) errors.push(tooLong(field, managerBytesMax));
  const found = unprintable.exec(manager);
  if (found) {
    const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    const position = Buffer.byteLength(manager.slice(0, found.index));
    errors.push(invalid(field, manager, `invalid character U+${code} (at position ${position})`));
  }
  return errors;
}
