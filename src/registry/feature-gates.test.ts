import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { alphaOf, gadget } from '../kinds/gated-kind-fixture.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { Admission } from '../request/admission.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { RegistryFixture } from './registry-fixture.ts';
import type { PatchFormat } from './write/patch-formats.ts';

const gadgets = '/apis/test.example.com/v1/namespaces/n/gadgets';
const apiVersion = 'test.example.com/v1';
const all = new Set(['Colours', 'Fresh', 'Gadgets']);

const sent = (spec: object, more: object = {}) => ({
  apiVersion,
  kind: 'Gadget',
  metadata: { name: 'g' },
  spec,
  ...more,
});
const specOf = (object: ApiObject): unknown => object['spec'];
const disabled = { colour: 'red', parts: [{ name: 'p', fresh: 'x' }], byName: { k: { name: 'q', fresh: 'y' } } };
const dropped = { parts: [{ name: 'p' }], byName: { k: { name: 'q' } } };

interface Way {
  readonly method: string;
  readonly target: string;
  readonly patch?: PatchFormat;
  readonly body: (spec: object) => unknown;
}

const create: Way = { method: 'POST', target: gadgets, body: (spec) => sent(spec) };
const onCreate: Readonly<Record<string, Way>> = {
  'a create': create,
  'a create by apply': {
    method: 'PATCH',
    target: `${gadgets}/g?fieldManager=me`,
    patch: 'apply',
    body: (spec) => sent(spec),
  },
};
const onUpdate: Readonly<Record<string, Way>> = {
  'an update': { method: 'PUT', target: `${gadgets}/g`, body: (spec) => sent(spec) },
  'a merge patch': { method: 'PATCH', target: `${gadgets}/g`, patch: 'merge', body: (spec) => ({ spec }) },
  'a strategic merge patch': {
    method: 'PATCH',
    target: `${gadgets}/g`,
    patch: 'strategic',
    body: (spec) => ({ spec }),
  },
  'a JSON patch': {
    method: 'PATCH',
    target: `${gadgets}/g`,
    patch: 'json',
    body: (spec) => [{ op: 'add', path: '/spec', value: spec }],
  },
  'an apply': {
    method: 'PATCH',
    target: `${gadgets}/g?fieldManager=me&force=true`,
    patch: 'apply',
    body: (spec) => sent(spec),
  },
};

async function write(fixture: RegistryFixture, { method, target, patch, body }: Way, spec: object): Promise<ApiObject> {
  if (patch) fixture.patchType = patch;
  return fixture.object(method, target, body(spec));
}

const open = (features: ReadonlySet<string>, admission?: Admission, store = openMemoryStore()) =>
  RegistryFixture.open({ kinds: [gadget], features, store, ...(admission && { admission }) });

describe('fields of a feature that is off', () => {
  for (const [what, way] of Object.entries(onCreate)) {
    test(`are dropped by ${what}, and with the feature kept`, async () => {
      await using off = await open(new Set());
      assert.deepEqual(specOf(await write(off, way, disabled)), dropped);
      await using on = await open(all);
      assert.deepEqual(specOf(await write(on, way, disabled)), disabled);
    });
  }

  test('have no owner', async () => {
    await using off = await open(new Set());
    const made = await write(off, create, disabled);
    const put: Way = { method: 'PUT', target: `${gadgets}/g`, body: (spec) => sent(spec) };
    const changed = await write(off, put, { ...disabled, size: 2 });
    for (const { metadata } of [made, changed])
      assert.doesNotMatch(JSON.stringify(metadata.managedFields), /colour|fresh/);
  });

  for (const [what, way] of Object.entries(onUpdate)) {
    test(`are dropped by ${what} of an object without them`, async () => {
      await using off = await open(new Set());
      await write(off, create, { size: 1 });
      assert.deepEqual(specOf(await write(off, way, { ...disabled, size: 2 })), { ...dropped, size: 2 });
    });

    test(`are kept by ${what} of an object that has them, feature by feature`, async () => {
      const store = openMemoryStore();
      await using on = await open(all, undefined, store);
      await write(on, create, { colour: 'red', byName: { k: { name: 'q' } } });
      await using off = await open(new Set(), undefined, store);
      const spec = { ...disabled, colour: 'blue' };
      assert.deepEqual(specOf(await write(off, way, spec)), { ...dropped, colour: 'blue' });
    });
  }

  test('are dropped from a status, and kept if it has them already', async () => {
    const store = openMemoryStore();
    await using on = await open(all, undefined, store);
    await using off = await open(new Set(), undefined, store);
    await write(off, create, { size: 1 });
    const put = async (fixture: RegistryFixture, status: object) =>
      (await fixture.object('PUT', `${gadgets}/g/status`, sent({}, { status })))['status'];
    await off.cache.fresh();
    assert.deepEqual(await put(off, { phase: 'a', shade: 'x' }), { phase: 'a' });
    await on.cache.fresh();
    assert.deepEqual(await put(on, { phase: 'b', shade: 'x' }), { phase: 'b', shade: 'x' });
    await off.cache.fresh();
    assert.deepEqual(await put(off, { phase: 'c', shade: 'y' }), { phase: 'c', shade: 'y' });
  });

  test('are kept by an endpoint that looks at no gates, and by later writes elsewhere', async () => {
    const subresources = gadget.subresources.map((each) =>
      each.type === 'view' ? { ...each, keepsGatedFields: true as const } : each,
    );
    await using off = await RegistryFixture.open({ kinds: [{ ...gadget, subresources }], features: new Set() });
    await write(off, create, { size: 1 });
    const status = { phase: 'a', shade: 'x' };
    const put = await off.object('PUT', `${gadgets}/g/status`, sent({}, { status }));
    assert.deepEqual(put['status'], status);
    assert.match(JSON.stringify(put.metadata.managedFields), /shade/);
    const changed = await off.object('PUT', `${gadgets}/g`, sent({ size: 2, parts: [{ fresh: 'x' }] }));
    assert.deepEqual([changed['spec'], changed['status']], [{ size: 2, parts: [{}] }, status]);
  });

  for (const operation of ['create', 'update'] as const) {
    test(`are dropped if admission adds them to ${operation === 'create' ? 'a new object' : 'a changed one'}`, async () => {
      await using off = await open(new Set(), {
        mutate: (attributes) => {
          if (attributes.operation === operation)
            Object.assign(attributes.object?.['spec'] as object, { colour: 'red' });
        },
        validate() {},
      });
      const { parts, byName } = disabled;
      const made = await write(off, create, { parts, byName });
      const changed = await write(
        off,
        { method: 'PUT', target: `${gadgets}/g`, body: (spec) => sent(spec) },
        { parts, byName },
      );
      for (const object of [made, changed]) assert.deepEqual(specOf(object), dropped);
    });
  }
});

describe('a version behind a feature', () => {
  const found = (fixture: RegistryFixture, version: string): boolean =>
    fixture.resources.find(gadget.group, version, gadget.resource) !== undefined;
  const stored = { ...gadget, gate: 'Stable' };
  const versions = [stored, alphaOf(stored)];
  const rows: readonly (readonly [on: readonly string[], v1: boolean, v2alpha1: boolean])[] = [
    [['Stable', 'Gadgets'], true, true],
    [['Stable'], true, false],
    [['Gadgets'], false, true],
    [[], false, false],
  ];
  for (const [on, v1, v2alpha1] of rows) {
    test(`is served if its gates are enabled: ${on.join(' and ') || 'none'}`, async () => {
      await using fixture = await RegistryFixture.open({ kinds: versions, features: new Set(on) });
      assert.deepEqual([found(fixture, 'v1'), found(fixture, 'v2alpha1')], [v1, v2alpha1]);
      const resources = [...fixture.resources.stored()].filter(({ kind }) => kind.kind === 'Gadget');
      assert.equal(resources.length, v1 || v2alpha1 ? 1 : 0);
    });
  }

  test('can be the storage version without being served', async () => {
    await using fixture = await RegistryFixture.open({ kinds: versions, features: new Set(['Gadgets']) });
    const target = gadgets.replace('/v1/', '/v2alpha1/');
    const made = await fixture.object('POST', target, { metadata: { name: 'g' }, spec: { size: 1 } });
    assert.equal(made['apiVersion'], 'test.example.com/v2alpha1');
    const [record] = (await fixture.store.list('/test.example.com/')).records;
    assert.equal(JSON.parse(Buffer.from(record?.value ?? '').toString()).apiVersion, apiVersion);
    assert.equal((await fixture.object('GET', `${target}/g`))['apiVersion'], 'test.example.com/v2alpha1');
  });
});
