import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ApiObject } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { type StructSchema, schemaOf } from '../schema/schema.ts';
import { buildStructuralSchema } from '../schema/structural/structural-schema.ts';
import { contentOf, empty, step, thing } from './apply-fixture.ts';

/**
 * Objects whose values do not have the types of their schema, which may have changed since they were stored; decoding keeps
 * them until they are validated. Applying to them, and applying them, must end.
 */

const { metadata } = thing({}).fields;
if (!metadata) throw new Error('a thing has metadata');
const text = { type: 'string' };
const keyed = {
  type: 'object',
  required: ['constructor'],
  properties: { constructor: text, k: { type: 'integer', default: 3 }, v: text },
};
const schema: StructSchema = buildStructuralSchema(
  {
    type: 'object',
    properties: {
      a: text,
      b: { type: 'object', properties: { a: text, b: { type: 'integer', nullable: true } } },
      c: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
      d: {
        type: 'array',
        items: keyed,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['constructor', 'k'],
      },
      e: { type: 'object', additionalProperties: { type: 'object', properties: { a: text } } },
      f: { 'x-kubernetes-preserve-unknown-fields': true, properties: { a: text }, items: text },
      g: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: text } },
      h: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: text } },
      i: { type: 'object', additionalProperties: true },
      j: { 'x-kubernetes-int-or-string': true },
    },
  },
  { objectMeta: schemaOf(metadata) as StructSchema },
);

const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('x', 'y', '', 0, 1, 1.5, true, null, 2n ** 60n),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'k', 'v', 'constructor', '__proto__'), tie('any'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).any;
const content = fc.dictionary(fc.constantFrom(...'abcdefghij'), value, { maxKeys: 4, noNullPrototype: true });
const operation = fc.record({ type: fc.constantFrom('apply', 'update'), manager: fc.constantFrom('m', 'n'), content });

test('values of the wrong type are merged, or refused with a Status', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5 }), (operations) => {
      let state = empty;
      for (const { type, manager, content: sent } of operations) {
        try {
          state = step(
            schema,
            type === 'apply' ? { apply: manager, config: sent, force: true } : { update: manager, object: sent },
            state,
          );
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          assert.equal(error.code, 400);
        }
      }
      assert.equal(typeof contentOf(state.object as ApiObject | undefined), 'object');
    }),
    { numRuns: 500 },
  );
});
