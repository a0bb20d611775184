import { type Choice, type Descriptors, numbered, property } from './descriptor.ts';

const orReference =
  (type: string): Choice =>
  (value) =>
    property(value, '$ref') === undefined ? [1, type] : [2, 'Reference'];

/**
 * Descriptors of package `openapi.v3` (OpenAPIv3.proto of gnostic): every message that occurs in documents of an API
 * server; servers, tags, examples, encodings, links, callbacks and OAuth never do. A function, to keep the cost out of
 * startup.
 */
export const openapiV3 = (): Descriptors => ({
  Document: {
    fields: {
      openapi: [1, 'string'],
      info: [2, 'Info'],
      paths: [4, 'Paths'],
      components: [5, 'Components'],
      security: [6, 'SecurityRequirement[]'],
      externalDocs: [8, 'ExternalDocs'],
    },
    extensions: 9,
  },
  Info: {
    fields: {
      ...numbered(
        1,
        ['title', 'string'],
        ['description', 'string'],
        ['termsOfService', 'string'],
        ['contact', 'Contact'],
        ['license', 'License'],
        ['version', 'string'],
      ),
      summary: [8, 'string'],
    },
    extensions: 7,
  },
  Contact: { fields: numbered(1, ['name', 'string'], ['url', 'string'], ['email', 'string']), extensions: 4 },
  License: { fields: numbered(1, ['name', 'string'], ['url', 'string']), extensions: 3 },
  ExternalDocs: { fields: numbered(1, ['description', 'string'], ['url', 'string']), extensions: 3 },

  Paths: { fields: {}, extensions: 2, others: [1, 'PathItem'] },
  PathItem: {
    fields: {
      ...numbered(
        1,
        ['$ref', 'string'],
        ['summary', 'string'],
        ['description', 'string'],
        ['get', 'Operation'],
        ['put', 'Operation'],
        ['post', 'Operation'],
        ['delete', 'Operation'],
        ['options', 'Operation'],
        ['head', 'Operation'],
        ['patch', 'Operation'],
        ['trace', 'Operation'],
      ),
      parameters: [13, 'ParameterOrReference[]'],
    },
    extensions: 14,
  },
  Operation: {
    fields: {
      ...numbered(
        1,
        ['tags', 'string[]'],
        ['summary', 'string'],
        ['description', 'string'],
        ['externalDocs', 'ExternalDocs'],
        ['operationId', 'string'],
        ['parameters', 'ParameterOrReference[]'],
        ['requestBody', 'RequestBodyOrReference'],
        ['responses', 'Responses'],
      ),
      deprecated: [10, 'bool'],
      security: [11, 'SecurityRequirement[]'],
    },
    extensions: 13,
  },

  ParameterOrReference: orReference('Parameter'),
  Parameter: {
    fields: {
      ...numbered(
        1,
        ['name', 'string'],
        ['in', 'string'],
        ['description', 'string'],
        ['required', 'bool'],
        ['deprecated', 'bool'],
        ['allowEmptyValue', 'bool'],
        ['style', 'string'],
        ['explode', 'bool'],
        ['allowReserved', 'bool'],
        ['schema', 'SchemaOrReference'],
        ['example', 'any'],
      ),
      content: [13, 'MediaType{}'],
    },
    extensions: 14,
  },
  RequestBodyOrReference: orReference('RequestBody'),
  RequestBody: {
    fields: numbered(1, ['description', 'string'], ['content', 'MediaType{}'], ['required', 'bool']),
    extensions: 4,
  },
  MediaType: { fields: numbered(1, ['schema', 'SchemaOrReference'], ['example', 'any']), extensions: 5 },
  Responses: { fields: { default: [1, 'ResponseOrReference'] }, extensions: 3, others: [2, 'ResponseOrReference'] },
  ResponseOrReference: orReference('Response'),
  Response: {
    fields: numbered(1, ['description', 'string'], ['headers', 'HeaderOrReference{}'], ['content', 'MediaType{}']),
    extensions: 5,
  },
  HeaderOrReference: orReference('Header'),
  Header: {
    fields: {
      ...numbered(
        1,
        ['description', 'string'],
        ['required', 'bool'],
        ['deprecated', 'bool'],
        ['allowEmptyValue', 'bool'],
        ['style', 'string'],
        ['explode', 'bool'],
        ['allowReserved', 'bool'],
        ['schema', 'SchemaOrReference'],
        ['example', 'any'],
      ),
      content: [11, 'MediaType{}'],
    },
    extensions: 12,
  },
  Reference: { fields: numbered(1, ['$ref', 'string'], ['summary', 'string'], ['description', 'string']) },

  Components: {
    fields: {
      schemas: [1, 'SchemaOrReference{}'],
      responses: [2, 'ResponseOrReference{}'],
      parameters: [3, 'ParameterOrReference{}'],
      requestBodies: [5, 'RequestBodyOrReference{}'],
      headers: [6, 'HeaderOrReference{}'],
      securitySchemes: [7, 'SecuritySchemeOrReference{}'],
    },
    extensions: 10,
  },
  SchemaOrReference: orReference('Schema'),
  Schema: {
    fields: numbered(
      1,
      ['nullable', 'bool'],
      ['discriminator', 'Discriminator'],
      ['readOnly', 'bool'],
      ['writeOnly', 'bool'],
      ['xml', 'Xml'],
      ['externalDocs', 'ExternalDocs'],
      ['example', 'any'],
      ['deprecated', 'bool'],
      ['title', 'string'],
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
      ['type', 'string'],
      ['allOf', 'SchemaOrReference[]'],
      ['oneOf', 'SchemaOrReference[]'],
      ['anyOf', 'SchemaOrReference[]'],
      ['not', 'Schema'],
      ['items', 'ItemsItem'],
      ['properties', 'SchemaOrReference{}'],
      ['additionalProperties', 'AdditionalPropertiesItem'],
      ['default', 'DefaultType'],
      ['description', 'string'],
      ['format', 'string'],
    ),
    extensions: 36,
  },
  Discriminator: { fields: numbered(1, ['propertyName', 'string'], ['mapping', 'string{}']), extensions: 3 },
  ItemsItem: () => [1, 'SchemaOrReference[]'],
  AdditionalPropertiesItem: (value) => (typeof value === 'boolean' ? [2, 'bool'] : [1, 'SchemaOrReference']),
  /** The message cannot express objects and lists: for these, clients only learn that there is a default. */
  DefaultType: (value) => {
    switch (typeof value) {
      case 'number':
        return [1, 'double'];
      case 'boolean':
        return [2, 'bool'];
      case 'string':
        return [3, 'string'];
      default:
        return undefined;
    }
  },
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
  SecuritySchemeOrReference: orReference('SecurityScheme'),
  SecurityScheme: {
    fields: {
      ...numbered(
        1,
        ['type', 'string'],
        ['description', 'string'],
        ['name', 'string'],
        ['in', 'string'],
        ['scheme', 'string'],
        ['bearerFormat', 'string'],
      ),
      openIdConnectUrl: [8, 'string'],
    },
    extensions: 9,
  },
});
