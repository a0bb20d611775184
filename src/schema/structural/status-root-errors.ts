import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { anyTextOf, type JsonSchema, memberOf } from './json-schema.ts';

/** Names of keywords in the message of kube-apiserver: those of the fields of its type. */
const allowed: readonly (readonly [keyword: string, name: string])[] = [
  ['description', 'Description'],
  ['type', 'Type'],
  ['format', 'Format'],
  ['title', 'Title'],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['required', 'Required'],
  ['items', 'Items'],
  ['properties', 'Properties'],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  [schemaExtensions.preserveUnknownFields, 'XPreserveUnknownFields'],
  [schemaExtensions.validations, 'XValidations'],
];

const allowedKeywords: ReadonlySet<string> = new Set(allowed.map(([keyword]) => keyword));
const allowedNames = allowed.map(([, name]) => name).join(' ');

/**
 * What the root of a schema must not say if the status subresource is enabled: status is validated on its own then, by the
 * schema of that field, so that restrictions of the root would be lost.
 */
export function statusRootErrors(schema: JsonSchema, path: string): readonly FieldError[] {
  const isThere = (keyword: string): boolean => !isZero(memberOf(schema, keyword));
  const type = anyTextOf(schema, 'type') ?? '';
  if (type !== '' && type !== 'object') {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalid(`${path}.type`, type, detail)];
  }
  const refused = Object.keys(schema).some((keyword) => !allowedKeywords.has(keyword) && isThere(keyword));
  const detail = `only [${allowedNames}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return refused ? [{ type: 'FieldValueInvalid', field: path, detail }] : [];
}

const isZero = (value: unknown): boolean =>
  value === undefined || value === '' || value === false || (Array.isArray(value) && value.length === 0);
