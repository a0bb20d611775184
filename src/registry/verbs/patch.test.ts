import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { RegistryFixture } from '../registry-fixture.ts';
import type { PatchFormat } from '../write/patch-formats.ts';

const configMap = '/api/v1/namespaces/n/configmaps/a';
const pod = '/api/v1/namespaces/n/pods/a';
const lease = '/apis/coordination.orch.io/v1/namespaces/n/leases/a';

const account = '/api/v1/namespaces/n/serviceaccounts/a';

const samples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  [configMap]: { metadata: { name: 'a', labels: { x: 'y' } }, data: { a: '1', b: '2' } },
  [pod]: {
    metadata: { name: 'a', finalizers: ['example.com/one', 'example.com/two'] },
    spec: {
      containers: [
        { name: 'main', image: 'main:1' },
        { name: 'side', image: 'side:1', env: [{ name: 'E', value: '1' }] },
      ],
    },
  },
  [account]: { metadata: { name: 'a' }, secrets: [{ name: 'one' }, { name: 'two' }] },
  [lease]: { metadata: { name: 'a' }, spec: { holderIdentity: 'me' } },
};

const collectionOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

/** A registry with a sample object, and the stored object. */
async function holding(path: string): Promise<{ readonly fixture: RegistryFixture; readonly stored: ApiObject }> {
  const fixture = await RegistryFixture.open();
  return { fixture, stored: await fixture.object('POST', collectionOf(path), samples[path]) };
}

const at = (object: unknown, path: string): unknown =>
  path.split('.').reduce((value, step) => (value as Record<string, unknown> | undefined)?.[step], object);

interface Change {
  readonly rule: string;
  readonly type: PatchFormat;
  readonly path: string;
  readonly patch: unknown;
  /** Expected fields of the object. */
  readonly gives: Readonly<Record<string, unknown>>;
}

const changes: readonly Change[] = [
  {
    rule: 'JSON Patch: operations one after the other',
    type: 'json',
    path: configMap,
    patch: [
      { op: 'add', path: '/data/c', value: '3' },
      { op: 'move', from: '/data/c', path: '/data/d' },
      { op: 'copy', from: '/data/d', path: '/data/e' },
      { op: 'replace', path: '/data/a', value: '9' },
      { op: 'remove', path: '/data/b' },
    ],
    gives: { data: { a: '9', d: '3', e: '3' } },
  },
  {
    rule: 'JSON Patch: it may include test conditions',
    type: 'json',
    path: configMap,
    patch: [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'replace', path: '/data/a', value: '2' },
    ],
    gives: { data: { a: '2', b: '2' } },
  },
  {
    rule: 'JSON Patch: names with a slash and a tilde are written with escapes',
    type: 'json',
    path: configMap,
    patch: [{ op: 'add', path: '/metadata/labels/example.com~1x', value: 'y' }],
    gives: { 'metadata.labels': { x: 'y', 'example.com/x': 'y' } },
  },
  {
    rule: 'JSON Patch: an empty list of operations changes nothing',
    type: 'json',
    path: configMap,
    patch: [],
    gives: { data: { a: '1', b: '2' } },
  },
  {
    rule: 'JSON Merge Patch: null removes, the rest is merged',
    type: 'merge',
    path: configMap,
    patch: { data: { a: null, c: '3' } },
    gives: { data: { b: '2', c: '3' }, 'metadata.labels': { x: 'y' } },
  },
  {
    rule: 'JSON Merge Patch: lists are replaced whole',
    type: 'merge',
    path: pod,
    patch: { metadata: { finalizers: ['example.com/three'] } },
    gives: { 'metadata.finalizers': ['example.com/three'] },
  },
  {
    rule: 'strategic merge: lists with a merge key are merged by it',
    type: 'strategic',
    path: pod,
    patch: { spec: { containers: [{ name: 'side', image: 'side:2' }] } },
    gives: {
      'spec.containers.0.image': 'main:1',
      'spec.containers.1.image': 'side:2',
      'spec.containers.1.env': [{ name: 'E', value: '1' }],
    },
  },
  {
    rule: 'strategic merge: $patch: delete removes an element',
    type: 'strategic',
    path: account,
    patch: { secrets: [{ name: 'one', $patch: 'delete' }] },
    gives: { secrets: [{ name: 'two' }] },
  },
  {
    rule: 'strategic merge: $patch: replace replaces a map',
    type: 'strategic',
    path: configMap,
    patch: { data: { $patch: 'replace', z: '1' } },
    gives: { data: { z: '1' } },
  },
  {
    rule: 'strategic merge: $deleteFromPrimitiveList removes values',
    type: 'strategic',
    path: pod,
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/one'] } },
    gives: { 'metadata.finalizers': ['example.com/two'] },
  },
  {
    rule: 'strategic merge: $setElementOrder orders what is there',
    type: 'strategic',
    path: pod,
    patch: { metadata: { '$setElementOrder/finalizers': ['example.com/two', 'example.com/one'] } },
    gives: { 'metadata.finalizers': ['example.com/two', 'example.com/one'] },
  },
  {
    rule: 'strategic merge: $retainKeys keeps only what it names',
    type: 'strategic',
    path: configMap,
    patch: { data: { $retainKeys: ['a', 'c'], c: '3' } },
    gives: { data: { a: '1', c: '3' } },
  },
];

for (const { rule, type, path, patch, gives } of changes) {
  test(`${rule}`, async () => {
    const { fixture, stored } = await holding(path);
    await using _ = fixture;
    fixture.patchType = type;
    const patched = await fixture.object('PATCH', path, patch);
    for (const [field, value] of Object.entries(gives)) assert.deepEqual(at(patched, field), value, field);
    assert.equal(patched.metadata.uid, stored.metadata.uid);
    assert.deepEqual(await fixture.object('GET', path), patched);
  });
}

interface Refusal {
  readonly rule: string;
  readonly type: PatchFormat;
  readonly path?: string;
  readonly query?: string;
  readonly patch: unknown;
  readonly code: number;
  readonly message: RegExp;
}

const json = (...operations: readonly unknown[]): Pick<Refusal, 'type' | 'patch'> => ({
  type: 'json',
  patch: operations,
});
const merge = (patch: unknown): Pick<Refusal, 'type' | 'patch'> => ({ type: 'merge', patch });
const strategic = (patch: unknown): Pick<Refusal, 'type' | 'patch'> => ({ type: 'strategic', patch });

const refusals: readonly Refusal[] = [
  {
    rule: 'a test condition that fails',
    ...json({ op: 'test', path: '/data/a', value: '9' }),
    code: 422,
    message: /\[0\].*\/data\/a/,
  },
  {
    rule: 'a path into nothing',
    ...json({ op: 'replace', path: '/data/nothing/here', value: '' }),
    code: 422,
    message: /\/data\/nothing/,
  },
  { rule: 'a removal of nothing', ...json({ op: 'remove', path: '/data/zzz' }), code: 422, message: /\/data\/zzz/ },
  { rule: 'an operation that there is not', ...json({ op: 'jump', path: '/data' }), code: 400, message: /\[0\].*jump/ },
  { rule: 'an operation without a path', ...json({ op: 'remove' }), code: 400, message: /\[0\].*path/ },
  {
    rule: 'a JSON Patch that is no list',
    type: 'json',
    patch: { op: 'remove', path: '/data' },
    code: 400,
    message: /list|array/,
  },
  {
    rule: 'more operations than the limit',
    ...json(...Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' }))),
    code: 413,
    message: /10000.*10001/,
  },
  {
    rule: 'copies that grow past the limit (CVE-2019-1002100)',
    ...json(
      { op: 'add', path: '/metadata/annotations', value: { a: 'x'.repeat(1000) } },
      ...Array.from({ length: 60 }, (_, n) => ({
        op: 'copy',
        from: '/metadata/annotations',
        path: `/metadata/annotations/c${n}`,
      })),
    ),
    code: 422,
    message: /\[12\]\.from.*exceeding the limit/,
  },
  { rule: 'a merge patch that is a list', ...merge([]), code: 400, message: /object/ },
  { rule: 'a merge patch that is text', ...merge('x'), code: 400, message: /object/ },
  { rule: 'a strategic patch that is a list', ...strategic([]), code: 400, message: /object/ },
  {
    rule: 'a directive that there is not',
    ...strategic({ data: { $patch: 'explode' } }),
    code: 400,
    message: /data.*explode/,
  },
  {
    rule: 'an element without its merge key',
    path: pod,
    ...strategic({ spec: { containers: [{ image: 'x' }] } }),
    code: 400,
    message: /containers.*name/,
  },
  { rule: 'a result of the wrong type', ...merge({ data: { a: 1 } }), code: 400, message: /data.*expected string/ },
  { rule: 'a result that is no object', ...json({ op: 'replace', path: '', value: 1 }), code: 400, message: /object/ },
  { rule: 'another kind', ...merge({ kind: 'Secret' }), code: 400, message: /kind/ },
  { rule: 'another version', ...merge({ apiVersion: 'v2' }), code: 400, message: /API version/ },
  { rule: 'another name', ...merge({ metadata: { name: 'b' } }), code: 400, message: /\(b\) does not match.*\(a\)/ },
  { rule: 'no name', ...merge({ metadata: { name: null } }), code: 400, message: /name must be provided/ },
  { rule: 'another namespace', ...merge({ metadata: { namespace: 'm' } }), code: 400, message: /namespace/ },
  {
    rule: 'another uid',
    ...merge({ metadata: { uid: 'u' } }),
    code: 422,
    message: /metadata\.uid: Invalid value: "u": field is immutable$/,
  },
  {
    rule: 'a version that is not the current one',
    ...merge({ metadata: { resourceVersion: '999999' } }),
    code: 409,
    message: /the object has been modified/,
  },
  {
    rule: 'no version, where the kind demands one',
    path: lease,
    ...merge({ metadata: { resourceVersion: null } }),
    code: 422,
    message: /metadata\.resourceVersion: .*must be specified for an update/,
  },
  {
    rule: 'a result that is invalid',
    ...merge({ metadata: { labels: { 'no label!': 'x' } } }),
    code: 422,
    message: /metadata\.labels/,
  },
  {
    rule: 'a field that cannot be changed',
    path: pod,
    ...merge({ spec: { nodeSelector: { a: 'b' } } }),
    code: 422,
    message: /spec.*Forbidden/,
  },
  {
    rule: 'a deletion timestamp of an object that nobody deletes',
    ...merge({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    code: 422,
    message: /metadata\.deletionTimestamp: .*immutable/,
  },
  { rule: 'force=true with a JSON Patch', query: '?force=true', ...json(), code: 422, message: /force: Forbidden/ },
  {
    rule: 'force=false with a merge patch',
    query: '?force=false',
    ...merge({}),
    code: 422,
    message: /force: Forbidden/,
  },
  { rule: 'force with a strategic patch', query: '?force', ...strategic({}), code: 422, message: /force: Forbidden/ },
  { rule: 'another dryRun than All', query: '?dryRun=Some', ...merge({}), code: 422, message: /dryRun/ },
  {
    rule: 'a fieldValidation that there is not',
    query: '?fieldValidation=x',
    ...merge({}),
    code: 422,
    message: /fieldValidation/,
  },
  {
    rule: 'an absent object',
    path: `${configMap}bsent`,
    ...merge({}),
    code: 404,
    message: /configmaps "absent" not found/,
  },
  { rule: 'an absent object and JSON Patch', path: `${configMap}bsent`, ...json(), code: 404, message: /not found/ },
  {
    rule: 'a subresource that there is not',
    path: `${configMap}/status`,
    ...merge({}),
    code: 404,
    message: /could not find/,
  },
  { rule: 'a collection', path: collectionOf(configMap), ...merge({}), code: 405, message: /method/ },
];

for (const { rule, type, path = configMap, query = '', patch, code, message } of refusals) {
  test(`PATCH is refused with ${code}, and changes nothing: ${rule}`, async () => {
    const { fixture, stored } = await holding(samples[path] ? path : configMap);
    await using _ = fixture;
    const head = await fixture.store.head();
    fixture.patchType = type;
    const error = await fixture.refusal('PATCH', `${path}${query}`, patch);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.equal(await fixture.store.head(), head);
    const [kept] = (await fixture.list(collectionOf(samples[path] ? path : configMap))).items;
    assert.deepEqual(kept, stored);
  });
}

test('a patch without a body is refused', async () => {
  const { fixture } = await holding(configMap);
  await using _ = fixture;
  assert.equal((await fixture.refusal('PATCH', configMap)).code, 400);
});

const same: readonly (readonly [type: PatchFormat, patch: unknown])[] = [
  ['json', [{ op: 'replace', path: '/data/a', value: '1' }]],
  ['merge', { data: { a: '1' } }],
  ['strategic', { data: { a: '1' } }],
  ['merge', { metadata: { labels: { absent: null } } }],
];
for (const [type, patch] of same) {
  test(`a ${type} patch that changes nothing makes no new version: ${JSON.stringify(patch)}`, async () => {
    const { fixture, stored } = await holding(configMap);
    await using _ = fixture;
    fixture.patchType = type;
    assert.deepEqual(await fixture.object('PATCH', configMap, patch), stored);
    assert.equal(String(await fixture.store.head()), stored.metadata.resourceVersion);
  });
}

const versioned: readonly (readonly [type: PatchFormat, patch: (version: string) => unknown])[] = [
  [
    'json',
    (version) => [
      { op: 'test', path: '/metadata/resourceVersion', value: version },
      { op: 'add', path: '/data/c', value: '3' },
    ],
  ],
  ['merge', (version) => ({ metadata: { resourceVersion: version }, data: { c: '3' } })],
  ['strategic', (version) => ({ metadata: { resourceVersion: version }, data: { c: '3' } })],
];
for (const [type, patchOf] of versioned) {
  test(`a ${type} patch with the current resourceVersion succeeds once`, async () => {
    const { fixture, stored } = await holding(configMap);
    await using _ = fixture;
    fixture.patchType = type;
    const patch = patchOf(stored.metadata.resourceVersion ?? '');
    assert.deepEqual((await fixture.object('PATCH', configMap, patch))['data'], { a: '1', b: '2', c: '3' });
    const again = await fixture.refusal('PATCH', configMap, patch);
    assert.equal(again.code, type === 'json' ? 422 : 409);
  });
}

for (const type of ['json', 'merge', 'strategic'] as const) {
  test(`${type} patch: admission sees the merged object beside the stored one, and its refusal keeps all as it was`, async () => {
    const seen: AdmissionAttributes[] = [];
    const admission = {
      mutate(attributes: AdmissionAttributes) {
        if (attributes.operation === 'update' && attributes.object) attributes.object['immutable'] = true;
      },
      validate(attributes: AdmissionAttributes) {
        if (attributes.operation !== 'update') return;
        seen.push(attributes);
        if (at(attributes.object, 'data.a') === 'no') throw new Error('not that');
      },
    };
    await using fixture = await RegistryFixture.open({ admission });
    await fixture.call('POST', collectionOf(configMap), samples[configMap]);
    fixture.patchType = type;
    const patch = (value: string): unknown =>
      type === 'json' ? [{ op: 'replace', path: '/data/a', value }] : { data: { a: value } };
    await assert.rejects(fixture.call('PATCH', configMap, patch('no')), /not that/);
    assert.equal(at(await fixture.object('GET', configMap), 'data.a'), '1');
    const patched = await fixture.object('PATCH', configMap, patch('yes'));
    assert.equal(patched['immutable'], true, 'what admission sets is stored');
    const last = seen.at(-1);
    assert.deepEqual([at(last?.old, 'data.a'), at(last?.object, 'data'), last?.name], ['1', { a: 'yes', b: '2' }, 'a']);
  });
}

test('a patch of the status changes the status alone', async () => {
  const { fixture, stored } = await holding(pod);
  await using _ = fixture;
  const both = { status: { message: 'm' }, spec: { hostname: 'h' }, metadata: { labels: { l: 'm' } } };
  const patched = await fixture.object('PATCH', `${pod}/status`, both);
  assert.equal(at(patched, 'status.message'), 'm');
  assert.deepEqual(patched['spec'], stored['spec']);
  const main = await fixture.object('PATCH', pod, { status: { message: 'n' } });
  assert.deepEqual(main, patched);
});

test('a dry run of a patch shows the result and stores nothing', async () => {
  const { fixture, stored } = await holding(configMap);
  await using _ = fixture;
  for (const query of ['dryRun=All', 'dryRun']) {
    const shown = await fixture.object('PATCH', `${configMap}?${query}`, { data: { a: '9' } });
    assert.equal(at(shown, 'data.a'), '9');
    assert.equal(shown.metadata.resourceVersion, stored.metadata.resourceVersion);
    assert.deepEqual(await fixture.object('GET', configMap), stored);
  }
});

test('concurrent patches are all applied', async () => {
  const { fixture } = await holding(configMap);
  await using _ = fixture;
  fixture.patchType = 'json';
  const add = (n: number) => fixture.call('PATCH', configMap, [{ op: 'add', path: `/data/k${n}`, value: 'x' }]);
  await Promise.all(Array.from({ length: 20 }, (_, n) => add(n)));
  assert.equal(Object.keys(at(await fixture.object('GET', configMap), 'data') as object).length, 22);
});

const hostile = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"data":{"__proto__":"p"}}';
const hostileOperations = `[
  {"op":"add","path":"/__proto__/polluted","value":1},
  {"op":"add","path":"/constructor/prototype/polluted","value":1},
  {"op":"add","path":"/data/__proto__","value":"p"}
]`;
const hostilePatches: readonly (readonly [type: PatchFormat, patch: string])[] = [
  ['merge', hostile],
  ['strategic', hostile],
  ['json', hostileOperations],
  ['json', '[{"op":"add","path":"/data/__proto__","value":"p"}]'],
  ['json', '[{"op":"copy","from":"/data","path":"/__proto__"}]'],
  ['strategic', '{"$patch":"replace","__proto__":{"polluted":1}}'],
  ['strategic', '{"metadata":{"$setElementOrder/__proto__":["x"],"$retainKeys":["__proto__","name"]}}'],
];
for (const [type, patch] of hostilePatches) {
  test(`a ${type} patch reaches no prototype: ${patch.replaceAll(/\s+/g, ' ').slice(0, 80)}`, async () => {
    const { fixture } = await holding(configMap);
    await using _ = fixture;
    fixture.patchType = type;
    await fixture.call('PATCH', configMap, patch).catch((error) => assert.ok(error.code < 500, error.stack));
    assert.equal(({} as { polluted?: number }).polluted, undefined);
    assert.equal(Object.getPrototypeOf(await fixture.object('GET', configMap)), Object.prototype);
    const { data } = (await fixture.object('GET', configMap)) as { data?: object };
    assert.equal(Object.getPrototypeOf(data ?? {}), Object.prototype);
  });
}
