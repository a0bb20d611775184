import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { orch } from '../dialect/orch.ts';
import type { ApiObject, ManagedFieldsEntry } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { RegistryFixture } from './registry-fixture.ts';

const configMap = '/api/v1/namespaces/n/configmaps/a';
const pod = '/api/v1/namespaces/n/pods/a';
const node = '/api/v1/nodes/a';

type Fields = Readonly<Record<string, unknown>>;

const kinds: Readonly<Record<string, string>> = { configmaps: 'ConfigMap', pods: 'Pod', nodes: 'Node' };

const collectionOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

const intent = (path: string, { metadata, ...fields }: Fields): Fields => ({
  apiVersion: 'v1',
  kind: kinds[collectionOf(path).slice(collectionOf(path).lastIndexOf('/') + 1)],
  metadata: { name: 'a', ...(metadata as object | undefined) },
  ...fields,
});

/** Managers that write to one registry. */
class Managers implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly fixture: RegistryFixture;

  private constructor(fixture: RegistryFixture, clock: ManualClock) {
    this.fixture = fixture;
    this.clock = clock;
  }

  static async open(options: Parameters<typeof RegistryFixture.open>[0] = {}): Promise<Managers> {
    const clock = new ManualClock(Date.UTC(2026, 0, 1));
    return new Managers(await RegistryFixture.open({ clock, ...options }), clock);
  }

  apply(manager: string, path: string, fields: Fields, query = ''): Promise<ApiObject> {
    this.fixture.patchType = 'apply';
    return this.fixture.object('PATCH', `${path}?fieldManager=${manager}${query}`, intent(main(path), fields));
  }

  refusedApply(manager: string, path: string, body: unknown, query = ''): Promise<StatusError> {
    this.fixture.patchType = 'apply';
    return this.fixture.refusal('PATCH', `${path}?fieldManager=${manager}${query}`, body);
  }

  merge(manager: string, path: string, patch: Fields): Promise<ApiObject> {
    this.fixture.patchType = 'merge';
    return this.fixture.object('PATCH', `${path}?fieldManager=${manager}`, patch);
  }

  create(manager: string, path: string, fields: Fields): Promise<ApiObject> {
    return this.fixture.object('POST', `${collectionOf(path)}?fieldManager=${manager}`, intent(path, fields));
  }

  update(manager: string, path: string, object: Fields): Promise<ApiObject> {
    return this.fixture.object('PUT', `${path}?fieldManager=${manager}`, object);
  }

  get(path: string): Promise<ApiObject> {
    return this.fixture.object('GET', path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture[Symbol.asyncDispose]();
  }
}

/** The path of an object without its subresource. */
const main = (path: string): string => path.replace(/\/status$/, '');

const entriesOf = (object: ApiObject): readonly ManagedFieldsEntry[] => object.metadata.managedFields ?? [];

/** What each manager owns, by `manager/operation` and subresource. */
const ownersOf = (object: ApiObject): Fields =>
  Object.fromEntries(
    entriesOf(object).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager}/${operation}${subresource ? `/${subresource}` : ''}`,
      fieldsV1,
    ]),
  );

const data = (...names: readonly string[]): Fields => ({
  'f:data': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

const causes = (error: StatusError): readonly string[] =>
  (error.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);

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

test('4.7 the entry of a write through a subresource says which', async () => {
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

test('4.6 apply creates the object where it is absent, and patches it where it is not', async () => {
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
    message: /API version/,
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
  { what: 'of another uid', body: intent(configMap, { metadata: { uid: 'u' } }), code: 409, message: /uid mismatch/ },
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
    code: 400,
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
    code: 400,
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

test('4.7 a body that does not produce a valid object fails: what is required is not there', async () => {
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
  await managers.create('maker', pod, { spec: { containers: [container], terminationGracePeriodSeconds: -1 } });
  const read = async (): Promise<Fields> => (await managers.get(pod))['spec'] as Fields;
  assert.equal((await read())['terminationGracePeriodSeconds'], -1);
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

test('4.7 an apply that changes nothing makes no new version, whatever is defaulted', async () => {
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

interface Merge {
  readonly rule: string;
  readonly path: string;
  readonly first: Fields;
  readonly second: Fields;
  /** What the second applier's fields conflict with; else what the object then has. */
  readonly conflicts?: readonly string[];
  readonly gives?: Fields;
}

const containers = (...images: readonly string[]): Fields => ({
  containers: images.map((image) => ({ name: image.split(':')[0], image })),
});

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

test('4.7 after a reset the next applier shares with whoever wrote before', async () => {
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
test('4.6 duplicate fields of a YAML body are told, refused or ignored; the last one counts', async () => {
  await using managers = await Managers.open();
  const { fixture } = managers;
  fixture.patchType = 'apply';
  const error = await fixture.refusal('PATCH', `${configMap}?fieldManager=m&fieldValidation=Strict`, yaml);
  assert.match(error.message, /duplicate field "data\.k"/);
  const object = await fixture.object('PATCH', `${configMap}?fieldManager=m`, yaml);
  assert.deepEqual(object['data'], { k: 'two' });
  assert.deepEqual([...new Set(fixture.warnings)], ['duplicate field "data.k"']);
});

test('4.6 a dry run of an apply shows what would be, conflicts included, and keeps nothing', async () => {
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
