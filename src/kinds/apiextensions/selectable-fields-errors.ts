import { limits } from '../../base/limits.ts';
import { duplicate, type FieldError, invalid, required, tooMany } from '../../meta/field-error.ts';
import { fieldAtPath } from '../../schema/structural/field-at-path.ts';
import { asSchema } from '../../schema/structural/json-schema.ts';

const types: readonly unknown[] = ['string', 'boolean', 'integer'];

/** Errors of the selectable fields of a version. `schema` is its JSON schema. */
export function selectableFieldsErrors(fields: readonly { readonly jsonPath?: string }[], schema: unknown, path: string): FieldError[] {
  if (fields.length === 0) return [];
  if (schema === undefined) return [invalid(path, '', 'selectableFields may only be set when validations.schema is included')];
  const seen = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, { jsonPath = '' }] of fields.slice(0, limits.findingsMax).entries()) {
    const at = `${path}[${index}].jsonPath`;
    if (jsonPath === '') {
      errors.push(required(at));
      continue;
    }
    const found = fieldAtPath(asSchema(schema), jsonPath);
    if (found.type === 'problem') {
      errors.push(invalid(at, jsonPath, `is an invalid path: ${found.problem}`));
      continue;
    }
    if (found.steps[0] === 'metadata') errors.push(invalid(at, jsonPath, 'must not point to fields in metadata'));
    if (!types.includes(found.schema['type'])) {
      errors.push(invalid(at, jsonPath, 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'));
    }
    const name = found.steps.join('.');
    if (seen.has(name)) errors.push(duplicate(at, jsonPath));
    seen.add(name);
  }
  if (seen.size > limits.customSelectableFieldsMax) errors.push(tooMany(path, seen.size, limits.customSelectableFieldsMax));
  return errors;
}
