import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../../meta/status-error.ts';
import {
  causes,
  collectionOf,
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
} from '../write/managers-fixture.ts';

test('4.7 an entry has manager, operation, apiVersion, time, fieldsType and fieldsV1', async () => {
  await using managers = await Managers.open();
  const object = await managers.apply('m', configMap, { data: { k: 'v' } });
  assert.deepEqual(entriesOf(object), [
    {
      manager: 'm',
      operation: 'Apply',
      apiVersion: 'v1',
      time: '2026-01-01T00:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: data('k'),
    },
  ]);
});

test('4.7 the entry of a write through a subresource names it', async () => {
  await using managers = await Managers.open();
  await managers.create('m', node, { metadata: { labels: { x: 'y' } } });
  await managers.apply('m', `${node}/status`, { status: { phase: 'Running' } });
  const object = await managers.merge('m', `${node}/status`, { status: { conditions: null, phase: 'Pending' } });
  assert.deepEqual(
    entriesOf(object).map(({ manager, operation, subresource }) => [manager, operation, subresource]),
    [
      ['m', 'Update', undefined],
      ['m', 'Update', 'status'],
    ],
  );
});

test('4.7 nobody comes to own what a subresource does not change', async () => {
  await using managers = await Managers.open();
  const made = await managers.create('m', pod, { spec: containers('c:1') });
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' };
  const ephemeral = { name: 'e', image: 'e:1', terminationMessagePolicy: 'File' };
  await managers.update('u', `${pod}/ephemeralcontainers`, {
    ...made,
    metadata: { ...made.metadata, labels: { x: 'y' }, ownerReferences: [owner] },
    spec: { ...(made['spec'] as object), ephemeralContainers: [ephemeral] },
  });
  const both = { metadata: { ownerReferences: [owner] }, spec: { hostname: 'h' }, status: { message: 'm' } };
  const object = await managers.merge('s', `${pod}/status`, both);
  const { 'm/Update': _, ...owners } = ownersOf(object);
  assert.deepEqual(
    Object.entries(owners).map(([name, fields]) => [name, Object.keys(fields as Fields)]),
    [
      ['s/Update/status', ['f:status']],
      ['u/Update/ephemeralcontainers', ['f:spec']],
    ],
  );
});

test('4.6 apply creates the object if absent, else patches it', async () => {
  await using managers = await Managers.open();
  managers.fixture.patchType = 'apply';
  const target = `${configMap}?fieldManager=m`;
  const first = await managers.fixture.call('PATCH', target, intent(configMap, { data: { k: 'v' } }));
  const second = await managers.fixture.call('PATCH', target, intent(configMap, { data: { k: 'w' } }));
  assert.deepEqual(
    [first, second].map((reply) => reply.type === 'object' && reply.status),
    [201, 200],
  );
});

test('an apply names a new object; later ones may leave that to the path', async () => {
  await using managers = await Managers.open();
  managers.fixture.patchType = 'apply';
  const unnamed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'x-' } };
  const error = await managers.refusedApply('m', configMap, unnamed);
  const name = configMap.slice(configMap.lastIndexOf('/') + 1);
  const text = `the name of the object (${name} based on URL) was undeterminable: name must be provided`;
  assert.deepEqual([error.code, error.message], [400, text]);
  await managers.create('other', configMap, { data: { k: 'v' } });
  const reply = await managers.fixture.call('PATCH', `${configMap}?fieldManager=m`, unnamed);
  assert.equal(reply.type === 'object' && reply.status, 200);
});

test('4.6 apply through a subresource creates nothing', async () => {
  await using managers = await Managers.open();
  const error = await managers.refusedApply('m', `${node}/status`, intent(node, { status: { phase: 'x' } }));
  assert.equal(error.code, 404);
});

test('4.7 fieldManager is required for apply, whatever the User-Agent is', async () => {
  await using managers = await Managers.open();
  managers.fixture.patchType = 'apply';
  for (const query of ['', '?fieldManager=']) {
    const error = await managers.fixture.refusal('PATCH', `${configMap}${query}`, intent(configMap, {}));
    assert.equal(error.code, 422);
    assert.deepEqual(
      error.details?.causes?.map(({ field, reason }) => [field, reason]),
      [['fieldManager', 'FieldValueRequired']],
    );
  }
});

const userAgents: readonly (readonly [userAgent: string, manager: string])[] = [
  ['client/v1.2 (linux)', 'client'],
  ['plain', 'plain'],
  ['two words/1', 'two words'],
  ['', 'unknown'],
  ['/v1', 'unknown'],
  ['a\u0001b\tc/1', 'abc'],
  ['x'.repeat(200), 'x'.repeat(128)],
  ['é'.repeat(100), 'é'.repeat(64)],
  [`x${'é'.repeat(100)}`, `x${'é'.repeat(63)}`],
];
for (const [userAgent, manager] of userAgents) {
  test(`4.7 without fieldManager it is inferred from the User-Agent: ${JSON.stringify(userAgent.slice(0, 20))}`, async () => {
    await using managers = await Managers.open();
    managers.fixture.userAgent = userAgent;
    const object = await managers.fixture.object(
      'POST',
      collectionOf(configMap),
      intent(configMap, { data: { k: 'v' } }),
    );
    assert.deepEqual(
      entriesOf(object).map((entry) => entry.manager),
      [manager],
    );
    managers.fixture.patchType = 'merge';
    const patched = await managers.fixture.object('PATCH', configMap, { data: { l: 'v' } });
    assert.deepEqual(
      entriesOf(patched).map((entry) => entry.manager),
      [manager],
    );
  });
}

const badManagers: readonly (readonly [what: string, manager: string])[] = [
  ['longer than 128 bytes', 'x'.repeat(129)],
  ['longer than 128 bytes in fewer characters', 'é'.repeat(65)],
  ['with a control character', 'a%00b'],
  ['with a line break', 'a%0Ab'],
];
for (const [what, manager] of badManagers) {
  test(`4.7 a fieldManager ${what} is refused on every write`, async () => {
    await using managers = await Managers.open();
    await managers.create('m', configMap, {});
    const query = `?fieldManager=${manager}`;
    const body = intent(configMap, { data: { x: 'y' } });
    for (const [method, path] of [
      ['POST', collectionOf(configMap)],
      ['PUT', configMap],
      ['PATCH', configMap],
    ] as const) {
      const error = await managers.fixture.refusal(method, `${path}${query}`, body);
      assert.equal(error.code, 422, method);
      assert.match(error.message, /Options.meta.orch.io "" is invalid: fieldManager: /);
    }
    assert.equal((await managers.refusedApply(manager, configMap, body)).code, 422);
  });
}

interface RefusedApply {
  readonly what: string;
  readonly body: unknown;
  readonly query?: string;
  readonly code: number;
  readonly message: RegExp;
}

const refusedApplies: readonly RefusedApply[] = [
  {
    what: 'with managedFields',
    body: intent(configMap, { metadata: { managedFields: [{ manager: 'x', operation: 'Apply' }] } }),
    code: 400,
    message: /metadata\.managedFields must be nil/,
  },
  {
    what: 'with an empty list of managedFields',
    body: intent(configMap, { metadata: { managedFields: [] } }),
    code: 400,
    message: /metadata\.managedFields must be nil/,
  },
  { what: 'without kind', body: { apiVersion: 'v1', metadata: { name: 'a' } }, code: 400, message: /kind/ },
  {
    what: 'without apiVersion',
    body: { kind: 'ConfigMap', metadata: { name: 'a' } },
    code: 400,
    message: /apiVersion/,
  },
  { what: 'of another kind', body: { ...intent(configMap, {}), kind: 'Secret' }, code: 400, message: /kind/ },
  {
    what: 'of another version',
    body: { ...intent(configMap, {}), apiVersion: 'v2' },
    code: 400,
    message: /^Incorrect version specified in apply patch\. Specified patch version: v2, expected: v1$/,
  },
  { what: 'of another name', body: intent(configMap, { metadata: { name: 'b' } }), code: 400, message: /\(b\).*\(a\)/ },
  {
    what: 'of another namespace',
    body: intent(configMap, { metadata: { namespace: 'm' } }),
    code: 400,
    message: /namespace/,
  },
  { what: 'that is a list', body: [], code: 400, message: /object/ },
  { what: 'that is nothing', body: undefined, code: 400, message: /body/ },
  {
    what: 'with a value of the wrong type',
    body: intent(configMap, { data: { k: 1 } }),
    code: 400,
    message: /\.data\.k: expected string, got number/,
  },
  {
    what: 'that is no valid object',
    body: intent(configMap, { metadata: { labels: { 'no label!': '' } } }),
    code: 422,
    message: /metadata\.labels/,
  },
  {
    what: 'of another version of the object',
    body: intent(configMap, { metadata: { resourceVersion: '77' } }),
    code: 409,
    message: /the object has been modified/,
  },
  {
    what: 'with a dryRun that there is not',
    query: '&dryRun=x',
    body: intent(configMap, {}),
    code: 422,
    message: /dryRun/,
  },
  {
    what: 'with a force that is none',
    query: '&force=maybe',
    body: intent(configMap, {}),
    code: 400,
    message: /force/,
  },
  {
    what: 'with a fieldValidation that there is not',
    query: '&fieldValidation=x',
    body: intent(configMap, {}),
    code: 422,
    message: /fieldValidation/,
  },
];
for (const state of ['absent', 'there'] as const) {
  for (const { what, body, query, code, message } of refusedApplies) {
    test(`4.7 an apply ${what} is refused with ${code}, the object is ${state}, and nothing is written`, async () => {
      await using managers = await Managers.open();
      if (state === 'there') await managers.create('other', configMap, { data: { k: 'v' } });
      const head = await managers.fixture.store.head();
      const error = await managers.refusedApply('m', configMap, body, query);
      assert.equal(error.code, code, error.message);
      assert.match(error.message, message);
      assert.equal(await managers.fixture.store.head(), head);
    });
  }
}

test('4.7 a uid that no object has is a conflict; another one than that of the object may not be given', async () => {
  await using managers = await Managers.open();
  const body = intent(configMap, { metadata: { uid: 'u' } });
  const absent = await managers.refusedApply('m', configMap, body);
  assert.deepEqual(
    [absent.code, absent.message],
    [
      409,
      'Operation cannot be fulfilled on configmaps "a": uid mismatch: the provided object specified uid u, and no existing object was found',
    ],
  );
  await managers.create('other', configMap, { data: { k: 'v' } });
  const other = await managers.refusedApply('m', configMap, body);
  assert.equal(other.code, 422);
  assert.deepEqual(causes(other), ['metadata.uid: Invalid value: "u": field is immutable']);
  const stale = intent(configMap, { metadata: { uid: 'u', resourceVersion: '77' } });
  assert.equal((await managers.refusedApply('m', configMap, stale)).code, 409, 'the version counts first');
});

test('4.7 the version 0 is that of any object', async () => {
  await using managers = await Managers.open();
  await managers.create('other', configMap, { data: { k: 'v' } });
  await managers.apply('m', configMap, { metadata: { resourceVersion: '0' }, data: { l: 'v' } });
  assert.deepEqual((await managers.get(configMap))['data'], { k: 'v', l: 'v' });
});

test('4.7 a body that does not produce a valid object fails: a required field is missing', async () => {
  await using managers = await Managers.open();
  const error = await managers.refusedApply('m', pod, intent(pod, { spec: { containers: [{ name: 'c' }] } }));
  assert.equal(error.code, 422);
  assert.deepEqual(causes(error), ['spec.containers[0].image: Required value']);
});

test('4.7 a value that another manager owns with a different value is a conflict that names manager and field', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v', l: 'v' } });
  await managers.merge('two', configMap, { data: { m: 'v' } });
  const body = intent(configMap, { data: { k: 'x', m: 'x' } });
  const error = await managers.refusedApply('three', configMap, body);
  assert.equal(error.code, 409);
  assert.deepEqual(causes(error), ['.data.k: conflict with "one"', '.data.m: conflict with "two" using v1']);
  assert.deepEqual((await managers.get(configMap))['data'], { k: 'v', l: 'v', m: 'v' });
  const one = await managers.refusedApply('three', configMap, intent(configMap, { data: { k: 'x' } }));
  assert.equal(one.message, 'Apply failed with 1 conflict: conflict with "one": .data.k');
});

test('4.7 force=true overwrites the value and removes the field from other owners', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v', l: 'v' } });
  const forced = await managers.apply('two', configMap, { data: { k: 'x' } }, '&force=true');
  assert.deepEqual(forced['data'], { k: 'x', l: 'v' });
  assert.deepEqual(ownersOf(forced), { 'one/Apply': data('l'), 'two/Apply': data('k') });
});

test('4.7 force=false is as no force', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v' } });
  const error = await managers.refusedApply('two', configMap, intent(configMap, { data: { k: 'x' } }), '&force=false');
  assert.equal(error.code, 409);
});

test('4.7 equal values share ownership, and a later change by any owner conflicts', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v' } });
  const shared = await managers.apply('two', configMap, { data: { k: 'v' } });
  assert.deepEqual(ownersOf(shared), { 'one/Apply': data('k'), 'two/Apply': data('k') });
  for (const [changer, owner] of [
    ['one', 'two'],
    ['two', 'one'],
  ] as const) {
    const error = await managers.refusedApply(changer, configMap, intent(configMap, { data: { k: 'x' } }));
    assert.deepEqual(causes(error), [`.data.k: conflict with "${owner}"`]);
  }
});

test('4.7 omitting an applied field gives it up: it stays while another owns it, then it is deleted', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v', own: 'v' } });
  await managers.apply('two', configMap, { data: { k: 'v', other: 'v' } });
  const given = await managers.apply('one', configMap, {});
  assert.deepEqual(given['data'], { k: 'v', other: 'v' });
  assert.deepEqual(ownersOf(given), { 'two/Apply': data('k', 'other') });
  const left = await managers.apply('two', configMap, { data: { other: 'v' } });
  assert.deepEqual(left['data'], { other: 'v' });
});

test('4.7 a field that is given up is reset to its default', async () => {
  await using managers = await Managers.open();
  const container = { name: 'c', image: 'i:1', ports: [{ containerPort: 80 }] };
  const spec = { activeDeadlineSeconds: 10, containers: [container], terminationGracePeriodSeconds: 5 };
  await managers.create('maker', pod, { spec: { containers: [container], terminationGracePeriodSeconds: 7 } });
  const read = async (): Promise<Fields> => (await managers.get(pod))['spec'] as Fields;
  assert.equal((await read())['terminationGracePeriodSeconds'], 7);
  const error = await managers.refusedApply('m', pod, intent(pod, { spec }));
  assert.equal(error.code, 409);
  await using fresh = await Managers.open();
  const pulled = { name: 'c', image: 'i:1', imagePullPolicy: 'Always' };
  await fresh.apply('m', node, { spec: { unschedulable: true }, metadata: { labels: { x: 'y' } } });
  const given = await fresh.apply('m', node, { metadata: { labels: { x: 'y' } } });
  assert.deepEqual(given['spec'], {});
  await fresh.apply('m', pod, { spec: { containers: [pulled], restartPolicy: 'Never' } });
  const reset = await fresh.refusedApply('m', pod, intent(pod, { spec: { containers: [pulled] } }));
  assert.match(reset.message, /pod updates may not change fields/, 'restartPolicy would be Always again');
});

test('4.7 an update or another patch never conflicts: ownership moves to the writer', async () => {
  await using managers = await Managers.open();
  const applied = await managers.apply('one', configMap, { data: { k: 'v', l: 'v', m: 'v' } });
  const updated = await managers.update('two', configMap, { ...applied, data: { k: 'x', l: 'v', m: 'v' } });
  assert.deepEqual(ownersOf(updated), { 'one/Apply': data('l', 'm'), 'two/Update': data('k') });
  const patched = await managers.merge('three', configMap, { data: { l: 'x' } });
  assert.deepEqual(ownersOf(patched), {
    'one/Apply': data('m'),
    'two/Update': data('k'),
    'three/Update': data('l'),
  });
  const removed = await managers.merge('four', configMap, { data: { m: null } });
  assert.deepEqual(ownersOf(removed), { 'two/Update': data('k'), 'three/Update': data('l') });
});

test('4.7 a time moves only when what its manager owns changes', async () => {
  await using managers = await Managers.open();
  await managers.apply('one', configMap, { data: { k: 'v' } });
  await managers.merge('two', configMap, { data: { l: 'v' } });
  managers.clock.advance(60_000);
  const same = await managers.apply('one', configMap, { data: { k: 'v' } });
  assert.deepEqual(
    entriesOf(same).map(({ time }) => time),
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'],
  );
  const moved = await managers.apply('one', configMap, { data: { k: 'v', m: 'v' } });
  assert.deepEqual(
    entriesOf(moved).map(({ manager, time }) => [manager, time]),
    [
      ['one', '2026-01-01T00:01:00Z'],
      ['two', '2026-01-01T00:00:00Z'],
    ],
  );
});

test('4.7 an apply that changes nothing creates no new version, whatever is defaulted', async () => {
  await using managers = await Managers.open();
  const fields = { spec: { containers: [{ name: 'c', image: 'i:1', ports: [{ containerPort: 80 }] }] } };
  const first = await managers.apply('m', pod, fields);
  managers.clock.advance(60_000);
  const head = await managers.fixture.store.head();
  assert.deepEqual(await managers.apply('m', pod, fields), first);
  assert.deepEqual(await managers.apply('m', pod, fields, '&force=true'), first);
  assert.equal(await managers.fixture.store.head(), head);
});

test('4.7 apply needs the permission to create for a new object, and only for that', async () => {
  const asked: string[] = [];
  await using managers = await Managers.open({
    requireCreate: ({ namespace, name }) => {
      asked.push(`${namespace}/${name}`);
      throw new StatusError('Forbidden', 'no');
    },
  });
  const error = await managers.refusedApply('m', configMap, intent(configMap, { data: { k: 'v' } }));
  assert.equal(error.code, 403);
  assert.deepEqual(asked, ['n/a']);
  await managers.create('other', configMap, {});
  await managers.apply('m', configMap, { data: { k: 'v' } });
  assert.equal(asked.length, 1);
});
