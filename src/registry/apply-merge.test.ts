import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../dialect/orch.ts';
import type { ApiObject } from '../meta/api-object.ts';
import {
  causes,
  configMap,
  containers,
  data,
  entriesOf,
  type Fields,
  intent,
  Managers,
  node,
  ownersOf,
  pod,
} from './write/managers-fixture.ts';

interface Merge {
  readonly rule: string;
  readonly path: string;
  readonly first: Fields;
  readonly second: Fields;
  /** Conflicts of the second applier, or else the resulting fields. */
  readonly conflicts?: readonly string[];
  readonly gives?: Fields;
}

const volume = {
  ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h' } },
};

const merges: readonly Merge[] = [
  {
    rule: 'a list of type set: elements are shared out',
    path: configMap,
    first: { metadata: { finalizers: ['example.com/a'] } },
    second: { metadata: { finalizers: ['example.com/b', 'example.com/a'] } },
    gives: { 'metadata.finalizers': ['example.com/b', 'example.com/a'] },
  },
  {
    rule: 'a list of type atomic: one owner for all of it',
    path: node,
    first: { spec: { podCIDRs: ['10.0.0.0/24'] } },
    second: { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }], podCIDRs: ['10.0.0.0/24'] } },
    gives: { 'spec.podCIDRs': ['10.0.0.0/24'] },
  },
  {
    rule: 'a struct that is atomic elsewhere: parts have owners of their own',
    path: '/api/v1/persistentvolumes/a',
    first: { spec: { ...volume, claimRef: { namespace: 'n', name: 'c' } } },
    second: { spec: { claimRef: { uid: 'u' } } },
    gives: { 'spec.claimRef': { namespace: 'n', name: 'c', uid: 'u' } },
  },
  {
    rule: 'a list of type atomic conflicts as a whole',
    path: node,
    first: { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } },
    second: { spec: { taints: [{ key: 'l', effect: 'NoSchedule' }] } },
    conflicts: ['.spec.taints: conflict with "one"'],
  },
  {
    rule: 'a list of type map: elements are told apart by their keys',
    path: pod,
    first: { spec: containers('c:1') },
    second: { spec: containers('c:2') },
    conflicts: ['.spec.containers[name="c"].image: conflict with "one"'],
  },
  {
    rule: 'a granular map: each key has its owners',
    path: configMap,
    first: { data: { k: 'v' } },
    second: { data: { l: 'v' } },
    gives: { data: { k: 'v', l: 'v' } },
  },
  {
    rule: 'an atomic map: one owner for all of it',
    path: pod,
    first: { spec: { ...containers('c:1'), nodeSelector: { k: 'v' } } },
    second: { spec: { nodeSelector: { l: 'v' } } },
    conflicts: ['.spec.nodeSelector: conflict with "one"'],
  },
  {
    rule: 'a granular struct: each field has its owners',
    path: pod,
    first: { spec: { ...containers('c:1'), securityContext: { runAsUser: 1 } } },
    second: { spec: { securityContext: { runAsUser: 1 }, activeDeadlineSeconds: 5 } },
    gives: { 'spec.securityContext': { runAsUser: 1 }, 'spec.activeDeadlineSeconds': 5 },
  },
  {
    rule: 'an atomic struct: one owner for all of it',
    path: pod,
    first: {
      spec: {
        containers: [
          { name: 'c', image: 'c:1', env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
        ],
      },
    },
    second: {
      spec: {
        containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } }] }],
      },
    },
    conflicts: ['.spec.containers[name="c"].env[name="E"].valueFrom.fieldRef: conflict with "one"'],
  },
];
for (const { rule, path, first, second, conflicts, gives } of merges) {
  test(`4.7 merge markers: ${rule}`, async () => {
    await using managers = await Managers.open();
    await managers.apply('one', path, first);
    if (conflicts) {
      assert.deepEqual(causes(await managers.refusedApply('two', path, intent(path, second))), conflicts);
      return;
    }
    const object = await managers.apply('two', path, second);
    for (const [field, value] of Object.entries(gives ?? {})) {
      const found = field.split('.').reduce((at: unknown, step) => (at as Fields | undefined)?.[step], object);
      assert.deepEqual(found, value, field);
    }
  });
}

const resets: readonly (readonly [
  what: string,
  write: (managers: Managers, object: ApiObject) => Promise<ApiObject>,
])[] = [
  [
    'an update',
    (managers, object) =>
      managers.update('u', configMap, { ...object, metadata: { ...object.metadata, managedFields: [{}] } }),
  ],
  ['a merge patch', (managers) => managers.merge('u', configMap, { metadata: { managedFields: [{}] } })],
  [
    'a JSON Patch',
    (managers) => {
      managers.fixture.patchType = 'json';
      const patch = [{ op: 'replace', path: '/metadata/managedFields', value: [{}] }];
      return managers.fixture.object('PATCH', `${configMap}?fieldManager=u`, patch);
    },
  ],
];
for (const [what, write] of resets) {
  test(`4.7 managedFields is cleared by ${what} that sets it to a list of one empty entry`, async () => {
    await using managers = await Managers.open();
    const object = await managers.apply('one', configMap, { data: { k: 'v' } });
    const cleared = await write(managers, object);
    assert.equal(cleared.metadata.managedFields, undefined);
    assert.deepEqual(cleared['data'], { k: 'v' });
  });
}

test('4.7 an empty list does not clear managedFields', async () => {
  await using managers = await Managers.open();
  const object = await managers.apply('one', configMap, { data: { k: 'v' } });
  const patched = await managers.merge('u', configMap, { metadata: { managedFields: [] } });
  assert.deepEqual(patched, object);
  const put = await managers.update('u', configMap, { ...object, metadata: { ...object.metadata, managedFields: [] } });
  assert.deepEqual(put, object);
});

test('4.7 a reset comes first: the writer owns other fields changed in the same request', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v' } });
  const patch = { metadata: { managedFields: [{}] }, data: { l: 'v' } };
  assert.deepEqual(ownersOf(await managers.merge('u', configMap, patch)), { 'u/Update': data('l') });
});

test('4.7 after a reset the next applier shares fields with before-first-apply', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v' } });
  await managers.merge('u', configMap, { metadata: { managedFields: [{}] } });
  const applied = await managers.apply('two', configMap, { data: { k: 'v' } });
  assert.deepEqual(Object.keys(ownersOf(applied)), ['two/Apply', 'before-first-apply/Update']);
});

for (const [manager, migrates] of [
  ['kubectl', true],
  ['other', false],
] as const) {
  test(`fields applied by the client itself are ${migrates ? 'no ' : ''}conflicts for manager ${manager}`, async () => {
    await using managers = await Managers.open();
    const annotation = orch.lastAppliedAnnotation;
    const applied = JSON.stringify(intent(configMap, { data: { k: 'v' } }));
    const fields = { metadata: { annotations: { [annotation]: applied } }, data: { k: 'v' } };
    await managers.create('kubectl-client-side-apply', configMap, fields);
    const next = intent(configMap, { data: { k: 'w' } });
    if (!migrates) {
      const error = await managers.refusedApply(manager, configMap, next);
      assert.deepEqual(causes(error), ['.data.k: conflict with "kubectl-client-side-apply" using v1']);
      return;
    }
    const object = await managers.apply(manager, configMap, { data: { k: 'w' } });
    assert.deepEqual(object['data'], { k: 'w' });
    const kept = JSON.parse(object.metadata.annotations?.[annotation] ?? '{}');
    assert.deepEqual(kept.data, { k: 'w' });
  });
}

const unknownField = intent(configMap, { data: { k: 'v' }, nonsense: 1, metadata: { more: 2 } });
test('4.6 fieldValidation of an apply: Warn is the default, Ignore is silent, Strict refuses with all of them', async () => {
  await using managers = await Managers.open();
  const { fixture } = managers;
  fixture.patchType = 'apply';
  const target = (mode: string): string => `${configMap}?fieldManager=m${mode}`;
  await fixture.call('PATCH', target('&fieldValidation=Ignore'), unknownField);
  assert.deepEqual(fixture.warnings, []);
  await fixture.call('PATCH', target(''), unknownField);
  assert.deepEqual([...new Set(fixture.warnings)].sort(), [
    'unknown field "metadata.more"',
    'unknown field "nonsense"',
  ]);
  const error = await fixture.refusal('PATCH', target('&fieldValidation=Strict'), unknownField);
  assert.equal(error.code, 400);
  assert.match(error.message, /unknown field "metadata\.more"/);
  assert.match(error.message, /unknown field "nonsense"/);
  assert.deepEqual(ownersOf(await managers.get(configMap)), { 'm/Apply': data('k') });
});

const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: one\n  k: two\n';
test('4.6 duplicate fields of a YAML body are a warning, rejected or ignored; the last one counts', async () => {
  await using managers = await Managers.open();
  const { fixture } = managers;
  fixture.patchType = 'apply';
  const error = await fixture.refusal('PATCH', `${configMap}?fieldManager=m&fieldValidation=Strict`, yaml);
  assert.match(error.message, /duplicate field "data\.k"/);
  const object = await fixture.object('PATCH', `${configMap}?fieldManager=m`, yaml);
  assert.deepEqual(object['data'], { k: 'two' });
  assert.deepEqual([...new Set(fixture.warnings)], ['duplicate field "data.k"']);
});

test('4.6 a dry run of an apply shows the result or its conflicts, and stores nothing', async () => {
  await using managers = await Managers.open();
  const made = await managers.apply('one', configMap, { data: { k: 'v' } }, '&dryRun=All');
  assert.equal(made.metadata.resourceVersion, undefined);
  assert.equal((await managers.fixture.refusal('GET', configMap)).code, 404);
  const stored = await managers.apply('one', configMap, { data: { k: 'v' } });
  const shown = await managers.apply('one', configMap, { data: { k: 'w' } }, '&dryRun=All');
  assert.deepEqual([shown['data'], shown.metadata.resourceVersion], [{ k: 'w' }, stored.metadata.resourceVersion]);
  const conflict = intent(configMap, { data: { k: 'x' } });
  assert.equal((await managers.refusedApply('two', configMap, conflict, '&dryRun=All')).code, 409);
  assert.deepEqual(await managers.get(configMap), stored);
});

test('appliers that race to create an object all come to own their fields', async () => {
  await using managers = await Managers.open();
  const names = Array.from({ length: 10 }, (_, n) => `m${n}`);
  await Promise.all(names.map((name) => managers.apply(name, configMap, { data: { [name]: 'v' } })));
  const object = await managers.get(configMap);
  assert.deepEqual(
    Object.keys(ownersOf(object)).sort(),
    names.map((name) => `${name}/Apply`),
  );
  assert.equal(Object.keys(object['data'] as Fields).length, 10);
});

test('an applier that names uid and resourceVersion writes to that state only', async () => {
  await using managers = await Managers.open();
  const { metadata } = await managers.apply('one', configMap, { data: { k: 'v' } });
  const identity = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
  await managers.apply('one', configMap, { metadata: identity, data: { k: 'w' } });
  const stale = await managers.refusedApply(
    'one',
    configMap,
    intent(configMap, { metadata: identity, data: { k: 'x' } }),
  );
  assert.equal(stale.code, 409);
});

test('a huge set of fields is owned, given up and taken like a small one', async () => {
  await using managers = await Managers.open();
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key-${n}`, 'v']));
  const object = await managers.apply('one', configMap, { data: many });
  assert.equal(Object.keys((entriesOf(object)[0]?.fieldsV1?.['f:data'] as Fields | undefined) ?? {}).length, 20_000);
  const error = await managers.refusedApply(
    'two',
    configMap,
    intent(configMap, { data: Object.fromEntries(Object.keys(many).map((key) => [key, 'w'])) }),
  );
  assert.match(error.message, /^Apply failed with 20000 conflicts/);
  assert.equal(error.details?.causes?.length, 1_000, 'the answer is bounded');
  assert.equal((await managers.apply('one', configMap, {}))['data'], undefined);
});

const hostile =
  '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"constructor":"x"}},' +
  '"data":{"__proto__":"p","constructor":"c","prototype":"q"},"__proto__":{"polluted":1}}';
test('an apply reaches no prototype, and owns such names like others', async () => {
  await using managers = await Managers.open();
  managers.fixture.patchType = 'apply';
  const object = await managers.fixture.object('PATCH', `${configMap}?fieldManager=m`, hostile);
  assert.deepEqual(Object.keys(object['data'] as Fields), ['__proto__', 'constructor', 'prototype']);
  assert.equal(({} as { polluted?: number }).polluted, undefined);
  const owned = entriesOf(object)[0]?.fieldsV1?.['f:data'] as Fields;
  assert.deepEqual(Object.keys(owned), ['f:__proto__', 'f:constructor', 'f:prototype']);
  const given = await managers.apply('m', configMap, {});
  assert.equal(given['data'], undefined);
});

test('an applied set of owners that names prototypes is a set like others', async () => {
  await using managers = await Managers.open();
  await managers.create('m', configMap, { data: { k: 'v' } });
  managers.fixture.patchType = 'merge';
  const entry =
    '{"manager":"x","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",' +
    '"fieldsV1":{"f:__proto__":{"f:polluted":{}},"f:constructor":{"f:prototype":{}},"f:data":{"f:__proto__":{}}}}';
  await managers.fixture.call('PATCH', configMap, `{"metadata":{"managedFields":[${entry}]}}`);
  assert.equal(({} as { polluted?: object }).polluted, undefined);
});
