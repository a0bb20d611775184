import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFieldError } from '../../meta/field-error.ts';
import { decode } from '../decode.ts';
import { applyDefaults } from '../defaults.ts';
import { string, struct } from '../schema.ts';
import { validate } from '../validate.ts';
import { readStructuralSchema } from './structural-schema.ts';

const objectMeta = struct('apimachinery.pkg.apis.meta.v1.ObjectMeta', 'What every object has.', {
  name: { schema: string(), required: false, presence: 'implicit' },
});

test('a schema of every type', () => {
  const { schema, errors } = readStructuralSchema(
    {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          required: ['text'],
          properties: {
            text: { type: 'string', maxLength: 3 },
            count: { type: 'integer', default: 3 },
            port: { 'x-kubernetes-int-or-string': true },
            map: { type: 'object', additionalProperties: { type: 'string' } },
            list: { type: 'array', items: { type: 'number' } },
            raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            constructor: { type: 'boolean' },
          },
        },
      },
    },
    { path: 'spec', objectMeta },
  );
  assert.deepEqual(errors, []);
  assert(schema);
  const sent = {
    metadata: { name: 'a' },
    spec: {
      count: null,
      port: 1.5,
      map: { a: 1, b: null },
      list: [1, null, 'x'],
      raw: { a: [1] },
      constructor: 3,
      more: 1,
    },
  };
  const { value, unknown, errors: mismatches } = decode(schema, sent);
  applyDefaults(schema, value);
  assert.deepEqual(unknown, ['spec.more']);
  assert.deepEqual(mismatches, []);
  assert.deepEqual(
    validate(schema, value).map((error) => `${error.type} ${error.field}: ${describeFieldError(error)}`),
    [
      'FieldValueTypeInvalid spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"',
      'FieldValueTypeInvalid spec.map.a: Invalid value: "integer": spec.map.a in body must be of type string: "integer"',
      'FieldValueTypeInvalid spec.list[1]: Invalid value: "null": spec.list[1] in body must be of type number: "null"',
      'FieldValueTypeInvalid spec.list[2]: Invalid value: "string": spec.list[2] in body must be of type number: "string"',
      'FieldValueTypeInvalid spec.constructor: Invalid value: "integer": spec.constructor in body must be of type boolean: "integer"',
      'FieldValueRequired spec.text: Required value',
    ],
  );
});
