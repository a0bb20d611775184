import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { StatusError } from '../meta/status-error.ts';
import { formatTime } from '../meta/time.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { StoreError } from '../store/store.ts';
import { RegistryFixture } from './registry-fixture.ts';

const configMaps = '/api/v1/namespaces/n/configmaps';
const configMap = (name: string, value = '1', metadata = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data: { value },
});

test('create gives the object its uid, time, namespace and version, whatever the client says', async () => {
  const clock = new ManualClock();
  await using fixture = await RegistryFixture.open({ clock });
  const sent = configMap('a', '1', {
    uid: 'mine',
    creationTimestamp: '2001-01-01T00:00:00Z',
    deletionTimestamp: '2001-01-01T00:00:00Z',
    generation: 7,
    selfLink: '/x',
  });
  const { metadata } = await fixture.object('POST', configMaps, sent);
  assert.match(metadata.uid ?? '', /^[0-9a-f]{8}-/);
  assert.equal(metadata.creationTimestamp, formatTime(clock.now()));
  assert.equal(metadata.namespace, 'n');
  assert.match(metadata.resourceVersion ?? '', /^\d+$/);
  assert.deepEqual(
    [metadata.deletionTimestamp, metadata.generation, metadata.selfLink],
    [undefined, undefined, undefined],
  );
});

const refusedCreations: readonly (readonly [
  what: string,
  path: string,
  body: unknown,
  code: number,
  message: RegExp,
])[] = [
  ['of another kind', configMaps, { kind: 'Secret', metadata: { name: 'a' } }, 400, /kind/],
  ['of another version', configMaps, { apiVersion: 'v2', metadata: { name: 'a' } }, 400, /API version/],
  ['of another namespace', configMaps, configMap('a', '1', { namespace: 'm' }), 400, /namespace/],
  ['with a version', configMaps, configMap('a', '1', { resourceVersion: '5' }), 400, /resourceVersion/],
  ['without a name', configMaps, { data: {} }, 422, /name or generateName is required/],
  ['with a bad name', configMaps, configMap('Bad'), 422, /metadata\.name: Invalid value: "Bad"/],
  [
    'with wrong types',
    configMaps,
    { metadata: { name: 'a' }, data: { a: 1 } },
    400,
    /data.*expected string, got number/,
  ],
  ['that is a list', configMaps, [], 400, /object/],
  ['that is text', configMaps, 'x', 400, /object/],
  ['that is nothing', configMaps, undefined, 400, /expected in the body/],
  [
    'in a namespace, of a cluster kind',
    '/api/v1/namespaces/n/nodes',
    { metadata: { name: 'a' } },
    404,
    /could not find/,
  ],
  [
    'outside of namespaces, of a namespaced kind',
    '/api/v1/configmaps',
    configMap('a'),
    405,
    /does not allow this method/,
  ],
  ['at the path of an object', `${configMaps}/a`, configMap('a'), 405, /method/],
];
for (const [what, path, body, code, message] of refusedCreations) {
  test(`create: an object ${what} is refused with ${code}`, async () => {
    await using fixture = await RegistryFixture.open();
    const error = await fixture.refusal('POST', path, body);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.equal((await fixture.list('/api/v1/configmaps')).items.length, 0);
  });
}

test('create: a name that is taken is 409 AlreadyExists', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', configMaps, configMap('a'));
  const error = await fixture.refusal('POST', configMaps, configMap('a', '2'));
  assert.equal(error.reason, 'AlreadyExists');
  assert.equal(error.message, 'configmaps "a" already exists');
  assert.deepEqual((await fixture.object('GET', `${configMaps}/a`))['data'], { value: '1' });
});

test('generateName: a suffix of five characters, drawn again after collisions, and 409 when none is free', async () => {
  const store = openMemoryStore();
  let collisions = 2;
  const create = store.create.bind(store);
  store.create = async (key, value) => {
    if (key.includes('gen-') && collisions-- > 0) throw new StoreError('exists', 'taken', { key });
    return create(key, value);
  };
  await using fixture = await RegistryFixture.open({ store });
  const body = { metadata: { generateName: 'gen-' } };
  const { metadata } = await fixture.object('POST', configMaps, body);
  assert.match(metadata.name ?? '', /^gen-[a-z0-9]{5}$/);
  assert.equal(metadata.generateName, 'gen-');
  collisions = 1000;
  assert.equal((await fixture.refusal('POST', configMaps, body)).reason, 'AlreadyExists');
});

test('update: the resourceVersion is a precondition; without one the newest state is overwritten', async () => {
  await using fixture = await RegistryFixture.open();
  const first = await fixture.object('POST', configMaps, configMap('a'));
  const second = await fixture.object('PUT', `${configMaps}/a`, { ...first, data: { value: '2' } });
  assert.deepEqual(second['data'], { value: '2' });
  assert.notEqual(second.metadata.resourceVersion, first.metadata.resourceVersion);
  const stale = await fixture.refusal('PUT', `${configMaps}/a`, { ...first, data: { value: '3' } });
  assert.equal(stale.reason, 'Conflict');
  const third = await fixture.object('PUT', `${configMaps}/a`, configMap('a', '4'));
  assert.deepEqual(third['data'], { value: '4' });
  assert.equal(third.metadata.uid, first.metadata.uid);
  assert.equal(third.metadata.creationTimestamp, first.metadata.creationTimestamp);
});

test('an update that changes nothing creates no new version', async () => {
  await using fixture = await RegistryFixture.open();
  const first = await fixture.object('POST', configMaps, configMap('a'));
  const head = await fixture.store.head();
  const again = await fixture.object('PUT', `${configMaps}/a`, configMap('a'));
  assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion);
  assert.equal(await fixture.store.head(), head);
});

const refusedUpdates: readonly (readonly [what: string, body: unknown, code: number])[] = [
  ['another name', configMap('b'), 400],
  ['another namespace', configMap('a', '1', { namespace: 'm' }), 400],
  ['another uid', configMap('a', '1', { uid: 'other' }), 409],
  ['a version that is none', configMap('a', '1', { resourceVersion: 'x' }), 400],
  ['invalid labels', configMap('a', '1', { labels: { 'not a label!': 'x' } }), 422],
];
for (const [what, body, code] of refusedUpdates) {
  test(`update: ${what} is refused with ${code} and changes nothing`, async () => {
    await using fixture = await RegistryFixture.open();
    const first = await fixture.object('POST', configMaps, configMap('a'));
    assert.equal((await fixture.refusal('PUT', `${configMaps}/a`, body)).code, code);
    assert.deepEqual(await fixture.object('GET', `${configMaps}/a`), first);
  });
}

test('update of an absent object: created if its kind allows it, else 404', async () => {
  await using fixture = await RegistryFixture.open();
  const accounts = '/api/v1/namespaces/n/serviceaccounts';
  const reply = await fixture.call('PUT', `${accounts}/s`, { metadata: { name: 's' } });
  assert.ok(reply.type === 'object' && reply.status === 201);
  const again = await fixture.call('PUT', `${accounts}/s`, {
    metadata: { name: 's' },
    automountServiceAccountToken: false,
  });
  assert.ok(again.type === 'object' && again.status === 200);
  assert.equal((await fixture.refusal('PUT', `${configMaps}/a`, configMap('a'))).code, 404);
});

for (const [what, path] of [
  ['of a kind that updates do not create', `${configMaps}/s`],
  ['of a kind that updates create', '/api/v1/namespaces/n/serviceaccounts/s'],
  ['and a view of it', '/apis/apps/v1/namespaces/n/deployments/s/status'],
  ['and its scale', '/apis/apps/v1/namespaces/n/deployments/s/scale'],
] as const) {
  test(`an update of an absent object with a uid is a conflict: ${what}`, async () => {
    await using fixture = await RegistryFixture.open();
    const { code, message } = await fixture.refusal('PUT', path, { metadata: { name: 's', uid: 'u' } });
    assert.equal(code, 409);
    assert.match(message, / "s": Precondition failed: UID in precondition: u, UID in object meta: $/);
  });
}

test('an update requires the permission to create only if it creates', async () => {
  const asked: string[] = [];
  await using fixture = await RegistryFixture.open({
    requireCreate: ({ verb, namespace, name }) => {
      asked.push(`${verb} ${namespace}/${name}`);
      throw new StatusError('Forbidden', 'no');
    },
  });
  const account = { metadata: { name: 's' } };
  const accounts = '/api/v1/namespaces/n/serviceaccounts';
  for (const path of [`${accounts}/s`, `${accounts}/s?dryRun=All`]) {
    assert.equal((await fixture.refusal('PUT', path, account)).code, 403, path);
  }
  assert.equal((await fixture.refusal('GET', `${accounts}/s`)).code, 404);
  assert.deepEqual(asked, ['update n/s', 'update n/s']);
  await fixture.call('POST', accounts, account);
  await fixture.call('PUT', `${accounts}/s`, account);
  assert.equal(asked.length, 2);
});

test('a lost race is retried, and a conflict only if the client sent a resourceVersion', async () => {
  await using fixture = await RegistryFixture.open();
  const first = await fixture.object('POST', configMaps, configMap('a'));
  const patches = Array.from({ length: 20 }, (_, n) =>
    fixture.call('PATCH', `${configMaps}/a`, { data: { [`k${n}`]: 'x' } }),
  );
  await Promise.all(patches);
  const { data } = await fixture.object('GET', `${configMaps}/a`);
  assert.equal(Object.keys(data as object).length, 21, 'no patch was lost');
  const named = Array.from({ length: 3 }, (_, n) =>
    fixture.call('PUT', `${configMaps}/a`, { ...first, data: { value: String(n) } }),
  );
  assert.deepEqual(
    (await Promise.allSettled(named)).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
});

test('the status changes only through the status subresource, and nothing else does', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', '/api/v1/nodes', { metadata: { name: 'x' }, spec: { podCIDR: '10.0.0.0/24' } });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const both = {
    metadata: { name: 'x' },
    spec: { podCIDR: '10.0.0.0/24', unschedulable: true },
    status: { conditions },
  };
  const main = await fixture.object('PUT', '/api/v1/nodes/x', both);
  assert.equal((main['spec'] as { unschedulable?: boolean }).unschedulable, true);
  assert.equal((main['status'] as { conditions?: unknown }).conditions, undefined);
  const status = await fixture.object('PUT', '/api/v1/nodes/x/status', { ...both, spec: { podCIDR: '10.0.0.0/24' } });
  assert.equal((status['spec'] as { unschedulable?: boolean }).unschedulable, true);
  assert.equal((status['status'] as { conditions: unknown[] }).conditions.length, 1);
});

test('delete: removed at once; with finalizers marked first and removed with the last', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', configMaps, configMap('a'));
  const gone = await fixture.call('DELETE', `${configMaps}/a`);
  assert.ok(gone.type === 'status' && gone.body.status === 'Success' && gone.body.details?.name === 'a');
  assert.equal((await fixture.refusal('GET', `${configMaps}/a`)).code, 404);

  const held = await fixture.object('POST', configMaps, configMap('b', '1', { finalizers: ['x.io/one', 'x.io/two'] }));
  const marked = await fixture.object('DELETE', `${configMaps}/b`);
  assert.ok(marked.metadata.deletionTimestamp);
  const second = await fixture.object('DELETE', `${configMaps}/b`);
  assert.equal(second.metadata.deletionTimestamp, marked.metadata.deletionTimestamp);
  await fixture.call('PATCH', `${configMaps}/b`, { metadata: { finalizers: ['x.io/two'] } });
  assert.equal((await fixture.object('GET', `${configMaps}/b`)).metadata.uid, held.metadata.uid);
  assert.equal(
    (await fixture.refusal('PATCH', `${configMaps}/b`, { metadata: { finalizers: ['x.io/two', 'x.io/new'] } })).code,
    422,
  );
  await fixture.call('PATCH', `${configMaps}/b`, { metadata: { finalizers: null } });
  assert.equal((await fixture.refusal('GET', `${configMaps}/b`)).code, 404);
});

test('delete: preconditions', async () => {
  await using fixture = await RegistryFixture.open();
  const { metadata } = await fixture.object('POST', configMaps, configMap('a'));
  for (const preconditions of [{ uid: 'other' }, { resourceVersion: '1' }]) {
    assert.equal((await fixture.refusal('DELETE', `${configMaps}/a`, { preconditions })).reason, 'Conflict');
  }
  const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
  await fixture.call('DELETE', `${configMaps}/a`, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions });
  assert.equal((await fixture.refusal('DELETE', `${configMaps}/a`)).code, 404);
});

test('dry runs keep nothing', async () => {
  await using fixture = await RegistryFixture.open();
  await fixture.call('POST', `${configMaps}?dryRun=All`, configMap('a'));
  await fixture.call('POST', configMaps, configMap('b'));
  const head = await fixture.store.head();
  await fixture.call('PUT', `${configMaps}/b?dryRun=All`, configMap('b', '2'));
  await fixture.call('DELETE', `${configMaps}/b?dryRun=All`);
  await fixture.call('DELETE', `${configMaps}?dryRun=All`);
  assert.equal(await fixture.store.head(), head);
});

test('deletecollection deletes what the selectors select, in one namespace', async () => {
  await using fixture = await RegistryFixture.open();
  for (const name of ['a', 'b', 'c'])
    await fixture.call('POST', configMaps, configMap(name, '1', { labels: { odd: String(name !== 'b') } }));
  await fixture.call('POST', '/api/v1/namespaces/m/configmaps', configMap('a', '1', { labels: { odd: 'true' } }));
  const reply = await fixture.call('DELETE', `${configMaps}?labelSelector=odd%3Dtrue`);
  assert.ok(reply.type === 'status' && reply.body.status === 'Success');
  const left = (await fixture.list('/api/v1/configmaps')).items.map(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
  );
  assert.deepEqual(left, ['m/a', 'n/b']);
  assert.equal((await fixture.refusal('DELETE', `${configMaps}?fieldSelector=spec.x%3D1`)).code, 400);
});

test('fieldValidation: Ignore is silent, Warn tells, Strict refuses; types are always checked', async () => {
  await using fixture = await RegistryFixture.open();
  const body = { ...configMap('a'), nonsense: 1, metadata: { name: 'a', more: 2 } };
  await fixture.call('POST', `${configMaps}?fieldValidation=Ignore&dryRun=All`, body);
  assert.deepEqual(fixture.warnings, []);
  await fixture.call('POST', `${configMaps}?dryRun=All`, body);
  assert.deepEqual(fixture.warnings.sort(), ['unknown field "metadata.more"', 'unknown field "nonsense"']);
  const strict = await fixture.refusal('POST', `${configMaps}?fieldValidation=Strict`, body);
  assert.equal(strict.code, 400);
  assert.match(strict.message, /strict decoding error: .*unknown field "nonsense"/);
  assert.equal((await fixture.refusal('POST', `${configMaps}?fieldValidation=Maybe`, body)).code, 422);
});

test('names that belong to every object reach no prototype', async () => {
  await using fixture = await RegistryFixture.open();
  const body = JSON.parse(
    '{"metadata":{"name":"a","labels":{"constructor":"x"}},"data":{"__proto__":"z","constructor":"w"},"__proto__":{"polluted":true}}',
  );
  const object = await fixture.object('POST', configMaps, body);
  assert.deepEqual(Object.entries(object['data'] as object), [
    ['__proto__', 'z'],
    ['constructor', 'w'],
  ]);
  await fixture.call(
    'PATCH',
    `${configMaps}/a`,
    JSON.parse('{"data":{"__proto__":null},"__proto__":{"polluted":true}}'),
  );
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  assert.equal((await fixture.list(`${configMaps}?labelSelector=constructor%3Dx`)).items.length, 1);
  assert.equal((await fixture.list(`${configMaps}?labelSelector=toString`)).items.length, 0);
});

test('warnings about an object go to who writes it, not to who writes its status', async () => {
  await using fixture = await RegistryFixture.open();
  const node = { metadata: { name: 'n' }, spec: { externalID: 'x' } };
  await fixture.object('POST', '/api/v1/nodes', node);
  assert.equal(fixture.warnings.length, 1);
  await fixture.object('PUT', '/api/v1/nodes/n', { ...node, metadata: { name: 'n', labels: { a: 'b' } } });
  assert.equal(fixture.warnings.length, 2);
  await fixture.object('PUT', '/api/v1/nodes/n/status', { ...node, status: { phase: 'Running' } });
  assert.equal(fixture.warnings.length, 2);
});
