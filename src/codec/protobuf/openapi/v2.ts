import { type Choice, type Descriptors, numbered, property } from './descriptor.ts';

/** Fields that describe the value of headers and of non-body parameters. */
const primitive = [
  ['type', 'string'],
  ['format', 'string'],
  ['items', 'PrimitivesItems'],
  ['collectionFormat', 'string'],
  ['default', 'any'],
  ['maximum', 'double'],
  ['exclusiveMaximum', 'bool'],
  ['minimum', 'double'],
  ['exclusiveMinimum', 'bool'],
  ['maxLength', 'int64'],
  ['minLength', 'int64'],
  ['pattern', 'string'],
  ['maxItems', 'int64'],
  ['minItems', 'int64'],
  ['uniqueItems', 'bool'],
  ['enum', 'any[]'],
  ['multipleOf', 'double'],
] as const;

const parameter = [
  ['required', 'bool'],
  ['in', 'string'],
  ['description', 'string'],
  ['name', 'string'],
] as const;

const orReference =
  (type: string): Choice =>
  (value) =>
    property(value, '$ref') === undefined ? [1, type] : [2, 'JsonReference'];

/** Chooses the field by the value of a property. */
const by =
  (name: string, choices: Readonly<Record<string, readonly [number, string]>>): Choice =>
  (value) => {
    const kind = property(value, name);
    return typeof kind === 'string' && Object.hasOwn(choices, kind) ? choices[kind] : undefined;
  };

/**
 * Descriptors of package `openapi.v2` (OpenAPIv2.proto of gnostic): every message that occurs in documents of an API
 * server; files, examples, tags and OAuth never do. A function, to keep the cost out of startup.
 */
export const openapiV2 = (): Descriptors => ({
  Document: {
    fields: numbered(
      1,
      ['swagger', 'string'],
      ['info', 'Info'],
      ['host', 'string'],
      ['basePath', 'string'],
      ['schemes', 'string[]'],
      ['consumes', 'string[]'],
      ['produces', 'string[]'],
      ['paths', 'Paths'],
      ['definitions', 'Schema{}'],
      ['parameters', 'Parameter{}'],
      ['responses', 'Response{}'],
      ['security', 'SecurityRequirement[]'],
      ['securityDefinitions', 'SecurityDefinitionsItem{}'],
    ),
    extensions: 16,
  },
  Info: {
    fields: numbered(
      1,
      ['title', 'string'],
      ['version', 'string'],
      ['description', 'string'],
      ['termsOfService', 'string'],
      ['contact', 'Contact'],
      ['license', 'License'],
    ),
    extensions: 7,
  },
  Contact: { fields: numbered(1, ['name', 'string'], ['url', 'string'], ['email', 'string']), extensions: 4 },
  License: { fields: numbered(1, ['name', 'string'], ['url', 'string']), extensions: 3 },
  ExternalDocs: { fields: numbered(1, ['description', 'string'], ['url', 'string']), extensions: 3 },

  Paths: { fields: {}, extensions: 1, others: [2, 'PathItem'] },
  PathItem: {
    fields: numbered(
      1,
      ['$ref', 'string'],
      ['get', 'Operation'],
      ['put', 'Operation'],
      ['post', 'Operation'],
      ['delete', 'Operation'],
      ['options', 'Operation'],
      ['head', 'Operation'],
      ['patch', 'Operation'],
      ['parameters', 'ParametersItem[]'],
    ),
    extensions: 10,
  },
  Operation: {
    fields: numbered(
      1,
      ['tags', 'string[]'],
      ['summary', 'string'],
      ['description', 'string'],
      ['externalDocs', 'ExternalDocs'],
      ['operationId', 'string'],
      ['produces', 'string[]'],
      ['consumes', 'string[]'],
      ['parameters', 'ParametersItem[]'],
      ['responses', 'Responses'],
      ['schemes', 'string[]'],
      ['deprecated', 'bool'],
      ['security', 'SecurityRequirement[]'],
    ),
    extensions: 13,
  },

  ParametersItem: orReference('Parameter'),
  Parameter: (value) => (property(value, 'in') === 'body' ? [1, 'BodyParameter'] : [2, 'NonBodyParameter']),
  BodyParameter: {
    fields: numbered(
      1,
      ['description', 'string'],
      ['name', 'string'],
      ['in', 'string'],
      ['required', 'bool'],
      ['schema', 'Schema'],
    ),
    extensions: 6,
  },
  NonBodyParameter: by('in', {
    header: [1, 'PlainParameter'],
    formData: [2, 'EmptiableParameter'],
    query: [3, 'EmptiableParameter'],
    path: [4, 'PlainParameter'],
  }),
  /** A path or header parameter. */
  PlainParameter: { fields: numbered(1, ...parameter, ...primitive), extensions: 22 },
  /** A query or form parameter. */
  EmptiableParameter: {
    fields: numbered(1, ...parameter, ['allowEmptyValue', 'bool'], ...primitive),
    extensions: 23,
  },
  PrimitivesItems: { fields: numbered(1, ...primitive), extensions: 18 },

  Responses: { fields: {}, extensions: 2, others: [1, 'ResponseValue'] },
  ResponseValue: orReference('Response'),
  Response: {
    fields: numbered(1, ['description', 'string'], ['schema', 'SchemaItem'], ['headers', 'Header{}']),
    extensions: 5,
  },
  Header: { fields: numbered(1, ...primitive, ['description', 'string']), extensions: 19 },
  SchemaItem: () => [1, 'Schema'],
  JsonReference: { fields: numbered(1, ['$ref', 'string'], ['description', 'string']) },

  Schema: {
    fields: numbered(
      1,
      ['$ref', 'string'],
      ['format', 'string'],
      ['title', 'string'],
      ['description', 'string'],
      ['default', 'any'],
      ['multipleOf', 'double'],
      ['maximum', 'double'],
      ['exclusiveMaximum', 'bool'],
      ['minimum', 'double'],
      ['exclusiveMinimum', 'bool'],
      ['maxLength', 'int64'],
      ['minLength', 'int64'],
      ['pattern', 'string'],
      ['maxItems', 'int64'],
      ['minItems', 'int64'],
      ['uniqueItems', 'bool'],
      ['maxProperties', 'int64'],
      ['minProperties', 'int64'],
      ['required', 'string[]'],
      ['enum', 'any[]'],
      ['additionalProperties', 'AdditionalPropertiesItem'],
      ['type', 'TypeItem'],
      ['items', 'ItemsItem'],
      ['allOf', 'Schema[]'],
      ['properties', 'Schema{}'],
      ['discriminator', 'string'],
      ['readOnly', 'bool'],
      ['xml', 'Xml'],
      ['externalDocs', 'ExternalDocs'],
      ['example', 'any'],
    ),
    extensions: 31,
  },
  AdditionalPropertiesItem: (value) => (typeof value === 'boolean' ? [2, 'bool'] : [1, 'Schema']),
  TypeItem: () => [1, 'string[]'],
  ItemsItem: () => [1, 'Schema[]'],
  Xml: {
    fields: numbered(
      1,
      ['name', 'string'],
      ['namespace', 'string'],
      ['prefix', 'string'],
      ['attribute', 'bool'],
      ['wrapped', 'bool'],
    ),
    extensions: 6,
  },

  SecurityRequirement: { fields: {}, others: [1, 'StringArray'] },
  StringArray: () => [1, 'string[]'],
  SecurityDefinitionsItem: by('type', {
    basic: [1, 'BasicAuthenticationSecurity'],
    apiKey: [2, 'ApiKeySecurity'],
  }),
  BasicAuthenticationSecurity: { fields: numbered(1, ['type', 'string'], ['description', 'string']), extensions: 3 },
  ApiKeySecurity: {
    fields: numbered(1, ['type', 'string'], ['name', 'string'], ['in', 'string'], ['description', 'string']),
    extensions: 5,
  },
});
