import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiError } from '../../client/api-client.ts';
import { orch } from '../../dialect/orch.ts';
import { priorityClass } from '../../kinds/scheduling/priority-class.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError, unknownOutcome } from '../../meta/status-error.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { findRbac } from '../wiring/access/rbac.ts';
import { ensureDefaultPolicy, keepObjects, retryDefaultPolicy } from './default-policy.ts';

const prefix = '/rbac.authorization.orch.io';
const priorityClasses = '/apis/scheduling.orch.io/v1/priorityclasses';
const roles = '/apis/rbac.authorization.orch.io/v1/clusterroles';

const levels = '/apis/flowcontrol.apiserver.orch.io/v1/prioritylevelconfigurations';
const flows = '/apis/flowcontrol.apiserver.orch.io/v1/flowschemas';

test('mandatory objects of kinds come back when they are deleted, others do not', async () => {
  await using fixture = await RegistryFixture.open();
  const clock = new ManualClock();
  const served = new Map([levels, flows].map((path) => [fixture.served(path).kind.kind, path]));
  const kinds = [levels, flows].map((path) => fixture.served(path).kind);
  const initialObjects = kinds.flatMap((kind) => kind.initialObjects ?? []);
  const kept = kinds.flatMap((kind) =>
    (kind.initialObjects ?? []).filter(({ metadata }) => kind.keptObjects?.includes(metadata.name ?? '')),
  );
  const writes: string[] = [];
  const parts = {
    ...{ dialect: orch, logger: silentLogger, initialObjects },
    client: {
      create: (target: string, object: unknown) => {
        writes.push(`${(object as ApiObject).kind} ${(object as ApiObject).metadata.name}`);
        return fixture.call('POST', target, object) as never;
      },
      update: () => assert.fail('nothing is changed'),
      delete: () => assert.fail('nothing is deleted'),
    },
    fresh: () => fixture.cache.fresh(),
    servedAs: ({ kind = '' }: ApiObject) => {
      const path = served.get(kind);
      return path === undefined ? undefined : fixture.served(path);
    },
    serves: () => false,
    isJudged: () => false,
  };
  await ensureDefaultPolicy(parts);
  await fixture.cache.fresh();
  writes.length = 0;
  const keeping = keepObjects(parts, kept, clock);
  clock.advance(limits.keptObjectsLookMs);
  assert.deepEqual(writes, [], 'they are there');
  for (const path of [
    `${levels}/exempt`,
    `${levels}/catch-all`,
    `${levels}/system`,
    `${flows}/exempt`,
    `${flows}/probes`,
  ])
    await fixture.call('DELETE', path);
  await fixture.cache.fresh();
  clock.advance(limits.keptObjectsLookMs);
  const back = ['PriorityLevelConfiguration catch-all', 'PriorityLevelConfiguration exempt', 'FlowSchema exempt'];
  await until(() => writes.length >= back.length, 'they do not come back');
  assert.deepEqual(writes, back);
  await fixture.cache.fresh();
  assert.equal((await fixture.object('GET', `${flows}/exempt`)).metadata.name, 'exempt');
  await until(() => clock.pending > 0, 'nobody looks again');
  keeping.close();
  assert.equal(clock.pending, 0);
  assert.ok(limits.keptObjectsLookMs <= 60_000);
});

/** Reconciles the policy with the fixture's objects; returns the log entries. */
async function ensure(
  fixture: RegistryFixture,
  write = fixture.call.bind(fixture),
  { isJudged = false, clock = undefined as ManualClock | undefined } = {},
): Promise<readonly unknown[]> {
  const logged: unknown[] = [];
  const logger: Logger = { ...silentLogger, error: (_message, fields) => logged.push(fields?.['name']) };
  const send = async (method: string, target: string, body: unknown): Promise<never> => {
    try {
      return (await write(method, target, body)) as never;
    } catch (error) {
      throw error instanceof StatusError ? new ApiError(error.toStatus(), error.code) : error;
    }
  };
  const parts = {
    dialect: orch,
    logger,
    client: {
      create: (target: string, object: unknown) => send('POST', target, object),
      update: (target: string, object: unknown) => send('PUT', target, object),
      delete: (target: string, options: unknown) => send('DELETE', target, options),
    },
    fresh: () => fixture.cache.fresh(),
    servedAs: ({ kind }: ApiObject) =>
      findRbac(fixture.resources, orch, kind) ??
      (kind === 'PriorityClass' ? fixture.served(priorityClasses) : undefined),
    initialObjects: priorityClass(orch).initialObjects ?? [],
    serves: () => false,
    isJudged: () => isJudged,
  };
  const refused = await ensureDefaultPolicy(parts);
  if (clock) retryDefaultPolicy(parts, refused, clock);
  return logged;
}

const names = async (fixture: RegistryFixture): Promise<readonly unknown[]> =>
  (await fixture.list(roles)).items.map(({ metadata }: ApiObject) => metadata.name);

describe('the default policy at a start', () => {
  test('is created, and a second start writes nothing', async () => {
    await using fixture = await RegistryFixture.open();
    assert.deepEqual(await ensure(fixture), []);
    assert.ok((await names(fixture)).includes('system:basic-user'));
    const head = await fixture.store.head();
    assert.deepEqual(await ensure(fixture), []);
    assert.equal(await fixture.store.head(), head);
  });

  test('initial objects of kinds are created, and one that somebody changed stays as it is', async () => {
    await using fixture = await RegistryFixture.open();
    const system = {
      apiVersion: 'scheduling.orch.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'system-node-critical' },
    };
    await fixture.call('POST', priorityClasses, { ...system, value: 2000001000, description: 'mine' });
    await ensure(fixture);
    const found = (await fixture.list(priorityClasses)).items.map((each) => [
      each.metadata.name,
      each['value'],
      each['description'] === 'mine',
    ]);
    assert.deepEqual(found, [
      ['system-cluster-critical', 2000000000, false],
      ['system-node-critical', 2000001000, true],
    ]);
  });

  for (const [what, value] of [
    ['cannot be read', '{'],
    ['is none', JSON.stringify({ apiVersion: 'x', kind: 'ClusterRole', metadata: { name: 'view' }, rules: 5 })],
  ] as const) {
    test(`a role that ${what} is logged and skipped, and the others are created`, async () => {
      await using fixture = await RegistryFixture.open();
      await fixture.store.create(`${prefix}/clusterroles/view`, Buffer.from(value));
      await fixture.cache.fresh();
      assert.deepEqual(await ensure(fixture), ['view']);
      assert.equal((await fixture.store.get(`${prefix}/clusterroles/view`))?.value.toString(), value);
      assert.equal((await fixture.object('GET', `${roles}/edit`)).metadata.name, 'edit');
    });
  }

  test('a binding of another role that cannot be deleted is logged and skipped', async () => {
    await using fixture = await RegistryFixture.open();
    const bindings = '/apis/rbac.authorization.orch.io/v1/clusterrolebindings';
    const metadata = { name: 'system:discovery', finalizers: ['example.org/held'] };
    await fixture.call('POST', bindings, { metadata, roleRef: { kind: 'ClusterRole', name: 'other' } });
    assert.deepEqual(await ensure(fixture), ['system:discovery']);
  });

  for (const done of [true, false]) {
    test(`writes of unknown outcome that were ${done ? 'done' : 'not done'} are looked for before they are made again`, async () => {
      await using fixture = await RegistryFixture.open();
      const lost = new Set<string>();
      const repeated: string[] = [];
      const write = async (method: string, target: string, body: unknown) => {
        const { name = '' } = (body as ApiObject).metadata;
        const id = `${method} ${target} ${name}`;
        if (lost.has(id)) {
          repeated.push(id);
          return fixture.call(method, target, body);
        }
        lost.add(id);
        if (done) await fixture.call(method, target, body);
        throw unknownOutcome('lost');
      };
      assert.deepEqual(await ensure(fixture, write), []);
      assert.equal(repeated.length, done ? 0 : lost.size);
      assert.ok((await names(fixture)).includes('system:basic-user'));
    });
  }

  test('what a webhook refuses is tried again, and does not fail the start', async () => {
    await using fixture = await RegistryFixture.open();
    const clock = new ManualClock();
    let refusing = true;
    const write = (method: string, target: string, body: unknown) => {
      const refused = refusing && (body as ApiObject).metadata.name === 'view';
      if (refused) return Promise.reject(new StatusError('InternalError', 'failed calling webhook "x"'));
      return fixture.call(method, target, body);
    };
    assert.deepEqual(await ensure(fixture, write, { isJudged: true, clock }), ['view']);
    assert.ok(!(await names(fixture)).includes('view'));
    clock.advance(limits.defaultPolicyRetryMs);
    refusing = false;
    await until(async () => {
      clock.advance(limits.defaultPolicyRetryMs);
      return (await names(fixture)).includes('view');
    }, 'the role is made');
  });

  test('a store with only unknown outcomes fails the start', async () => {
    await using fixture = await RegistryFixture.open();
    await assert.rejects(
      ensure(fixture, () => Promise.reject(unknownOutcome('lost'))),
      /read before you try again/,
    );
  });

  test('a store that accepts no writes fails the start', async () => {
    await using fixture = await RegistryFixture.open();
    const full = new StatusError('InternalError', 'the store is full');
    await assert.rejects(
      ensure(fixture, () => Promise.reject(full)),
      { message: 'the store is full' },
    );
  });
});
