import { describe } from 'node:test';
import { limits } from '../../base/limits.ts';
import { check, definitionOf, label, one, type Part, schemaOf, versionOf } from './definition-fixture.ts';

const two = (first: Part, second: Part): Part =>
  definitionOf({ versions: [versionOf(first), versionOf({ name: 'v2', storage: false, ...second })] });
const scale = (more: Part): Part =>
  one({
    subresources: { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas', ...more } },
  });
const column = (more: Part): Part =>
  one({ additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size', ...more }] });

describe('errors of definitions: versions', () => {
  const other = { a: { type: 'string' } };
  const long = 'x'.repeat(257);
  const fields = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`f${index}`, { type: 'string' }]));
  const paths = Object.keys(fields).map((name) => ({ jsonPath: `.${name}` }));
  const selectable = (properties: Part, ...jsonPaths: string[]): Part =>
    one({ schema: schemaOf(properties), selectableFields: jsonPaths.map((jsonPath) => ({ jsonPath })) });
  const invalidPath = (path: string, problem: string): string =>
    `spec.selectableFields[0].jsonPath: Invalid value: "${path}": is an invalid path: ${problem}`;
  const wrongType =
    'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
  check([
    ['names', one({ name: 'V1' }), `spec.versions[0].name: Invalid value: "V1": ${label}`],
    [
      'equal names',
      two({}, { name: 'v1' }),
      'spec.versions: Invalid value: []string{"v1", "v1"}: must contain unique version names',
    ],
    [
      'no stored one',
      one({ storage: false }),
      'spec.versions: Invalid value: []string{"v1"}: must have exactly one version marked as storage version',
      'status.storedVersions: Invalid value: []string(nil): must have at least one stored version',
    ],
    [
      'two stored ones',
      two({}, { storage: true }),
      'spec.versions: Invalid value: []string{"v1", "v2"}: must have exactly one version marked as storage version',
      'status.storedVersions: Invalid value: []string{"v1"}: must have the storage version v2',
    ],
    [
      'too many',
      definitionOf({
        versions: Array.from({ length: limits.definitionListMax + 1 }, (_, index) =>
          versionOf({ name: `v${index}`, storage: index === 0 }),
        ),
      }),
      `spec.versions: Too many: ${limits.definitionListMax + 1}: must have at most ${limits.definitionListMax} items`,
    ],
    [
      'no schema',
      one({ schema: undefined }),
      'spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required',
    ],
    [
      'no schema in one of them',
      two({}, { schema: {} }),
      'spec.versions[1].schema.openAPIV3Schema: Required value: schemas are required',
    ],
    [
      'the only schema',
      one({ schema: schemaOf({ a: {} }) }),
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'equal schemas',
      two({ schema: schemaOf({ a: {} }) }, { schema: schemaOf({ a: {} }) }),
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'one of several schemas',
      two({ schema: schemaOf({ a: {} }) }, { schema: schemaOf(other) }),
      'spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'restrictions of the root beside a status',
      one({ schema: schemaOf({}, { maxProperties: 3 }), subresources: { status: {} } }),
      'spec.validation.openAPIV3Schema: Invalid value: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled',
    ],
    ['restrictions of the root without one', one({ schema: schemaOf({}, { maxProperties: 3 }) })],
    [
      'what the root says by default, beside a status',
      one({ schema: schemaOf({}, { nullable: false, id: '', anyOf: [] }), subresources: { status: {} } }),
    ],
    [
      'a root that is no object beside a status',
      one({ schema: { openAPIV3Schema: { type: 'string' } }, subresources: { status: {} } }),
      'spec.validation.openAPIV3Schema.type: Invalid value: "string": only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      'spec.validation.openAPIV3Schema.type: Invalid value: "string": must be object at the root',
    ],
    [
      'a warning without deprecation',
      one({ deprecationWarning: 'old' }),
      'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
    ],
    [
      'an empty warning',
      one({ deprecated: true, deprecationWarning: '' }),
      'spec.versions[0].deprecationWarning: Invalid value: "": must not be an empty string',
    ],
    [
      'a long warning',
      one({ deprecated: true, deprecationWarning: long }),
      `spec.versions[0].deprecationWarning: Invalid value: "${long}": must be <= 256 characters long`,
    ],
    [
      'a warning of two lines',
      one({ deprecated: true, deprecationWarning: 'ä\nb' }),
      'spec.versions[0].deprecationWarning: Invalid value: "ä\\nb": must only contain printable UTF-8 characters; non-printable character found at index 2',
    ],
    ['a good warning', one({ deprecated: true, deprecationWarning: 'use v2, “soon”' })],

    [
      'scale: no paths',
      scale({ specReplicasPath: '', statusReplicasPath: undefined }),
      'spec.subresources.scale.specReplicasPath: Required value',
      'spec.subresources.scale.statusReplicasPath: Required value',
    ],
    [
      'scale: spec',
      scale({ specReplicasPath: '.status.replicas' }),
      'spec.subresources.scale.specReplicasPath: Invalid value: ".status.replicas": should be a json path under .spec',
    ],
    [
      'scale: status',
      scale({ statusReplicasPath: '.spec.replicas' }),
      'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.replicas": should be a json path under .status',
    ],
    [
      'scale: no dot',
      scale({ specReplicasPath: 'spec.replicas' }),
      'spec.subresources.scale.specReplicasPath: Invalid value: "spec.replicas": must be a simple json path starting with .',
    ],
    [
      'scale: selector',
      scale({ labelSelectorPath: '.metadata.labels' }),
      'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.labels": should be a json path under either .spec or .status',
    ],
    ['scale: empty selector', scale({ labelSelectorPath: '' })],
    [
      'scale in one of two versions',
      two({ subresources: { scale: {} } }, {}),
      'spec.versions[0].subresources.scale.specReplicasPath: Required value',
      'spec.versions[0].subresources.scale.statusReplicasPath: Required value',
    ],

    [
      'column: nothing',
      one({ additionalPrinterColumns: [{}] }),
      'spec.additionalPrinterColumns[0].name: Required value',
      'spec.additionalPrinterColumns[0].type: Required value: must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Required value',
    ],
    [
      'column: type',
      column({ type: 'object' }),
      'spec.additionalPrinterColumns[0].type: Invalid value: "object": must be one of boolean,date,integer,number,string',
    ],
    [
      'column: format',
      column({ format: 'name' }),
      'spec.additionalPrinterColumns[0].format: Invalid value: "name": must be one of byte,date,date-time,double,float,int32,int64,password',
    ],
    [
      'column: path',
      column({ jsonPath: 'spec.size' }),
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.size": must be a simple json path starting with .',
    ],
    [
      'column in one of two versions',
      two({}, { additionalPrinterColumns: [{ name: 'a', type: 'string' }] }),
      'spec.versions[1].additionalPrinterColumns[0].JSONPath: Required value',
    ],
    [
      'too many columns',
      one({
        additionalPrinterColumns: Array.from({ length: limits.printerColumnsMax + 1 }, () => ({
          name: 'a',
          type: 'string',
          jsonPath: '.a',
        })),
      }),
      `spec.additionalPrinterColumns: Too many: ${limits.printerColumnsMax + 1}: must have at most ${limits.printerColumnsMax} items`,
    ],

    ['selectable: no path', selectable(other, ''), 'spec.selectableFields[0].jsonPath: Required value'],
    ['selectable: unknown field', selectable(other, '.b'), invalidPath('.b', 'does not refer to a valid field')],
    [
      'selectable: array notation',
      selectable(other, ".a['b']"),
      invalidPath(".a['b']", 'array notation is not allowed'),
    ],
    ['selectable: no dot', selectable(other, 'a'), invalidPath('a', 'expected [ or . but got: a')],
    ['selectable: no name', selectable(other, '.'), invalidPath('.', 'unexpected end of JSON path')],
    [
      'selectable: inherited name',
      selectable(other, '.constructor'),
      invalidPath('.constructor', 'does not refer to a valid field'),
    ],
    [
      'selectable: metadata',
      selectable({ metadata: { type: 'object', properties: { name: { type: 'string' } } } }, '.metadata.name'),
      'spec.selectableFields[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata',
    ],
    [
      'selectable: type',
      selectable({ a: { type: 'object' } }, '.a'),
      `spec.selectableFields[0].jsonPath: Invalid value: ".a": ${wrongType}`,
    ],
    ['selectable: twice', selectable(other, '.a', '.a'), 'spec.selectableFields[1].jsonPath: Duplicate value: ".a"'],
    [
      'selectable: too many',
      one({ schema: schemaOf(fields), selectableFields: paths }),
      'spec.selectableFields: Too many: 9: must have at most 8 items',
    ],
    [
      'selectable: strings, booleans, integers and keys',
      selectable(
        {
          a: { type: 'string', enum: ['x'] },
          b: { type: 'boolean' },
          c: { type: 'integer' },
          d: { type: 'object', additionalProperties: { type: 'string' } },
        },
        '.a',
        '.b',
        '.c',
        '.d.k',
      ),
    ],
    [
      'selectable: no schema',
      one({ schema: undefined, selectableFields: [{ jsonPath: '.a' }] }),
      'spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required',
      'spec.selectableFields: Invalid value: "": selectableFields may only be set when validations.schema is included',
    ],
    [
      'selectable: equal in versions whose schemas differ',
      two(
        { schema: schemaOf(other), selectableFields: [{ jsonPath: '.a' }] },
        { schema: schemaOf({ b: { type: 'string' } }), selectableFields: [{ jsonPath: '.a' }] },
      ),
      'spec.versions[1].selectableFields[0].jsonPath: Invalid value: ".a": is an invalid path: does not refer to a valid field',
    ],
  ]);
});
