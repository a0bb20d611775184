import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { codeOnly, isTest, isTestSupport, localImports, readSources } from '../../../tools/source-tree.ts';
import { limits } from '../../base/limits.ts';
import { orch } from '../../dialect/orch.ts';
import { defineKind } from '../../kinds/define-kind.ts';
import { objectMeta } from '../../kinds/meta/object-meta.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { buildStructuralSchema } from '../../schema/structural/structural-schema.ts';
import { StoreError, type StoreErrorCode } from '../../store/store.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import { writeRaw } from './raw-write.ts';

const saved = (name: string, more: object = {}): ApiObject => ({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: {
    name,
    namespace: 'n',
    uid: `00000000-0000-4000-8000-00000000000${name.length}`,
    creationTimestamp: '2020-01-02T03:04:05Z',
    generation: 7,
    deletionTimestamp: '2021-01-02T03:04:05Z',
    deletionGracePeriodSeconds: 0,
    finalizers: ['example.com/hold'],
    managedFields: [
      {
        manager: 'once',
        operation: 'Apply',
        apiVersion: 'v1',
        time: '2020-01-02T03:04:05Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:k': {} } },
      },
    ],
    ...more,
  },
  data: { k: 'v' },
});
const path = '/api/v1/namespaces/n/configmaps';

describe('a raw write', () => {
  test('keeps everything but the resourceVersion; admission does not run', async () => {
    const refuse = () => {
      throw new Error('admission is asked');
    };
    await using fixture = await RegistryFixture.open({ admission: { mutate: refuse, validate: refuse } });
    const pod = {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p', namespace: 'n', uid: 'u-1', creationTimestamp: '2020-01-02T03:04:05Z' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
      status: { phase: 'Running' },
    };
    const objects = [saved('a', { resourceVersion: '4711' }), pod];
    const revisions = await writeRaw(fixture, structuredClone(objects));
    await fixture.cache.fresh();
    const a = await fixture.object('GET', `${path}/a`);
    assert.deepEqual(a, saved('a', { resourceVersion: String(revisions[0]) }));
    const found = await fixture.object('GET', '/api/v1/namespaces/n/pods/p');
    assert.deepEqual([found.metadata.uid, found['status']], ['u-1', { phase: 'Running' }]);
  });

  const role = { kind: 'Role', apiVersion: `${orch.group('rbac.authorization')}/v1` };
  const rows: readonly (readonly [what: string, object: unknown, message: RegExp])[] = [
    ['no object', 'x', /must be an object/],
    ['a kind that nobody serves', { ...saved('b'), kind: 'Thing' }, /no kind "Thing" is stored in "v1"/],
    ['a kind that is never stored', { ...saved('b'), kind: 'Binding' }, /no kind "Binding" is stored/],
    ['an unknown field', { ...saved('b'), datum: 1 }, /strict decoding error: unknown field "datum"/],
    ['a field of another type', { ...saved('b'), data: { k: 1 } }, /data\.k: expected string/],
    ['no uid', saved('b', { uid: '' }), /metadata\.uid: Required value/],
    ['no creation time', saved('b', { creationTimestamp: null }), /metadata\.creationTimestamp: Required value/],
    ['no namespace', saved('b', { namespace: '' }), /metadata\.namespace: Required value/],
    [
      'a namespace where there is none',
      { ...saved('b'), kind: 'Node', data: undefined },
      /metadata\.namespace: Forbidden/,
    ],
    ['labels that are none', saved('b', { labels: { 'a b': '' } }), /metadata\.labels/],
    [
      'what the schema refuses',
      { ...saved('b'), ...role, data: undefined, rules: [{ verbs: 7 }] },
      /rules\[0\]\.verbs/,
    ],
    ['one that is there', saved('there'), /configmaps "there" already exists/],
    ['one that comes twice', saved('a'), /configmaps "a" already exists/],
  ];
  for (const [what, wrong, message] of rows) {
    test(`with ${what} writes nothing`, async () => {
      await using fixture = await RegistryFixture.open();
      await writeRaw(fixture, [saved('there')]);
      const head = await fixture.store.head();
      await assert.rejects(writeRaw(fixture, structuredClone([saved('a'), wrong])), { message });
      assert.equal(await fixture.store.head(), head);
    });
  }

  describe('of a custom object', () => {
    const ruled = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            size: { type: 'integer', maximum: 9 },
            replicas: { type: 'integer' },
            tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
            frozen: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf' }] },
          },
          'x-kubernetes-validations': [{ rule: 'has(self.size)', message: 'a size is needed' }],
        },
      },
    };
    const widget = defineKind({
      ...{ group: 'raw.example.com', kind: 'Widget', scope: 'Namespaced' },
      schema: buildStructuralSchema(ruled, { objectMeta }),
      subresources: [
        {
          ...{ type: 'scale', name: 'scale', verbs: [] },
          specReplicas: ['spec', 'replicas'],
          statusReplicas: ['status'],
        },
      ],
    });
    const savedWidget = (spec: object): ApiObject => {
      const { managedFields: _, ...metadata } = saved('w').metadata;
      return { kind: 'Widget', apiVersion: 'raw.example.com/v1', metadata, spec };
    };
    const wrong: Readonly<Record<string, readonly [spec: object, message: RegExp]>> = {
      'that breaks a rule': [{ replicas: 1 }, /spec: Invalid value: "object": a size is needed/],
      'that its schema refuses': [{ size: 10 }, /spec\.size in body should be less than or equal to 9/],
      'of another type': [{ size: 'x' }, /spec\.size in body must be of type integer.*rules were not checked/],
      'with duplicates': [{ size: 1, tags: ['a', 'a'] }, /spec\.tags\[1\]: Duplicate value: "a"/],
      'whose Scale is wrong': [{ size: 1, replicas: -1 }, /\.spec\.replicas: Invalid value: -1/],
    };
    for (const [what, [spec, message]] of Object.entries(wrong)) {
      test(`${what} writes nothing`, async () => {
        await using fixture = await RegistryFixture.open({ kinds: [widget] });
        const head = await fixture.store.head();
        await assert.rejects(writeRaw(fixture, [saved('a'), savedWidget(spec)]), { message });
        assert.equal(await fixture.store.head(), head);
      });
    }

    test('that is valid is written, whatever its transition rules say', async () => {
      await using fixture = await RegistryFixture.open({ kinds: [widget] });
      assert.equal((await writeRaw(fixture, [savedWidget({ size: 1, frozen: 'x' })])).length, 1);
    });
  });

  const large = 'v'.repeat(1024 * 1024 - 100);
  const tooMany: readonly (readonly [what: string, count: number, object: (name: string) => ApiObject])[] = [
    ['objects', limits.storeBatchWritesMax + 1, (name) => saved(name)],
    ['bytes', 17, (name) => ({ ...saved(name), data: { k: large } })],
  ];
  for (const [what, count, object] of tooMany) {
    test(`with more ${what} than the store takes at once is too large and writes nothing`, async () => {
      await using fixture = await RegistryFixture.open();
      const head = await fixture.store.head();
      const objects = Array.from({ length: count }, (_, index) => object(`a${index}`));
      await assert.rejects(writeRaw(fixture, objects), { reason: 'RequestEntityTooLarge' });
      assert.equal(await fixture.store.head(), head);
    });
  }

  test('that the store rejects writes nothing, and names the object', async () => {
    await using fixture = await RegistryFixture.open();
    await writeRaw(fixture, [saved('b')]);
    const { records } = await fixture.store.list('/');
    await assert.rejects(writeRaw(fixture, [saved('a'), saved('b'), saved('c')]), /configmaps "b" already exists/);
    assert.deepEqual((await fixture.store.list('/')).records, records);
  });

  const failures: readonly (readonly [code: StoreErrorCode, reason: string])[] = [
    ['unknownOutcome', 'Timeout'],
    ['full', 'ServiceUnavailable'],
    ['unavailable', 'ServiceUnavailable'],
  ];
  for (const [code, reason] of failures) {
    test(`whose batch is ${code}: ${reason}`, async () => {
      await using fixture = await RegistryFixture.open();
      fixture.store.batch = async () => {
        throw new StoreError(code, 'as the test says');
      };
      await assert.rejects(writeRaw(fixture, [saved('a')]), { reason });
    });
  }

  test('is, besides the writer of requests, all that writes objects to a store', () => {
    const writes = /\bstore\s*\.\s*(?:create|update|batch)\(/i;
    const sources = readSources(resolve(import.meta.dirname, '../../..'), ['src']);
    const writers = sources.filter(
      (file) =>
        !isTest(file) &&
        !isTestSupport(file) &&
        !file.path.startsWith('src/store/') &&
        writes.test(codeOnly(file.text)),
    );
    assert.deepEqual(writers.map((file) => file.path).sort(), [
      // The first objects of an empty store.
      'src/registry/write/initial-object.ts',
      'src/registry/write/raw-write.ts',
      'src/registry/write/write-with-claims.ts',
      // On behalf of the writer, on the thread for heavy work.
      'src/server/serving/heavy/heavy-work.ts',
      // Records of the server's own.
      'src/server/upkeep/claim-repair.ts',
      'src/server/upkeep/claim-store.ts',
      'src/server/upkeep/server-presence.ts',
    ]);
  });

  test('is not reachable by requests: only commands import it', () => {
    const sources = readSources(resolve(import.meta.dirname, '../../..'), ['src']).filter((file) => !isTest(file));
    const importers = sources.filter((file) =>
      localImports(file).some(({ target }) => target === 'src/registry/write/raw-write.ts'),
    );
    assert.ok(sources.some(({ path: at }) => at === 'src/registry/write/raw-write.ts'));
    assert.deepEqual(
      importers.map((file) => file.path).filter((at) => !at.startsWith('src/cli/')),
      [],
    );
  });
});
