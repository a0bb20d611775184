import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admissionChain } from '../admission/chain.ts';
import { within } from '../base/waits-fixture.ts';
import { orch } from '../dialect/orch.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { RegistryFixture } from './registry-fixture.ts';
import { type SentRequest, writeRows } from './write/write-rows-fixture.ts';

/** An aborted request stops waiting, on every write path. */

const namespace = 'n';
const ended = new Error('the deadline has passed');

/** The stage at which a test blocks a write, forever. */
class Obstacle {
  at: 'nothing' | 'mutate' | 'validate' | 'creation' = 'nothing';
  #reached = Promise.withResolvers<void>();

  get reached(): Promise<void> {
    return within(this.#reached.promise, 'nothing asks');
  }

  stand(at: Obstacle['at']): void {
    this.at = at;
    this.#reached = Promise.withResolvers();
  }

  pass(at: Obstacle['at']): Promise<void> | undefined {
    if (this.at !== at) return undefined;
    this.#reached.resolve();
    return new Promise(() => {});
  }
}

const heldUpBy = (obstacle: Obstacle) =>
  admissionChain([
    {
      name: 'held-up',
      sideEffects: 'none',
      concerns: () => true,
      mutate: () => obstacle.pass('mutate'),
      validate: () => obstacle.pass('validate'),
    },
  ]);

for (const row of writeRows(orch.group('rbac.authorization'))) {
  describe(row.what, () => {
    for (const at of ['mutate', 'validate'] as const) {
      test(`ends while a plugin blocks in ${at}; nothing is written, and others may write`, async () => {
        const obstacle = new Obstacle();
        await using fixture = await RegistryFixture.open({ admission: heldUpBy(obstacle) });
        const send = ({ method, path, patch, body }: SentRequest, signal?: AbortSignal) => {
          if (patch) fixture.patchType = patch;
          return fixture.call(method, path, structuredClone(body), signal);
        };
        const objects = async (): Promise<readonly ApiObject[]> =>
          (await fixture.list(`${row.path(namespace)}?labelSelector=row%3Da`)).items;
        const place = { namespace, name: 'a', collection: row.path(namespace) };
        for (const sent of row.before(place)) await send(sent);
        const [found] = await objects();

        obstacle.stand(at);
        const abort = new AbortController();
        const refused = assert.rejects(send(row.request(place, found), abort.signal), ended);
        await obstacle.reached;
        abort.abort(ended);
        await refused;
        assert.deepEqual(row.seen(await objects()), row.undone);

        obstacle.stand('nothing');
        await send(row.request(place, found));
        assert.deepEqual(row.seen(await objects()), row.done);
      });
    }
  });
}

describe('a write that waits for others', () => {
  const path = '/api/v1/namespaces/n/configmaps';
  const object = (value: string) => ({ metadata: { name: 'a' }, data: { value } });

  test('does not start after its deadline', async () => {
    const obstacle = new Obstacle();
    await using fixture = await RegistryFixture.open({ admission: heldUpBy(obstacle) });
    await fixture.call('POST', path, object('1'));
    obstacle.stand('mutate');
    const [first, second] = [new AbortController(), new AbortController()];
    const firstRefused = assert.rejects(fixture.call('PUT', `${path}/a`, object('2'), first.signal), ended);
    await obstacle.reached;
    const secondRefused = assert.rejects(fixture.call('PUT', `${path}/a`, object('3'), second.signal), ended);
    obstacle.stand('nothing');
    second.abort(ended);
    first.abort(ended);
    await Promise.all([firstRefused, secondRefused]);
    assert.deepEqual((await fixture.object('GET', `${path}/a`))['data'], { value: '1' });
  });

  test('ends while the permission to create is checked', async () => {
    const obstacle = new Obstacle();
    obstacle.stand('creation');
    await using fixture = await RegistryFixture.open({ requireCreate: () => obstacle.pass('creation') });
    fixture.patchType = 'apply';
    const abort = new AbortController();
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
    const refused = assert.rejects(fixture.call('PATCH', `${path}/a?fieldManager=m`, body, abort.signal), ended);
    await obstacle.reached;
    abort.abort(ended);
    await refused;
  });

  test('ends while the store does not respond', async () => {
    const store = openMemoryStore();
    const asked = Promise.withResolvers<void>();
    await using fixture = await RegistryFixture.open({ store });
    store.get = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const abort = new AbortController();
    const refused = assert.rejects(fixture.call('DELETE', `${path}/a`, undefined, abort.signal), ended);
    await within(asked.promise, 'asked: never');
    abort.abort(ended);
    await refused;
  });
});

describe('the other kinds of an object', () => {
  const events = orch.group('events');
  const core = { group: '', version: 'v1', kind: 'Event', resource: 'events' };
  for (const [path, expected] of [
    ['/api/v1/namespaces/n/events', { ...core, group: events }],
    [`/apis/${events}/v1/namespaces/n/events`, core],
  ] as const) {
    test(`${path} is served as ${expected.group || 'core'} as well`, async () => {
      const seen: AdmissionAttributes[] = [];
      const admission = { mutate: (attributes: AdmissionAttributes) => void seen.push(attributes), validate() {} };
      await using fixture = await RegistryFixture.open({ admission });
      await fixture.call('DELETE', path);
      await fixture.call('POST', path, {
        metadata: { name: 'e' },
        ...(expected.group === '' ? { regarding: { namespace: 'n' } } : { involvedObject: { namespace: 'n' } }),
        ...{ eventTime: '2026-01-01T00:00:00.000000Z', reportingController: 'a.example/b', reportingInstance: 'i' },
        ...{ reportingComponent: 'a.example/b', action: 'a', reason: 'r', type: 'Normal' },
      });
      assert.deepEqual(
        seen.map(({ equivalents }) => equivalents),
        [[expected]],
      );
    });
  }
});

describe('admission attributes of a request', () => {
  const path = '/api/v1/namespaces/n/configmaps';
  const meta = { apiVersion: `${orch.group('meta')}/v1` };
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  const rows: readonly (readonly [
    what: string,
    request: readonly [method: string, target: string, body?: unknown],
    operation: string,
    options: object,
  ])[] = [
    ['a create', ['POST', `${path}?fieldManager=m`, body], 'create', { kind: 'CreateOptions', fieldManager: 'm' }],
    ['a dry run', ['POST', `${path}?dryRun`, body], 'create', { kind: 'CreateOptions', dryRun: ['All'] }],
    [
      'an update',
      ['PUT', `${path}/there`, { ...body, metadata: { name: 'there' } }],
      'update',
      { kind: 'UpdateOptions' },
    ],
    [
      'a patch',
      ['PATCH', `${path}/there?fieldValidation=Strict`, { data: { a: 'b' } }],
      'update',
      { kind: 'UpdateOptions', fieldValidation: 'Strict' },
    ],
    [
      'an apply that creates',
      ['PATCH', `${path}/a?fieldManager=m&force=true`, body],
      'create',
      { kind: 'CreateOptions', fieldManager: 'm' },
    ],
    [
      'an apply that updates',
      ['PATCH', `${path}/there?fieldManager=m`, { ...body, metadata: { name: 'there' } }],
      'update',
      { kind: 'UpdateOptions', fieldManager: 'm' },
    ],
    [
      'a delete by a body',
      ['DELETE', `${path}/there`, { propagationPolicy: 'Orphan', gracePeriodSeconds: 3 }],
      'delete',
      { kind: 'DeleteOptions', propagationPolicy: 'Orphan', gracePeriodSeconds: 3 },
    ],
    [
      'a delete by parameters',
      ['DELETE', `${path}/there?gracePeriodSeconds=0`],
      'delete',
      { kind: 'DeleteOptions', gracePeriodSeconds: 0 },
    ],
    ['a delete of all', ['DELETE', `${path}?labelSelector=x=y`], 'delete', { kind: 'DeleteOptions' }],
  ];
  for (const [what, [method, target, sent], operation, options] of rows) {
    test(`${what}: the options of its operation, as they were sent`, async () => {
      const seen: AdmissionAttributes[] = [];
      const admission = { mutate: (attributes: AdmissionAttributes) => void seen.push(attributes), validate() {} };
      await using fixture = await RegistryFixture.open({ admission });
      await fixture.call('POST', path, { ...body, metadata: { name: 'there', labels: { x: 'y' } } });
      seen.length = 0;
      fixture.patchType = what.includes('apply') ? 'apply' : 'merge';
      const { signal } = new AbortController();
      await fixture.call(method, target, sent, signal);
      assert.equal(seen.length, 1);
      const [attributes] = seen;
      assert.deepEqual(
        [attributes?.operation, attributes?.options, attributes?.equivalents],
        [operation, { ...meta, ...options }, []],
      );
      assert.equal(attributes?.signal, signal);
      assert.equal(attributes?.schema, fixture.served(path).kind.schema);
      assert.equal(attributes?.annotate('example.com/a', 'b'), undefined);
      assert.deepEqual([...fixture.annotations], [['example.com/a', 'b']]);
    });
  }
});
