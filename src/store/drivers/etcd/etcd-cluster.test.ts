import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../../base/time/clock.ts';
import { until } from '../../../base/waits-fixture.ts';
import { watchChanges } from '../../conformance/watch-changes.ts';
import { type Committed, isStoreError, type Revision, type Store, StoreError } from '../../store.ts';
import {
  type EtcdCluster,
  type EtcdProcess,
  etcdMissing,
  startEtcd,
  startEtcdCluster,
} from './etcd-process-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import { hurriedClock } from './faulty-network-fixture.ts';

/** A cluster of three members of which some stand still, end, or belong to another cluster. */

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('a cluster of three', { skip: etcdMissing, timeout: 3 * 60_000 }, () => {
  let cluster: EtcdCluster;
  before(async () => {
    cluster = await startEtcdCluster();
  });
  after(() => cluster.stop());

  let prefixes = 0;
  /** `first`: the index of the member that is asked first. */
  const open = async (context: TestContext, first = 0, clock = systemClock): Promise<Store> => {
    const endpoints = [...cluster.endpoints.slice(first), ...cluster.endpoints.slice(0, first)];
    const store = await openEtcdStore({ endpoints, prefix: `/cluster-${++prefixes}`, clock });
    context.after(async () => {
      await store.close();
      for (const stream of streams.splice(0)) await stream.stop().catch(() => {});
    });
    return store;
  };
  const streams: ReturnType<typeof watchChanges>[] = [];
  const watch = (store: Store, from: Revision): ReturnType<typeof watchChanges> => {
    const stream = watchChanges(store, from);
    streams.push(stream);
    return stream;
  };
  const member = (index: number): EtcdProcess => cluster.members[index] ?? assert.fail();

  /** A creation in doubt may be reported so; it is looked for, as its client would. */
  const createSurely = async (store: Store, key: string): Promise<Committed> => {
    for (;;) {
      try {
        return await store.create(key, bytes('x'));
      } catch (error) {
        if (!isStoreError(error, 'unknownOutcome')) throw error;
        const found = await store.get(key);
        if (found) return found;
      }
    }
  };

  // One of the three leads.
  for (const index of [0, 1, 2]) {
    test(`while member ${index}, which serves us, stands still, reads, writes and watches go on elsewhere`, async (context) => {
      const store = await open(context, index);
      const from = await store.head();
      const there = await store.create('/there', bytes('1'));
      const gone = await store.create('/gone', bytes('1'));
      const stream = watch(store, from);
      await stream.reached(gone.revision);
      const frozen = member(index);
      await frozen.freeze();
      context.after(() => frozen.thaw());
      const [read, updated, removed, page] = await Promise.all([
        store.get('/there'),
        store.update('/there', bytes('2'), there.revision),
        store.delete('/gone', gone.revision),
        store.list('/'),
      ]);
      assert.ok(read && updated.revision > there.revision && removed.revision > gone.revision);
      assert.ok(page.records.length >= 1);
      const created = await createSurely(store, '/new');
      const last = Math.max(created.revision, updated.revision, removed.revision);
      await stream.reached(last);
      frozen.thaw();
      assert.deepEqual(
        (await stream.stop()).map(({ type, key }) => `${type} ${key}`).sort(),
        ['create /gone', 'create /new', 'create /there', 'delete /gone', 'update /there'].sort(),
      );
    });
  }

  test('a member that a watch alone stands on is noticed', async (context) => {
    const store = await open(context, 1);
    const other = await openEtcdStore({ endpoints: cluster.endpoints, prefix: `/cluster-${prefixes}` });
    context.after(() => other.close());
    const stream = watch(store, await store.head());
    const first = await other.create('/a', bytes('1'));
    await stream.reached(first.revision);
    await member(1).freeze();
    context.after(() => member(1).thaw());
    await until(async () => (await store.get('/a')) !== undefined);
    const second = await other.update('/a', bytes('2'), first.revision);
    await stream.reached(second.revision);
    member(1).thaw();
    assert.equal((await stream.stop()).length, 2);
  });

  test('without a quorum every call ends with a clear error, and with it all goes on', async (context) => {
    const clock = hurriedClock(10);
    const store = await open(context, 0, clock);
    const there = await store.create('/there', bytes('1'));
    const gone = await store.create('/gone', bytes('1'));
    await Promise.all([member(1).kill(), member(2).kill()]);
    context.after(async () => {
      await Promise.all([member(1).start(), member(2).start()].map((started) => started.catch(() => {})));
    });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => store.head(),
      () => store.head(),
      () => store.get('/there'),
      () => store.list('/'),
      () => store.compact(1),
      () => store.create('/new', bytes('1')),
      () => store.update('/there', bytes('2'), there.revision),
      () => store.delete('/gone', gone.revision),
      () => store.batch([{ verb: 'create', key: '/batch', value: bytes('1') }]),
    ];
    const outcomes = await Promise.allSettled(calls.map((call) => call()));
    for (const [index, outcome] of outcomes.entries()) {
      assert.ok(outcome.status === 'rejected', `call ${index}`);
      assert.ok(outcome.reason instanceof StoreError, String(outcome.reason));
      assert.ok(['unavailable', 'unknownOutcome'].includes(outcome.reason.code), outcome.reason.message);
    }
    await assert.rejects(openEtcdStore({ endpoints: cluster.endpoints, clock }), /no etcd endpoint answers: /);
    await Promise.all([member(1).start(), member(2).start()]);
    assert.ok(await store.get('/there'));
    await createSurely(store, '/later');
  });

  test('the end of one member after the other: no update or deletion has an unknown outcome, and each is over within 8 s', async (context) => {
    const keys = ['/a', '/b', '/c', '/d'];
    const store = await open(context);
    const from = await store.head();
    const stream = watch(store, from);
    const revisions = new Map<string, Revision>();
    for (const key of keys) revisions.set(key, (await createSurely(store, key)).revision);
    const created = [...revisions.values()];
    const written: Revision[] = [];
    let slowestMs = 0;
    const timed = async (write: Promise<Committed>): Promise<Revision> => {
      const startedAt = systemClock.monotonic();
      const { revision } = await write;
      slowestMs = Math.max(slowestMs, systemClock.monotonic() - startedAt);
      written.push(revision);
      return revision;
    };
    const updateUntil = async (key: string, isOver: () => boolean): Promise<void> => {
      do revisions.set(key, await timed(store.update(key, bytes('x'), revisions.get(key) ?? 0)));
      while (!isOver());
    };
    for (const one of cluster.members) {
      // Some writes are under way when the member ends.
      let over = false;
      const writing = Promise.all(keys.map((key) => updateUntil(key, () => over)));
      const before = written.length;
      await until(() => written.length >= before + keys.length);
      await one.kill();
      const killed = written.length;
      await until(() => written.length >= killed + 2 * keys.length, 'writes go on');
      over = true;
      await writing;
      await one.start();
    }
    const [last = assert.fail()] = cluster.members;
    const deleting = Promise.all(keys.map((key) => timed(store.delete(key, revisions.get(key) ?? 0))));
    await Promise.all([last.kill(), deleting]);
    await last.start();
    await stream.reached(Math.max(...written));
    context.diagnostic(`${written.length} writes, the slowest took ${Math.round(slowestMs)} ms`);
    const changes = (await stream.stop()).map(({ revision }) => revision);
    assert.deepEqual(
      changes,
      [...created, ...written].sort((one, other) => one - other),
    );
    assert.ok(slowestMs < 8_000, `the slowest took ${slowestMs} ms`);
  });

  test('members of different clusters are refused, whichever comes first', async (context) => {
    const foreign = await startEtcd();
    context.after(() => foreign.stop());
    for (const endpoints of [
      [...cluster.endpoints, foreign.endpoint],
      [foreign.endpoint, ...cluster.endpoints],
    ]) {
      await assert.rejects(openEtcdStore({ endpoints }), /it belongs to another cluster than http/);
    }
  });
});
