import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import type { PatchFormat } from './patch-formats.ts';

/** The size limit of stored objects, `limits.objectBytesMax`, for every kind of write, with and without dry run. */

const roles = '/apis/rbac.authorization.orch.io/v1/clusterroles';
const role = `${roles}/a`;
const nodes = '/api/v1/nodes';
const nodeStatus = `${nodes}/a/status`;

const text = (bytes: number): string => 'x'.repeat(bytes);
const rulesOf = (bytes: number) => [
  { apiGroups: [''], resources: ['pods'], verbs: ['get'], resourceNames: [text(bytes)] },
];
const roleOf = (bytes: number, metadata: object = {}) => ({
  apiVersion: 'rbac.authorization.orch.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'a', ...metadata },
  rules: rulesOf(bytes),
});
const nodeOf = (bytes: number) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'a' },
  status: { images: [{ names: [text(bytes)], sizeBytes: 1 }] },
});

interface Way {
  readonly what: string;
  readonly method: string;
  readonly target: string;
  readonly patch?: PatchFormat;
  /** A body that makes the object about this large. */
  readonly body: (bytes: number) => unknown;
}

const changesOf = (target: string, object: (bytes: number) => object, field: string, set: (bytes: number) => unknown) =>
  [
    { what: 'PUT', method: 'PUT', target, body: object },
    { what: 'a merge patch', method: 'PATCH', patch: 'merge', target, body: (n: number) => nest(field, set(n)) },
    {
      what: 'a strategic patch',
      method: 'PATCH',
      patch: 'strategic',
      target,
      body: (n: number) => nest(field, set(n)),
    },
    {
      what: 'a JSON patch',
      method: 'PATCH',
      patch: 'json',
      target,
      body: (n: number) => [{ op: 'add', path: `/${field.replaceAll('.', '/')}`, value: set(n) }],
    },
    { what: 'an apply', method: 'PATCH', patch: 'apply', target: `${target}?fieldManager=m&force=true`, body: object },
  ] satisfies Way[];

const nest = (field: string, value: unknown): unknown =>
  field.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);

const images = (bytes: number): unknown => nodeOf(bytes).status.images;
const changes: readonly Way[] = [
  ...changesOf(role, roleOf, 'rules', rulesOf),
  ...changesOf(nodeStatus, nodeOf, 'status.images', images).map((way) => ({ ...way, what: `${way.what} of a status` })),
];
const creations: readonly Way[] = [
  { what: 'POST', method: 'POST', target: roles, body: roleOf },
  { what: 'an apply that creates', method: 'PATCH', patch: 'apply', target: `${role}?fieldManager=m`, body: roleOf },
];

const onTrial = (target: string, dryRun: boolean): string =>
  dryRun ? `${target}${target.includes('?') ? '&' : '?'}dryRun=All` : target;

const keyOf = (fixture: RegistryFixture, target: string): string => fixture.served(target).objectKey('', 'a');

async function send(fixture: RegistryFixture, way: Way, bytes: number, dryRun = false): Promise<ApiObject> {
  if (way.patch) fixture.patchType = way.patch;
  return fixture.object(way.method, onTrial(way.target, dryRun), way.body(bytes));
}

async function refusal(fixture: RegistryFixture, way: Way, bytes: number, dryRun = false) {
  if (way.patch) fixture.patchType = way.patch;
  return fixture.refusal(way.method, onTrial(way.target, dryRun), way.body(bytes));
}

/** Just below the limit including what the server adds, and above it. */
const fitting = limits.objectBytesMax - 4_096;
const tooLarge = limits.objectBytesMax;

describe('an object that would be larger than the limit is refused', () => {
  for (const dryRun of [false, true]) {
    const when = dryRun ? ', on trial' : '';
    for (const way of creations) {
      test(`${way.what}${when}`, async () => {
        await using fixture = await RegistryFixture.open();
        const error = await refusal(fixture, way, tooLarge, dryRun);
        assert.equal(error.code, 413);
        assert.equal(error.reason, 'RequestEntityTooLarge');
        assert.match(error.message, new RegExp(`^Request entity too large: .*; limit is ${limits.objectBytesMax}$`));
        assert.equal(await fixture.store.get(keyOf(fixture, role)), undefined);
        await send(fixture, way, fitting, dryRun);
      });
    }
    for (const way of changes) {
      test(`${way.what}${when}`, async () => {
        await using fixture = await RegistryFixture.open();
        await fixture.call('POST', roles, roleOf(1));
        await fixture.call('POST', nodes, nodeOf(1));
        const key = keyOf(fixture, way.target);
        const before = await fixture.store.get(key);
        const error = await refusal(fixture, way, tooLarge, dryRun);
        assert.deepEqual([error.code, error.reason], [413, 'RequestEntityTooLarge']);
        assert.deepEqual(await fixture.store.get(key), before);
        await send(fixture, way, fitting, dryRun);
      });
    }
  }

  test('by many small steps', async () => {
    await using fixture = await RegistryFixture.open();
    await fixture.call('POST', roles, roleOf(1));
    fixture.patchType = 'json';
    const step = [{ op: 'add', path: '/rules/-', value: rulesOf(500_000)[0] }];
    const codes: number[] = [];
    for (let index = 0; index < 10; index++) {
      const answer = fixture.call('PATCH', role, step).then(
        () => 200,
        (error) => error.code,
      );
      codes.push(await answer);
    }
    assert.deepEqual(codes, [...Array(6).fill(200), ...Array(4).fill(413)]);
  });

  test('by a patch that copies existing content', async () => {
    await using fixture = await RegistryFixture.open();
    await fixture.call('POST', roles, roleOf(400_000));
    fixture.patchType = 'json';
    const copies = Array.from({ length: 9 }, () => ({ op: 'copy', from: '/rules/0', path: '/rules/-' }));
    assert.equal((await fixture.refusal('PATCH', role, copies)).code, 422, 'what one patch copies is bounded');
    await fixture.call('PATCH', role, copies.slice(0, 6));
    assert.equal((await fixture.refusal('PATCH', role, copies.slice(0, 1))).code, 413);
  });
});

describe('a stored object larger than the limit', () => {
  const large = limits.objectBytesMax + 100_000;

  /**
   * Creates a small object and enlarges it directly in the store, as another program or an older version could have.
   */
  async function holding(make: (bytes: number) => object, collection: string): Promise<RegistryFixture> {
    const fixture = await RegistryFixture.open();
    await fixture.call('POST', collection, make(1));
    const key = fixture.served(collection).objectKey('', 'a');
    const record = await fixture.store.get(key);
    assert.ok(record);
    const value = Buffer.from(
      Buffer.from(record.value)
        .toString()
        .replace('["x"]', `["${text(large)}"]`),
    );
    await fixture.store.update(key, value, record.revision);
    await fixture.cache.fresh();
    return fixture;
  }

  for (const way of changes) {
    const isStatus = way.target.startsWith(nodeStatus);
    const held = () => holding(isStatus ? nodeOf : roleOf, isStatus ? nodes : roles);

    test(`may be made smaller by ${way.what}, and not larger`, async () => {
      await using fixture = await held();
      const key = keyOf(fixture, way.target);
      for (const dryRun of [true, false]) assert.equal((await refusal(fixture, way, large + 1_000, dryRun)).code, 413);
      const before = await fixture.store.get(key);
      await send(fixture, way, large - 1_000, true);
      assert.deepEqual(await fixture.store.get(key), before);
      await send(fixture, way, large - 1_000);
      const after = await fixture.store.get(key);
      assert.ok((after?.value.length ?? 0) > limits.objectBytesMax, 'it is still above the limit');
      assert.ok((after?.value.length ?? 0) < (before?.value.length ?? 0));
    });
  }

  test('may be written unchanged', async () => {
    await using fixture = await holding(nodeOf, nodes);
    fixture.patchType = 'merge';
    const { status } = nodeOf(large);
    await fixture.object('PATCH', nodeStatus, { status });
    const other = { images: [{ names: ['y'.repeat(large)], sizeBytes: 1 }] };
    await fixture.object('PATCH', nodeStatus, { status: other });
  });

  for (const finalizers of [undefined, ['example.com/a', 'example.com/b']]) {
    const what = finalizers ? 'with finalizers' : 'without finalizers';
    for (const policy of ['Background', 'Foreground', 'Orphan']) {
      test(`is deleted ${what}, ${policy}`, async () => {
        await using fixture = await holding((bytes) => roleOf(bytes, finalizers && { finalizers }), roles);
        await fixture.call('DELETE', role, { propagationPolicy: policy });
        await fixture.cache.fresh();
        if (!finalizers && policy === 'Background') {
          assert.equal((await fixture.refusal('GET', role)).code, 404);
          return;
        }
        assert.ok((await fixture.object('GET', role)).metadata.deletionTimestamp);
        await fixture.call('DELETE', role, { propagationPolicy: 'Background' });
        fixture.patchType = 'json';
        for (const _ of finalizers ?? []) {
          await fixture.object('PATCH', role, [{ op: 'remove', path: '/metadata/finalizers/0' }]);
        }
        await fixture.cache.fresh();
        assert.equal((await fixture.refusal('GET', role)).code, 404);
      });
    }
    test(`is deleted with its collection ${what}`, async () => {
      await using fixture = await holding((bytes) => roleOf(bytes, finalizers && { finalizers }), roles);
      await fixture.call('DELETE', roles);
      await fixture.cache.fresh();
      if (finalizers) assert.ok((await fixture.object('GET', role)).metadata.deletionTimestamp);
      else assert.equal((await fixture.refusal('GET', role)).code, 404);
    });
  }

  const without = (...finalizers: string[]) => ({ metadata: { finalizers } });
  const removals: readonly (readonly [PatchFormat | 'PUT', body: unknown])[] = [
    ['PUT', roleOf(large, { finalizers: ['example.com/b'] })],
    ['merge', without('example.com/b')],
    ['strategic', { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } }],
    ['json', [{ op: 'remove', path: '/metadata/finalizers/0' }]],
  ];
  for (const [way, body] of removals) {
    test(`loses a finalizer by ${way}`, async () => {
      const metadata = { finalizers: ['example.com/a', 'example.com/b'] };
      await using fixture = await holding((bytes) => roleOf(bytes, metadata), roles);
      if (way !== 'PUT') fixture.patchType = way;
      await fixture.object(way === 'PUT' ? 'PUT' : 'PATCH', role, body);
      await fixture.cache.fresh();
      assert.deepEqual((await fixture.object('GET', role)).metadata.finalizers, ['example.com/b']);
    });
  }
});
