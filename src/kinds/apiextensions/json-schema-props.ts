import { getOrAdd } from '../../base/collections/get-or-add.ts';
import {
  type AnySchema,
  always,
  anyValue,
  bool,
  documentedEnum,
  int64,
  type ListSchema,
  list,
  type MapSchema,
  map,
  mergeList,
  number,
  oneOf,
  opt,
  ptr,
  type StructSchema,
  string,
  struct,
  type Variant,
} from '../../schema/schema.ts';

const externalDocumentation = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.ExternalDocumentation', 'Documentation elsewhere.', {
  description: opt(1, string(), 'What is found there.'),
  url: opt(2, string(), 'Where it is.'),
});

const validationRule = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.ValidationRule', 'A validation rule in the Common Expression Language.', {
  rule: always(1, string(), 'Expression over `self`, the value of the schema that has the rule, and `oldSelf`. The value is valid if it is true.'),
  message: opt(2, string(), 'Message shown if the rule is false. Default: one that shows the rule.'),
  messageExpression: opt(3, string(), 'Expression for the message; preferred to `message` unless it fails.'),
  reason: ptr(
    4,
    documentedEnum('FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'),
    'Machine-readable reason of the error: `FieldValueInvalid` (the default), `FieldValueForbidden`, `FieldValueRequired` or `FieldValueDuplicate`.',
  ),
  fieldPath: opt(5, string(), 'Path of the field in the error, relative to the value: `.spec.replicas`.'),
  optionalOldSelf: ptr(6, bool(), 'A rule that uses `oldSelf` also runs on create; `oldSelf` is an optional value.'),
});

const namedOneOf = (name: string, ...variants: readonly Variant[]): AnySchema => ({
  ...oneOf(...variants),
  name: `apiextensions-apiserver.pkg.apis.apiextensions.v1.${name}`,
});

const schemas = new Map<string, StructSchema>();

/**
 * JSONSchemaProps: a JSON schema, as in definitions of custom resources. `extension` is the vendor part of extension names:
 * `x-<extension>-list-type`.
 */
export const jsonSchemaProps = (extension: string): StructSchema => getOrAdd(schemas, extension, () => makeSchema(`x-${extension}`));

/** A schema may be a boolean or a list where another one is expected, so that these parts are read by `schema/structural`. */
function makeSchema(prefix: string): StructSchema {
  let lists: ListSchema | undefined;
  let maps: MapSchema | undefined;
  const several = (): ListSchema => (lists ??= list(props));
  const byName = (): MapSchema => (maps ??= map(props));
  const own: Variant = { number: 1, schema: () => props };
  const orBoolean = namedOneOf('JSONSchemaPropsOrBool', { number: 1, schema: bool(), beside: true }, { number: 2, schema: () => props });
  const props: StructSchema = struct('apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps', 'A JSON schema (draft 4), with extensions.', {
    id: opt(1, string(), 'Identifier of the schema; forbidden.'),
    $schema: opt(2, string(), 'Identifier of the schema language; forbidden.'),
    $ref: ptr(3, string(), 'Reference to another schema; forbidden.'),
    description: opt(4, string(), 'What the value means.'),
    type: opt(5, string(), 'Type of the value: `object`, `array`, `string`, `integer`, `number` or `boolean`.'),
    format: opt(6, string(), 'Format of a string or number. Formats that are not known are ignored.'),
    title: opt(7, string(), 'Title of the value.'),
    default: ptr(8, anyValue({ name: 'apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON', mapType: 'atomic' }), 'Value of the field where it is absent.'),
    maximum: ptr(9, number(), 'Largest number.'),
    exclusiveMaximum: opt(10, bool(), 'The number must be smaller than `maximum`.'),
    minimum: ptr(11, number(), 'Smallest number.'),
    exclusiveMinimum: opt(12, bool(), 'The number must be larger than `minimum`.'),
    maxLength: ptr(13, int64(), 'Largest number of characters.'),
    minLength: ptr(14, int64(), 'Smallest number of characters.'),
    pattern: opt(15, string(), 'Regular expression (RE2) that must match somewhere in the string.'),
    maxItems: ptr(16, int64(), 'Largest number of elements.'),
    minItems: ptr(17, int64(), 'Smallest number of elements.'),
    uniqueItems: opt(18, bool(), 'No two elements are equal; forbidden, see list type `set`.'),
    multipleOf: ptr(19, number(), 'The number must be a multiple of this one.'),
    enum: opt(20, list(anyValue({ name: 'apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON', mapType: 'atomic' })), 'The allowed values.'),
    maxProperties: ptr(21, int64(), 'Largest number of fields.'),
    minProperties: ptr(22, int64(), 'Smallest number of fields.'),
    required: opt(23, list(string()), 'Fields that must be present.'),
    items: ptr(24, namedOneOf('JSONSchemaPropsOrArray', own, { number: 2, schema: several }), 'Schema of the elements.'),
    allOf: opt(25, several, 'The value must be valid for all of these.'),
    oneOf: opt(26, several, 'The value must be valid for exactly one of these.'),
    anyOf: opt(27, several, 'The value must be valid for at least one of these.'),
    not: ptr(28, () => props, 'The value must not be valid for this schema.'),
    properties: opt(29, byName, 'Schemas of the fields.'),
    additionalProperties: ptr(30, orBoolean, 'Schema of fields not in `properties`, or whether there may be any.'),
    patternProperties: opt(31, byName, 'Schemas of fields by pattern; forbidden.'),
    dependencies: opt(32, map(namedOneOf('JSONSchemaPropsOrStringArray', own, { number: 2, schema: list(string()) })), 'What a field needs; forbidden.'),
    additionalItems: ptr(33, orBoolean, 'Schema of further elements; forbidden.'),
    definitions: opt(34, byName, 'Schemas to refer to; forbidden.'),
    externalDocs: ptr(35, externalDocumentation, 'Documentation elsewhere.'),
    example: ptr(36, anyValue({ name: 'apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON', mapType: 'atomic' }), 'An example.'),
    nullable: opt(37, bool(), 'The value may be null.'),
    [`${prefix}-preserve-unknown-fields`]: ptr(38, bool(), 'Fields that are not specified are kept; true, or absent.'),
    [`${prefix}-embedded-resource`]: opt(39, bool(), 'The value is an object with apiVersion, kind and metadata.'),
    [`${prefix}-int-or-string`]: opt(40, bool(), 'The value is an integer or a string.'),
    [`${prefix}-list-map-keys`]: opt(41, list(string()), 'Fields by which elements of a list of type `map` are told apart.'),
    [`${prefix}-list-type`]: ptr(42, string(), '`atomic` (the default), `set` or `map`: how lists are merged.'),
    [`${prefix}-map-type`]: ptr(43, string(), '`granular` (the default) or `atomic`: how objects are merged.'),
    [`${prefix}-validations`]: opt(44, mergeList('rule', validationRule, { duplicatesAllowed: true }), 'Rules in the Common Expression Language.'),
  });
  return props;
}
