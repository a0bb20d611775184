import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { errorText, objectMeta, path, validateMetadata, withSpec } from './structural-fixture.ts';
import { readStructuralSchema } from './structural-schema.ts';

/** Errors of schemas. Paths of the rows start at the schema, those of errors with `.` or `[` are below it. */

interface Row {
  readonly schema: unknown;
  /** `path: text`, in any order. Empty: the schema is accepted. */
  readonly errors: readonly string[];
}

const text = { type: 'string' };
const named = { type: 'object', required: ['name'], properties: { name: text } };
const preserve = { 'x-kubernetes-preserve-unknown-fields': true };
const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true };
const intOrString = { 'x-kubernetes-int-or-string': true };
const mapList = (more: object = {}) => ({
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  items: named,
  ...more,
});
const setOf = (items: object) => ({ type: 'array', 'x-kubernetes-list-type': 'set', items });
const spec = (schema: object, ...errors: readonly string[]): Row => ({
  schema: withSpec(schema),
  errors: errors.map((error) => `.properties[spec]${error}`),
});
const root = (schema: object, ...errors: readonly string[]): Row => ({ schema, errors });
const nested = (name: string, schema: object): Row =>
  spec(
    { ...text, not: schema, allOf: [schema] },
    ...['not', 'allOf[0]'].map((at) => `.${at}.${name}: Forbidden: ${forbiddenNested[name]} to be structural`),
  );
const forbiddenNested: Readonly<Record<string, string>> = {
  type: 'must be empty',
  default: 'must be undefined',
  title: 'must be empty',
  description: 'must be empty',
  nullable: 'must be false',
  additionalProperties: 'must be undefined',
  'x-kubernetes-preserve-unknown-fields': 'must be false',
  'x-kubernetes-embedded-resource': 'must be false',
  'x-kubernetes-int-or-string': 'must be false',
  'x-kubernetes-list-type': 'must be undefined',
  'x-kubernetes-list-map-keys': 'must be empty',
  'x-kubernetes-map-type': 'must be undefined',
  'x-kubernetes-validations': 'must be empty',
};

const rows: Readonly<Record<string, Row>> = {
  'an object': root({ type: 'object' }),
  'no type at the root': root({}, '.type: Required value: must not be empty at the root'),
  'an empty type at the root': root({ type: '' }, '.type: Required value: must not be empty at the root'),
  'another type at the root': root({ type: 'integer' }, '.type: Invalid value: "integer": must be object at the root'),
  'any fields at the root': root(preserve),
  'null at the root': root(
    { type: 'object', nullable: true },
    '.nullable: Forbidden: nullable cannot be true at the root',
  ),
  'additional properties at the root': root(
    { type: 'object', additionalProperties: false },
    '.additionalProperties: Forbidden: must not be used at the root',
  ),
  'a field without a type': spec({}, '.type: Required value: must not be empty for specified object fields'),
  'an item without a type': spec(
    { type: 'array', items: {} },
    '.items.type: Required value: must not be empty for specified array items',
  ),
  'a value of a map without a type': spec(
    { type: 'object', additionalProperties: {} },
    '.additionalProperties.type: Required value: must not be empty for specified object fields',
  ),
  'a type that does not exist': spec(
    { type: 'text' },
    '.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"',
  ),
  'the type null': spec(
    { type: 'null' },
    '.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
    '.type: Forbidden: type cannot be set to null, use nullable as an alternative',
  ),
  'an array without items': spec({ type: 'array' }, '.items: Required value: must be specified'),
  'items as a list': spec(
    { type: 'array', items: [text] },
    '.items: Forbidden: items must be a schema object and not an array',
  ),
  'items as a list in a junctor': spec(
    { type: 'array', items: text, not: { items: [{}] } },
    '.not.items: Forbidden: items must be a schema object and not an array',
  ),
  ...Object.fromEntries(
    [
      ['id', 'x'],
      ['additionalItems', true],
      ['patternProperties', { a: text }],
      ['definitions', { a: text }],
      ['dependencies', { a: ['b'] }],
      ['$ref', '#/definitions/a'],
    ].map(([name, value]) => [
      `the keyword ${name}`,
      spec({ type: 'object', [String(name)]: value }, `.${name}: Forbidden: ${name} is not supported`),
    ]),
  ),
  'the language of a schema': root(
    { type: 'object', $schema: 'http://json-schema.org/draft-04/schema#' },
    ': Invalid value: "": OpenAPIV3Schema \'schema\' is not supported',
  ),
  'the language of a schema within': root(
    withSpec({ ...text, $schema: 'x' }) as object,
    ': Invalid value: "": OpenAPIV3Schema \'schema\' is not supported',
  ),
  'the language of a schema beside another error': spec(
    { ...text, $schema: 'x', id: 'x' },
    '.id: Forbidden: id is not supported',
  ),
  'an empty language of a schema': spec({ ...text, $schema: '' }),
  'unique items': spec(
    { type: 'array', items: text, uniqueItems: true },
    '.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
  ),
  'keywords that say nothing': spec({
    ...text,
    title: 't',
    description: 'd',
    externalDocs: { url: 'x' },
    example: { a: 1 },
    uniqueItems: false,
    format: 'of-nobody',
  }),
  'additional properties beside properties': spec(
    { type: 'object', properties: { a: text }, additionalProperties: text },
    '.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  ),
  'no additional properties beside properties': spec(
    { type: 'object', properties: { a: text }, additionalProperties: false },
    '.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive',
  ),
  'any additional properties beside properties': spec({
    type: 'object',
    properties: { a: text },
    additionalProperties: true,
  }),
  'unknown fields that are not kept': spec(
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': false },
    '.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined',
  ),
  'an integer or string': spec(intOrString),
  'an integer or string with anyOf': spec({ ...intOrString, anyOf: [{ type: 'integer' }, { type: 'string' }] }),
  'an integer or string with allOf': spec({
    ...intOrString,
    allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'a' }],
  }),
  'an integer or string with alternatives in another order': spec(
    { ...intOrString, anyOf: [{ type: 'string' }, { type: 'integer' }] },
    '.anyOf[0].type: Forbidden: must be empty to be structural',
    '.anyOf[1].type: Forbidden: must be empty to be structural',
  ),
  'an integer or string with more in allOf': spec(
    { ...intOrString, allOf: [{ pattern: 'a' }, { anyOf: [{ type: 'integer' }, { type: 'string' }] }] },
    '.allOf[1].anyOf[0].type: Forbidden: must be empty to be structural',
    '.allOf[1].anyOf[1].type: Forbidden: must be empty to be structural',
  ),
  'an integer or string that keeps unknown fields': spec(
    { ...intOrString, ...preserve },
    '.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
  ),
  'an integer or string that is an object': spec(
    { ...intOrString, ...embedded, ...preserve },
    '.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
    '.x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true',
  ),
  'an embedded object': spec({ ...embedded, ...preserve }),
  'an embedded object with fields': spec({ ...embedded, properties: { a: text } }),
  'an embedded object of nothing': spec(
    embedded,
    '.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
  ),
  'an embedded object without a type': spec(
    { ...preserve, 'x-kubernetes-embedded-resource': true },
    '.type: Required value: must be object if x-kubernetes-embedded-resource is true',
  ),
  'an embedded object of another type': spec(
    { ...text, ...preserve, 'x-kubernetes-embedded-resource': true },
    '.type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
  ),
  'an embedded object that is a map': spec(
    { ...embedded, ...preserve, additionalProperties: text },
    '.additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set',
  ),
  'types of what every object has': spec(
    { ...embedded, properties: { apiVersion: { type: 'integer' }, kind: { type: 'object' }, metadata: text } },
    '.properties[apiVersion].type: Invalid value: "integer": must be string',
    '.properties[kind].type: Invalid value: "object": must be string',
    '.properties[metadata].type: Invalid value: "string": must be object',
  ),
  'an object within metadata': spec(
    {
      ...embedded,
      properties: { metadata: { type: 'object', properties: { a: { ...embedded, ...preserve } } } },
    },
    '.properties[metadata].properties[a].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta',
  ),
  'metadata of names': root({
    type: 'object',
    properties: { metadata: { type: 'object', properties: { name: { ...text, maxLength: 3 }, generateName: text } } },
  }),
  'metadata of more than names': root(
    {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { name: text, labels: { type: 'object' } } } },
    },
    '.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ),
  'metadata that is described': root(
    { type: 'object', properties: { metadata: { type: 'object', description: 'd' } } },
    '.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ),
  'metadata with a limit of 0': root(
    { type: 'object', properties: { metadata: { type: 'object', minimum: 0 } } },
    '.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ),
  'metadata in a junctor': root(
    { type: 'object', anyOf: [{ properties: { metadata: {} } }], properties: { metadata: { type: 'object' } } },
    '.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context',
  ),
  'defaults of what every object has': root(
    {
      type: 'object',
      properties: {
        kind: { ...text, default: 'A' },
        metadata: { type: 'object', properties: { name: { ...text, default: 'a' } } },
      },
    },
    '.properties[kind].default: Forbidden: must not be set in top-level kind',
    '.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata',
  ),
  'a default in a map of metadata': spec(
    {
      ...embedded,
      properties: {
        metadata: {
          type: 'object',
          properties: { labels: { type: 'object', additionalProperties: { ...text, default: 'a' } } },
        },
      },
    },
    '.properties[metadata].properties[labels].additionalProperties.default: Forbidden: must not be set inside additionalProperties applying to object metadata',
  ),
  ...Object.fromEntries(
    Object.entries({
      type: 'string',
      default: 1,
      title: 't',
      description: 'd',
      nullable: true,
      additionalProperties: true,
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-map-type': 'atomic',
      'x-kubernetes-validations': [{ rule: 'true' }],
    }).map(([name, value]) => {
      const row = nested(name, { [name]: value });
      const more =
        name === 'x-kubernetes-map-type'
          ? ['not', 'allOf[0]'].map(
              (at) =>
                `.properties[spec].${at}.type: Required value: must be object if x-kubernetes-map-type is specified`,
            )
          : [];
      return [`${name} in a junctor`, { ...row, errors: [...row.errors, ...more] }];
    }),
  ),
  'a type of items in a junctor': spec(
    { type: 'array', items: text, anyOf: [{ items: { type: 'string' } }, { minItems: 1 }] },
    '.anyOf[0].items.type: Forbidden: must be empty to be structural',
  ),
  'types of an integer or string in the second of allOf': spec(
    {
      'x-kubernetes-int-or-string': true,
      allOf: [{ anyOf: [{ type: 'integer' }, text] }, { anyOf: [{ type: 'integer' }, text] }],
    },
    '.allOf[1].anyOf[0].type: Forbidden: must be empty to be structural',
    '.allOf[1].anyOf[1].type: Forbidden: must be empty to be structural',
  ),
  'a list type in a junctor': spec(
    { type: 'array', items: text, not: { 'x-kubernetes-list-type': 'set', 'x-kubernetes-list-map-keys': ['a'] } },
    '.not.x-kubernetes-list-type: Forbidden: must be undefined to be structural',
    '.not.x-kubernetes-list-map-keys: Forbidden: must be empty to be structural',
    '.not.type: Required value: must be array if x-kubernetes-list-type is specified',
    '.not.x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty',
  ),
  'zero values in a junctor': spec({ ...text, not: { type: '', title: '', nullable: false, pattern: 'a' } }),
  'fields that only a junctor has': root(
    {
      type: 'object',
      properties: { a: { type: 'object', properties: { b: text } }, c: { type: 'array', items: text } },
      oneOf: [{ properties: { a: { properties: { x: {} } }, y: {} } }],
      not: { properties: { c: { items: { items: {} } }, a: { items: {} } } },
    },
    '.properties[a].properties[x]: Required value: because it is defined in spec.versions[0].schema.openAPIV3Schema.oneOf[0].properties[a].properties[x]',
    '.properties[y]: Required value: because it is defined in spec.versions[0].schema.openAPIV3Schema.oneOf[0].properties[y]',
    '.properties[c].items.items: Required value: because it is defined in spec.versions[0].schema.openAPIV3Schema.not.properties[c].items.items',
    '.properties[a].items: Required value: because it is defined in spec.versions[0].schema.openAPIV3Schema.not.properties[a].items',
  ),
  'fields that only a junctor of a field has': spec({
    type: 'object',
    not: { properties: { a: { items: {} } } },
  }),
  'fields that a junctor restricts': spec({
    type: 'object',
    properties: { a: { type: 'object', properties: { b: text } }, c: { type: 'array', items: text } },
    oneOf: [{ properties: { a: { properties: { b: { pattern: 'x' } } } } }, { required: ['anything'] }],
    not: { properties: { c: { items: { maxLength: 3 } } } },
  }),
  'names of prototype properties': root(
    {
      type: 'object',
      properties: JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"},"toString":{},"":{}}'),
      not: { properties: { valueOf: {} } },
    },
    '.properties[toString].type: Required value: must not be empty for specified object fields',
    '.properties[].type: Required value: must not be empty for specified object fields',
    '.properties[valueOf]: Required value: because it is defined in spec.versions[0].schema.openAPIV3Schema.not.properties[valueOf]',
  ),
  'a map type of another type': spec(
    { ...text, 'x-kubernetes-map-type': 'granular' },
    '.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
  ),
  'a map type without a type': spec(
    { ...preserve, 'x-kubernetes-map-type': 'atomic' },
    '.type: Required value: must be object if x-kubernetes-map-type is specified',
  ),
  'a map type that does not exist': spec(
    { type: 'object', 'x-kubernetes-map-type': 'x' },
    '.x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular"',
  ),
  'map types': spec({
    type: 'object',
    'x-kubernetes-map-type': 'atomic',
    properties: { a: { type: 'object', 'x-kubernetes-map-type': 'granular' } },
  }),
  'a list type of another type': spec(
    { ...text, 'x-kubernetes-list-type': 'atomic' },
    '.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
  ),
  'a list type without a type': spec(
    { ...preserve, 'x-kubernetes-list-type': 'atomic' },
    '.type: Required value: must be array if x-kubernetes-list-type is specified',
  ),
  'a list type that does not exist': spec(
    { type: 'array', items: text, 'x-kubernetes-list-type': '' },
    '.x-kubernetes-list-type: Unsupported value: "": supported values: "atomic", "set", "map"',
  ),
  'sets of atomic items': spec({
    type: 'object',
    properties: {
      a: setOf(text),
      b: setOf({ type: 'array', items: text }),
      c: setOf({ type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' }),
      d: setOf({ type: 'object', 'x-kubernetes-map-type': 'atomic' }),
    },
  }),
  'a set of granular objects': spec(
    setOf({ type: 'object', 'x-kubernetes-map-type': 'granular' }),
    '.items.x-kubernetes-map-type: Invalid value: "granular": must be atomic as item of a list with x-kubernetes-list-type=set',
  ),
  'a set of objects': spec(
    setOf({ type: 'object' }),
    '.items.x-kubernetes-map-type: Invalid value: "null": must be atomic as item of a list with x-kubernetes-list-type=set',
  ),
  'a set of sets': spec(
    setOf(setOf(text)),
    '.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
  ),
  'a set of null': spec(
    setOf({ ...text, nullable: true }),
    '.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set',
  ),
  'a list map': spec(mapList()),
  'a list map with a key that has a default': spec(
    mapList({ items: { type: 'object', properties: { name: { ...text, default: 'a' } } } }),
  ),
  'keys of a list without a type': spec(
    { type: 'array', items: named, 'x-kubernetes-list-map-keys': ['name'] },
    '.x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty',
  ),
  'keys of a set': spec(
    { ...setOf(text), 'x-kubernetes-list-map-keys': ['name'] },
    '.x-kubernetes-list-type: Invalid value: "set": must be map if x-kubernetes-list-map-keys is non-empty',
  ),
  'a list map without keys': spec(
    mapList({ 'x-kubernetes-list-map-keys': [] }),
    '.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map',
  ),
  'a list map without items': spec(
    mapList({ items: undefined }),
    '.items: Required value: must be specified',
    '.items: Required value: must have a schema if x-kubernetes-list-type is map',
  ),
  'a list map of texts': spec(
    mapList({ items: text }),
    '.items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
  ),
  'a list map with a key that is no field': spec(
    mapList({ 'x-kubernetes-list-map-keys': ['name', 'constructor'] }),
    '.x-kubernetes-list-map-keys: Invalid value: []string{"name", "constructor"}: entries must all be names of item properties',
  ),
  'a list map with a key that is no scalar': spec(
    mapList({ items: { type: 'object', required: ['name'], properties: { name: { type: 'object' } } } }),
    '.items.properties[name].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
  ),
  'a list map with a key twice': spec(
    mapList({ 'x-kubernetes-list-map-keys': ['name', 'name'] }),
    '.x-kubernetes-list-map-keys: Invalid value: []string{"name", "name"}: must not contain duplicate entries',
  ),
  'a list map with a key that may be absent': spec(
    mapList({ items: { type: 'object', properties: { name: text } } }),
    '.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
  ),
  'a list map with null': spec(
    mapList({ items: { ...named, nullable: true, properties: { name: { ...text, nullable: true } } } }),
    '.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map',
    '.items.properties[name].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
  ),
  'an invalid pattern': spec(
    { ...text, pattern: '+', not: { pattern: '(' } },
    '.pattern: Invalid value: "+": must be a valid regular expression, but isn\'t: error parsing regexp: missing argument to repetition operator: `+`',
    '.not.pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ): `(`',
  ),
  'a pattern that explodes': spec(
    { ...text, pattern: '((a{100}){100}){100}' },
    '.pattern: Invalid value: "((a{100}){100}){100}": must be a valid regular expression, but isn\'t: error parsing regexp: invalid repeat count: `{100}`',
  ),
  'a pattern that expands to too much': spec(
    { ...text, pattern: '((ab?){500}c?){2}' },
    `.pattern: Invalid value: "((ab?){500}c?){2}": must not expand to so much: its counts are too large`,
  ),
  'a pattern of many classes': spec(
    { ...text, pattern: '\\pL'.repeat(limits.patternClassesMax + 1) },
    `.pattern: Invalid value: ${JSON.stringify('\\pL'.repeat(17))}: must have no more than 16 Unicode classes`,
  ),
  'a default': spec({ ...text, default: 'a' }),
  'a default of null is none': spec({ ...text, default: null }),
  'a default of another type': spec(
    { ...text, default: 1 },
    '.default: Invalid value: "integer":  in body must be of type string: "integer"',
  ),
  'a default beyond a limit': spec(
    { type: 'integer', maximum: 3, default: 4 },
    '.default: Invalid value: 4:  in body should be less than or equal to 3',
  ),
  'a default with a wrong field': spec(
    { type: 'object', properties: { a: text }, default: { a: 1 } },
    '.default.a: Invalid value: "integer": a in body must be of type string: "integer"',
  ),
  'a default without a required field': spec(
    { type: 'object', required: ['a'], properties: { a: text }, default: {} },
    '.default.a: Required value',
  ),
  'a default without a required field that has a default': spec(
    { type: 'object', required: ['a'], properties: { a: { ...text, default: 'x' } }, default: {} },
    '.default.a: Required value',
  ),
  'a default of null in a field': spec(
    { type: 'object', properties: { a: text }, default: { a: null } },
    '.default.a: Invalid value: "null": a in body must be of type string: "null"',
  ),
  'a default with an unknown field': spec(
    { type: 'object', properties: { a: text }, default: { a: 'x', b: { c: 1 } } },
    '.default: Invalid value: map[string]interface {}{"a":"x", "b":map[string]interface {}{"c":1}}: must not have unknown fields',
  ),
  'a default with fields that are kept': spec({ type: 'object', ...preserve, default: { b: 1 } }),
  'a default of an item': spec(
    { type: 'array', items: { ...text, default: 1 } },
    '.items.default: Invalid value: "integer":  in body must be of type string: "integer"',
  ),
  'a default of a value of a map': spec(
    { type: 'object', additionalProperties: { ...text, default: 1 } },
    '.additionalProperties.default: Invalid value: "integer":  in body must be of type string: "integer"',
  ),
  'a default of a value of any type': spec(
    { ...preserve, properties: { a: { ...text, default: 1 } }, items: { ...text, default: 2 } },
    '.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
    '.items.default: Invalid value: "integer":  in body must be of type string: "integer"',
  ),
  'a default of an embedded object': spec({
    ...embedded,
    properties: { a: text },
    default: { apiVersion: 'v1', kind: 'A', metadata: { name: 'a', unknown: 1 }, a: 'x' },
  }),
  'a default that is no object': spec(
    { ...embedded, properties: { a: text }, default: { kind: '%', b: 1 } },
    '.default: Invalid value: map[string]interface {}{"b":1, "kind":"%"}: must not have unknown fields',
  ),
  'defaults of metadata': spec({
    ...embedded,
    properties: {
      apiVersion: { ...text, default: 'v1' },
      kind: { ...text, default: 'A' },
      metadata: {
        type: 'object',
        default: { unknown: 1 },
        properties: { labels: { type: 'object', properties: { a: { ...text, default: 'b' } } } },
      },
    },
  }),
  'wrong defaults of metadata': spec(
    {
      ...embedded,
      properties: {
        apiVersion: { ...text, default: 'a/b/c' },
        metadata: {
          type: 'object',
          default: { labels: { a: 'x y' } },
          properties: {
            name: { ...text, default: 42 },
            labels: { type: 'object', properties: { a: { ...text, default: 42 } } },
          },
        },
      },
    },
    '.properties[apiVersion].default: Invalid value: "a/b/c": must result in valid metadata: apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    '.properties[metadata].default: Invalid value: map[string]interface {}{"labels":map[string]interface {}{"a":"x y"}}: must result in valid metadata: metadata.labels: Invalid value: "x y": has a space',
    '.properties[metadata].properties[name].default: Invalid value: 42: must result in valid metadata: metadata.name: expected string, got number',
    '.properties[metadata].properties[labels].properties[a].default: Invalid value: 42: must result in valid metadata: metadata.labels.a: expected string, got number',
  ),
  'too many schemas': root(
    {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`p${n}`, text])),
    },
    `: Invalid value: "": must have no more than ${limits.schemaPartsMax} schemas and values of enums`,
  ),
  'too many values': spec({ ...text, enum: Array.from({ length: limits.schemaPartsMax }, (_, n) => `${n}`) }),
  'too many values in defaults': spec({
    ...{ type: 'array', items: text },
    default: Array.from({ length: limits.schemaDefaultsMax }, () => 'x'),
  }),
  'too long defaults': spec({ ...text, default: 'x'.repeat(limits.schemaDefaultCharactersMax + 1) }),
  'too many alternatives': spec({
    ...text,
    anyOf: Array.from({ length: limits.schemaAlternativesMax + 1 }, (_, n) => ({ maxLength: n })),
  }),
};

const overridden: Readonly<Record<string, readonly string[]>> = {
  'too many values': [
    `: Invalid value: "": must have no more than ${limits.schemaPartsMax} schemas and values of enums`,
  ],
  'too many values in defaults': [
    `: Invalid value: "": must have no more than ${limits.schemaDefaultsMax} values in all defaults`,
  ],
  'too long defaults': [
    `: Invalid value: "": must have no more than ${limits.schemaDefaultCharactersMax} characters in all defaults`,
  ],
  'too many alternatives': [
    `: Invalid value: "": must have no more than ${limits.schemaAlternativesMax} schemas in allOf, anyOf, oneOf and not`,
  ],
};

for (const [name, { schema, errors }] of Object.entries(rows)) {
  test(name, () => {
    const result = readStructuralSchema(schema, { path, objectMeta, validateMetadata });
    const expected = overridden[name] ?? errors;
    assert.deepEqual(result.errors.map(errorText).sort(), expected.map((error) => `${path}${error}`).sort());
    assert.equal(result.schema === undefined, expected.length > 0);
  });
}

test('the patterns of a schema are bounded in all', () => {
  const count = Math.ceil(limits.schemaPatternsWorkMax / 1_000);
  const patternOf = (n: number) => ({ type: 'string', pattern: `^a{500}${'x'.repeat(500)}${n}$` });
  const schemaOf = (each: (n: number) => unknown) => ({
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, each(n)])),
  });
  const read = (schema: unknown) =>
    readStructuralSchema(schema, { path, objectMeta, validateMetadata }).errors.map(({ detail }) => detail);
  const [first] = read(schemaOf(patternOf));
  assert.equal(first, 'is one too many: the patterns before it are too large in all');
  assert.deepEqual(read(schemaOf(() => patternOf(0))), [], 'the same one counts once');
});

test('errors are bounded', () => {
  const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`p${n}`, {}]));
  const { errors } = readStructuralSchema({ type: 'object', properties }, { path, objectMeta, validateMetadata });
  assert.equal(errors.length, limits.findingsMax);
});
