import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openapiSchemas } from './openapi.ts';
import {
  always,
  anyObject,
  anyValue,
  bool,
  bytes,
  documentedEnum,
  int64,
  intOrString,
  list,
  map,
  microTime,
  number,
  opt,
  quantity,
  req,
  type StructSchema,
  string,
  struct,
  time,
  undocumentedEnum,
} from './schema.ts';

const part: StructSchema = struct(
  'test.v1.Part',
  'A part.',
  { name: req(1, string(), 'Its name.'), parts: opt(2, () => list(part), 'Its own parts.') },
  { structType: 'atomic' },
);

const thing = struct('test.v1.Thing', 'A thing.', {
  mode: opt(1, string({ enum: ['On', 'Off'] }), 'Mode.', { default: 'On' }),
  count: always(2, int64(), 'Count.'),
  ratio: opt(3, number(), 'Ratio.'),
  flag: opt(4, bool(), 'Flag.', { deprecated: true }),
  data: opt(5, map(bytes(), { mapType: 'atomic' }), 'Data.'),
  when: opt(6, time(), 'When.'),
  exact: opt(7, microTime(), 'Exactly when.'),
  amounts: opt(8, map(quantity()), 'Amounts.'),
  port: opt(9, intOrString(), 'Port.'),
  parts: opt(10, list(part, { patchStrategy: 'merge', patchMergeKey: 'name' }), 'Parts.'),
  words: opt(11, list(string(), { listType: 'set' }), 'Words.'),
  part: always(12, part, 'One.', { patchStrategy: 'retainKeys' }),
  raw: opt(13, anyObject(), 'Raw.'),
  value: opt(14, anyValue(), 'Value.'),
});

const openValues = struct('test.v1.Open', '', {
  mode: opt(1, documentedEnum('On', 'Off'), ''),
  quiet: opt(5, undocumentedEnum('On', 'Off'), ''),
  raw: opt(2, anyObject({ name: 'test.v1.Raw' }), ''),
  value: opt(3, anyValue({ name: 'test.v1.Value' }), ''),
  shown: opt(4, anyValue({ name: 'test.v1.Shown', documentedAs: 'object' }), ''),
});

for (const [version, refs] of [
  [2, (name: string) => ({ $ref: `#/definitions/io.test.v1.${name}` })],
  [3, (name: string) => ({ allOf: [{ $ref: `#/components/schemas/io.test.v1.${name}` }] })],
] as const) {
  test(`version ${version}: values that documents name although kinds validate them, and named free-form values`, () => {
    const schemas = openapiSchemas({ roots: [openValues], version, prefix: 'io', extension: 'test' });
    const { properties } = schemas['io.test.v1.Open'] as { properties: Record<string, unknown> };
    assert.deepEqual(properties, {
      mode: { description: '', type: 'string', enum: ['Off', 'On'] },
      quiet: { description: '', type: 'string' },
      raw: { description: '', ...refs('Raw') },
      value: { description: '', ...refs('Value') },
      shown: { description: '', ...refs('Shown') },
    });
    assert.deepEqual(schemas['io.test.v1.Raw'], { description: 'Any JSON object.', type: 'object' });
    assert.deepEqual(schemas['io.test.v1.Value'], { description: 'Any JSON value.' });
    assert.deepEqual(schemas['io.test.v1.Shown'], { description: 'Any JSON value.', type: 'object' });
  });
}

test('a union, and a list of which the published type names no merge type', () => {
  const choice = struct(
    'test.v1.Choice',
    'A choice.',
    { type: req(1, string(), ''), one: opt(2, list(string(), { typeUndocumented: true }), '') },
    { documentedUnion: { discriminator: 'type', fields: ['one', 'theOther'] } },
  );
  const schemas = openapiSchemas({ roots: [choice], version: 2, prefix: 'io', extension: 'test' });
  const { properties, ...rest } = schemas['io.test.v1.Choice'] as { properties: Record<string, unknown> };
  assert.deepEqual(properties['one'], { description: '', type: 'array', items: { type: 'string' } });
  assert.deepEqual(rest, {
    description: 'A choice.',
    type: 'object',
    required: ['type'],
    'x-test-unions': [{ discriminator: 'type', 'fields-to-discriminateBy': { one: 'One', theOther: 'TheOther' } }],
  });
});

const kinds = new Map([[thing, [{ group: 'g', version: 'v1', kind: 'Thing', resource: 'things' }]]]);
const document = (version: 2 | 3): Record<string, unknown> =>
  openapiSchemas({ roots: [thing], version, prefix: 'io.test', extension: 'test', kinds });

test('version 3', () => {
  const ref = (name: string): unknown => ({ $ref: `#/components/schemas/io.test.${name}` });
  assert.deepEqual(document(3), {
    'io.test.apimachinery.pkg.api.resource.Quantity': {
      description: 'An exact number with a unit, such as 500m, 2Gi or 1e3.',
      oneOf: [{ type: 'string' }, { type: 'number' }],
    },
    'io.test.apimachinery.pkg.apis.meta.v1.MicroTime': {
      description: 'A time in RFC 3339 form.',
      type: 'string',
      format: 'date-time',
    },
    'io.test.apimachinery.pkg.apis.meta.v1.Time': {
      description: 'A time in RFC 3339 form.',
      type: 'string',
      format: 'date-time',
    },
    'io.test.apimachinery.pkg.util.intstr.IntOrString': {
      description: 'An integer or a string.',
      oneOf: [{ type: 'integer' }, { type: 'string' }],
      format: 'int-or-string',
    },
    'io.test.test.v1.Part': {
      description: 'A part.',
      type: 'object',
      properties: {
        name: { description: 'Its name.', type: 'string', default: '' },
        parts: {
          description: 'Its own parts.',
          type: 'array',
          items: { allOf: [ref('test.v1.Part')], default: {} },
          'x-test-list-type': 'atomic',
        },
      },
      required: ['name'],
      'x-test-map-type': 'atomic',
    },
    'io.test.test.v1.Thing': {
      description: 'A thing.',
      type: 'object',
      properties: {
        mode: { description: 'Mode.', type: 'string', enum: ['Off', 'On'], default: 'On' },
        count: { description: 'Count.', type: 'integer', format: 'int64', default: 0 },
        ratio: { description: 'Ratio.', type: 'number', format: 'double' },
        flag: { description: 'Flag.', type: 'boolean', deprecated: true },
        data: {
          description: 'Data.',
          type: 'object',
          additionalProperties: { type: 'string', format: 'byte' },
          'x-test-map-type': 'atomic',
        },
        when: { description: 'When.', allOf: [ref('apimachinery.pkg.apis.meta.v1.Time')] },
        exact: { description: 'Exactly when.', allOf: [ref('apimachinery.pkg.apis.meta.v1.MicroTime')] },
        amounts: {
          description: 'Amounts.',
          type: 'object',
          additionalProperties: ref('apimachinery.pkg.api.resource.Quantity'),
        },
        port: { description: 'Port.', allOf: [ref('apimachinery.pkg.util.intstr.IntOrString')] },
        parts: {
          description: 'Parts.',
          type: 'array',
          items: { allOf: [ref('test.v1.Part')], default: {} },
          'x-test-list-type': 'map',
          'x-test-list-map-keys': ['name'],
          'x-test-patch-strategy': 'merge',
          'x-test-patch-merge-key': 'name',
        },
        words: {
          description: 'Words.',
          type: 'array',
          items: { type: 'string', default: '' },
          'x-test-list-type': 'set',
        },
        part: {
          description: 'One.',
          allOf: [ref('test.v1.Part')],
          default: {},
          'x-test-patch-strategy': 'retainKeys',
        },
        raw: { description: 'Raw.', type: 'object' },
        value: { description: 'Value.' },
      },
      required: ['count'],
      'x-test-group-version-kind': [{ group: 'g', version: 'v1', kind: 'Thing' }],
    },
  });
});

test('version 2 has plain references, one type for each value, and no defaults', () => {
  const schemas = document(2);
  assert.deepEqual(Object.keys(schemas), Object.keys(document(3)));
  assert.deepEqual(schemas['io.test.apimachinery.pkg.util.intstr.IntOrString'], {
    description: 'An integer or a string.',
    type: 'string',
    format: 'int-or-string',
  });
  const { properties } = schemas['io.test.test.v1.Thing'] as { properties: Record<string, unknown> };
  assert.deepEqual(properties['mode'], { description: 'Mode.', type: 'string', enum: ['Off', 'On'] });
  assert.deepEqual(properties['part'], {
    description: 'One.',
    $ref: '#/definitions/io.test.test.v1.Part',
    'x-test-patch-strategy': 'retainKeys',
  });
  assert.doesNotMatch(JSON.stringify(schemas), /allOf|oneOf|"default"|components/);
});

test('every reference leads to a schema', () => {
  for (const version of [2, 3] as const) {
    const schemas = document(version);
    for (const [, name = ''] of JSON.stringify(schemas).matchAll(/"\$ref":"#\/[a-z/]+\/([^"]+)"/g)) {
      assert.ok(Object.hasOwn(schemas, name), name);
    }
  }
});
