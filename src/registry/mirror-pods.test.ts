import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import { RegistryFixture } from './registry-fixture.ts';
import type { PatchFormat } from './write/patch-formats.ts';

/* No write can turn a pod into a mirror pod, or change or remove the mirror annotation. */

const pods = '/api/v1/namespaces/n/pods';
const mirror = 'orch.io/config.mirror';
const pointer = mirror.replace('/', '~1');

const spec = { nodeName: 'node', containers: [{ name: 'c', image: 'i' }] };
const podWith = (annotations: object, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', annotations: { kept: 'x', ...annotations } },
  spec,
  ...more,
});

async function opened(annotations: object, withNode = true): Promise<RegistryFixture> {
  const fixture = await RegistryFixture.open();
  const { containers } = spec;
  await fixture.call('POST', pods, podWith(annotations, withNode ? {} : { spec: { containers } }));
  return fixture;
}

interface Write {
  readonly method: string;
  readonly path: string;
  readonly patch?: PatchFormat;
  /** A body that sets the annotation; undefined removes it. */
  readonly body: (value: string | undefined, before: ApiObject) => unknown;
}

const valued = (value: string | undefined): object => (value === undefined ? {} : { [mirror]: value });
const put = (value: string | undefined, { metadata, ...rest }: ApiObject): unknown => {
  const { [mirror]: _, ...others } = metadata.annotations ?? {};
  return { ...rest, metadata: { ...metadata, annotations: { ...others, ...valued(value) } } };
};
const merge = (value: string | undefined): unknown => ({ metadata: { annotations: { [mirror]: value ?? null } } });
const operations = (value: string | undefined): unknown => [
  value === undefined
    ? { op: 'remove', path: `/metadata/annotations/${pointer}` }
    : { op: 'add', path: `/metadata/annotations/${pointer}`, value },
];
const replaceAll = (value: string | undefined): unknown => [
  { op: 'replace', path: '/metadata/annotations', value: valued(value) },
];
const apply = (value: string | undefined): unknown => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { annotations: valued(value) },
});

const ways = (door: string): Readonly<Record<string, Write>> => ({
  PUT: { method: 'PUT', path: `${pods}/p${door}`, body: put },
  'a merge patch': { method: 'PATCH', path: `${pods}/p${door}`, patch: 'merge', body: merge },
  'a strategic merge patch': { method: 'PATCH', path: `${pods}/p${door}`, patch: 'strategic', body: merge },
  'a JSON patch': { method: 'PATCH', path: `${pods}/p${door}`, patch: 'json', body: operations },
  'a JSON patch of all annotations': { method: 'PATCH', path: `${pods}/p${door}`, patch: 'json', body: replaceAll },
  'an apply': {
    method: 'PATCH',
    path: `${pods}/p${door}?fieldManager=m&force=true`,
    patch: 'apply',
    body: apply,
  },
});

const changes = [
  ['add', {}, 'hash', 'may not add mirror pod annotation'],
  ['add, empty', {}, '', 'may not add mirror pod annotation'],
  ['change', { [mirror]: 'hash' }, 'other', 'may not remove or update mirror pod annotation'],
  ['empty', { [mirror]: 'hash' }, '', 'may not remove or update mirror pod annotation'],
  ['fill', { [mirror]: '' }, 'hash', 'may not remove or update mirror pod annotation'],
  ['remove', { [mirror]: 'hash' }, undefined, 'may not remove or update mirror pod annotation'],
  ['remove, empty', { [mirror]: '' }, undefined, 'may not remove or update mirror pod annotation'],
] as const;

async function write(fixture: RegistryFixture, { method, path, patch, body }: Write, value: string | undefined) {
  if (patch) fixture.patchType = patch;
  const before = await fixture.object('GET', `${pods}/p`);
  return { method, path, body: body(value, before), before };
}

for (const door of ['', '/status']) {
  describe(`the mirror annotation of a pod by its ${door || 'own'} path`, () => {
    for (const [way, request] of Object.entries(ways(door))) {
      for (const [what, annotations, value, message] of changes) {
        // An apply without the annotation leaves it to its owner.
        if (way === 'an apply' && value === undefined) continue;
        test(`${way}: ${what}`, async () => {
          await using fixture = await opened(annotations);
          const { method, path, body, before } = await write(fixture, request, value);
          const error = await fixture.refusal(method, path, body);
          assert.equal(error.code, 422, error.message);
          assert.deepEqual(error.details?.causes, [
            {
              reason: 'FieldValueForbidden',
              message: `Forbidden: ${message}`,
              field: `metadata.annotations[${mirror}]`,
            },
          ]);
          assert.deepEqual(await fixture.object('GET', `${pods}/p`), before);
        });
      }

      test(`${way}: other annotations may change, on mirror pods and others`, async () => {
        for (const annotations of [{ [mirror]: 'hash' }, {}]) {
          await using fixture = await opened(annotations);
          const { method, path, body } = await write(fixture, request, annotations[mirror]);
          if (annotations[mirror] === undefined && way.startsWith('a JSON patch')) continue;
          await fixture.call(method, path, body);
          assert.equal((await fixture.object('GET', `${pods}/p`)).metadata.annotations?.[mirror], annotations[mirror]);
        }
      });
    }

    test('an apply without the annotation does not remove it', async () => {
      await using fixture = await RegistryFixture.open();
      fixture.patchType = 'apply';
      const path = `${pods}/p?fieldManager=m`;
      await fixture.call('PATCH', path, podWith({ [mirror]: 'hash' }));
      const error = await fixture.refusal('PATCH', path, podWith({}));
      assert.match(error.message, /may not remove or update mirror pod annotation/);
    });
  });
}

describe('ephemeral containers', () => {
  const door = ways('/ephemeralcontainers');
  for (const [way, request] of Object.entries(door)) {
    test(`${way} leaves the annotations of a pod as they are`, async () => {
      await using fixture = await opened({});
      const { method, path, body } = await write(fixture, request, 'hash');
      await fixture.call(method, path, body);
      assert.deepEqual((await fixture.object('GET', `${pods}/p`)).metadata.annotations, { kept: 'x' });
    });

    for (const value of ['hash', '']) {
      test(`${way}: rejected for a mirror pod (annotation ${JSON.stringify(value)})`, async () => {
        await using fixture = await opened({ [mirror]: value });
        const { method, path, body } = await write(fixture, request, value);
        const error = await fixture.refusal(method, path, body);
        assert.match(error.message, /static pods do not support ephemeral containers/);
      });
    }
  }
});

for (const [path, value] of [
  [`${pods}/p/binding`, 'hash'],
  [`${pods}/p/binding`, ''],
  ['/api/v1/namespaces/n/bindings', 'hash'],
  ['/api/v1/namespaces/n/bindings', ''],
] as const) {
  test(`a binding does not create a mirror pod: ${path} ${JSON.stringify(value)}`, async () => {
    const annotations = { [mirror]: value };
    await using fixture = await opened({}, false);
    const binding = { metadata: { name: 'p', annotations }, target: { kind: 'Node', name: 'node' } };
    const error = await fixture.refusal('POST', path, binding);
    assert.equal(error.code, 422);
    assert.match(error.message, /may not add mirror pod annotation/);
    const pod = await fixture.object('GET', `${pods}/p`);
    assert.deepEqual(
      [pod.metadata.annotations, (pod['spec'] as { nodeName?: string }).nodeName],
      [{ kept: 'x' }, undefined],
    );
  });
}

test('a mirror pod is created with its node, or not at all', async () => {
  await using fixture = await RegistryFixture.open();
  const error = await fixture.refusal(
    'POST',
    pods,
    podWith({ [mirror]: 'hash' }, { spec: { containers: spec.containers } }),
  );
  assert.deepEqual(error.details?.causes, [
    {
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "hash": must set spec.nodeName if mirror pod annotation is set',
      field: `metadata.annotations[${mirror}]`,
    },
  ]);
});
