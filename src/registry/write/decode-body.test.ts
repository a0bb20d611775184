import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectMeta } from '../../kinds/meta/object-meta.ts';
import { buildStructuralSchema } from '../../schema/structural/structural-schema.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import { decodeObject, withKind } from './decode-body.ts';

/** What a body says that it is: published texts. */

const kind = { group: 'apps', version: 'v1', kind: 'Deployment' };
const alsoFrom = [{ group: 'apps', version: 'v1beta2' }];
const is = { apiVersion: 'apps/v1', kind: 'Deployment', spec: {} };
const differs = (sent: string) =>
  `the API version in the data (${sent}) does not match the expected API version (apps/v1)`;

const rows: readonly (readonly [sent: object, outcome: object | string])[] = [
  [{ apiVersion: 'apps/v1', kind: 'Deployment', spec: {} }, is],
  [{ spec: {} }, is],
  [{ apiVersion: '', kind: '', spec: {} }, is],
  [{ apiVersion: 'apps/v1beta2', kind: 'Deployment', spec: {} }, is],
  [{ apiVersion: 'apps/v1beta1', kind: 'Deployment' }, differs('apps/v1beta1')],
  [{ apiVersion: 'v1' }, differs('v1')],
  [{ apiVersion: 1 }, differs('number')],
  [{ kind: 'Pod' }, 'the kind in the data ("Pod") does not match the expected kind (Deployment)'],
];

for (const [sent, outcome] of rows) {
  test(`the kind of a body: ${JSON.stringify(sent)}`, () => {
    const read = () => withKind(sent, { ...kind, alsoFrom });
    if (typeof outcome === 'object') assert.deepEqual(read(), outcome);
    else assert.throws(read, { message: outcome });
  });
}

test('the kind of a body: an apply of another version', async () => {
  await using fixture = await RegistryFixture.open();
  fixture.patchType = 'apply';
  const { code, message } = await fixture.refusal('PATCH', '/apis/apps/v1/namespaces/n/deployments/d?fieldManager=me', {
    ...{ apiVersion: 'apps/v1beta1', kind: 'Deployment' },
  });
  assert.deepEqual(
    [code, message],
    [400, 'Incorrect version specified in apply patch. Specified patch version: apps/v1beta1, expected: apps/v1'],
  );
});

test('a custom object: another kind is invalid, and unknown fields are told in the order of pruning', () => {
  const schema = buildStructuralSchema(
    {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            o: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { a: { type: 'string' } } },
          },
        },
      },
    },
    { objectMeta },
  );
  const widget = { group: 'example.com', version: 'v1', kind: 'Widget', schema };
  assert.throws(() => decodeObject({ kind: 'Other', metadata: { name: 'a' } }, widget, () => {}), {
    code: 422,
    message: 'Other.example.com "a" is invalid: kind: Invalid value: "Other": must be Widget',
  });
  let unknown: readonly string[] = [];
  const o = { kind: 'K', apiVersion: 'v1', metadata: { z: 1 }, y: 1 };
  decodeObject({ metadata: { name: 'a' }, spec: { x: 1, o, b: 1 } }, widget, (fields) => {
    unknown = fields;
  });
  assert.deepEqual(
    unknown,
    ['spec.b', 'spec.o.y', 'spec.x', 'spec.o.metadata.z'].map((path) => `unknown field "${path}"`),
  );
});
