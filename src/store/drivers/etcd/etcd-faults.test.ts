import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { silentLogger } from '../../../base/logger.ts';
import { WireReader } from '../../../base/protobuf-wire.ts';
import { systemRandom } from '../../../base/random.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { until } from '../../../base/waits-fixture.ts';
import { readChanges, watchChanges } from '../../conformance/watch-changes.ts';
import { isStoreError, type Store, type StoreErrorCode } from '../../store.ts';
import { EtcdConnection } from './etcd-connection.ts';
import { EtcdKeys } from './etcd-keys.ts';
import { decodeHeaderOnly, type ResponseHeader, rangeMethod, type UnaryMethod } from './etcd-messages.ts';
import { type EtcdProcess, type EtcdProcessOptions, etcdMissing, startEtcd } from './etcd-process-fixture.ts';
import { type EtcdStoreOptions, openEtcdStore } from './etcd-store.ts';
import { bytesOf, FakeMessage } from './fake-etcd-fixture.ts';
import { hurriedClock, openFaultyNetwork } from './faulty-network-fixture.ts';

/** Behavior of a real etcd that is restarted, disconnected, full, shared or compacted. */

const value = (text: string): Uint8Array => Buffer.from(text);

const is =
  (code: StoreErrorCode) =>
  (error: unknown): boolean =>
    isStoreError(error, code);

const open = async (context: TestContext, options: EtcdStoreOptions): Promise<Store> => {
  const store = await openEtcdStore(options);
  context.after(() => store.close());
  return store;
};

const startOwn = async (context: TestContext, options: EtcdProcessOptions): Promise<EtcdProcess> => {
  const etcd = await startEtcd(options);
  context.after(() => etcd.stop());
  return etcd;
};

const connectTo = (context: TestContext, { endpoint }: EtcdProcess): EtcdConnection => {
  const connection = new EtcdConnection({
    endpoints: [endpoint],
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    probeKey: value('/any'),
  });
  context.after(() => connection.close());
  return connection;
};

describe('etcd that fails', { skip: etcdMissing }, () => {
  let etcd: EtcdProcess;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  test('a restart interrupts calls, and loses and repeats nothing in change streams', async (context) => {
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/restart' });
    const from = await store.head();
    const stream = watchChanges(store, from);
    const first = await store.create('/a', value('one'));
    await stream.reached(first.revision);
    await etcd.kill();
    const read = store.get('/a');
    await etcd.start();
    assert.equal((await read)?.revision, first.revision);
    const second = await store.update('/a', value('two'), first.revision);
    await stream.reached(second.revision);
    assert.deepEqual(
      (await stream.stop()).map(({ type, revision }) => ({ type, revision })),
      [
        { type: 'create', revision: first.revision },
        { type: 'update', revision: second.revision },
      ],
    );
  });

  test('without etcd, calls and change streams are unavailable, with endpoint and reason', async (context) => {
    const gone = await startOwn(context, {});
    const store = await open(context, { endpoints: [gone.endpoint], clock: hurriedClock(100) });
    const from = await store.head();
    const stream = store.changes(from, new AbortController().signal)[Symbol.asyncIterator]();
    const waiting = assert.rejects(stream.next(), is('unavailable'));
    await gone.kill();
    const { host } = new URL(gone.endpoint);
    const refused = new RegExp(`${gone.endpoint}: connect ECONNREFUSED ${host}`);
    await assert.rejects(store.get('/a'), refused);
    await assert.rejects(store.create('/a', value('x')), refused);
    await waiting;
    await assert.rejects(openEtcdStore({ endpoints: [gone.endpoint], clock: hurriedClock(100) }), is('unavailable'));
    await gone.start();
    assert.equal(await store.get('/a'), undefined);
  });

  test('an unreachable endpoint is skipped', async (context) => {
    const store = await open(context, { endpoints: ['http://127.0.0.1:1', etcd.endpoint], prefix: '/passed' });
    const { revision } = await store.create('/a', value('one'));
    assert.equal((await readChanges(store, revision - 1, revision)).length, 1);
  });

  test('a write whose answer is lost with the connection is found, and was not repeated', async (context) => {
    const network = await openFaultyNetwork(etcd.endpoint);
    context.after(() => network.close());
    const direct = await open(context, { endpoints: [etcd.endpoint], prefix: '/lost' });
    const store = await open(context, { endpoints: [network.endpoint], prefix: '/lost' });
    const before = await direct.head();
    network.holdAnswers();
    const write = store.create('/a', value('one'));
    // The first data held back may be a frame of the connection itself rather than a response.
    await until(async () => (await direct.get('/a')) !== undefined);
    await network.answerHeld();
    network.cut();
    assert.deepEqual(await write, { revision: before + 1 });
    assert.equal((await store.get('/a'))?.revision, before + 1);
    assert.equal(await direct.head(), before + 1);
    await assert.rejects(store.create('/a', value('two')), is('exists'));
  });

  test('a write that etcd does not answer in time has an unknown outcome, and reads wait for etcd', async (context) => {
    let behind = 0;
    const clock = { ...hurriedClock(50), now: () => systemClock.now() - behind };
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/frozen', clock });
    const { revision } = await store.create('/a', value('one'));
    await etcd.freeze();
    context.after(() => etcd.thaw());
    behind = limits.etcdWriteMsMax - 200;
    await assert.rejects(store.update('/a', value('two'), revision), is('unknownOutcome'));
    behind = 0;
    const read = store.get('/a');
    etcd.thaw();
    const record = await read;
    const text = Buffer.from(record?.value ?? []).toString();
    assert.equal(text, record?.revision === revision ? 'one' : 'two');
  });

  test('a change stream over a connection that breaks repeatedly delivers everything once', async (context) => {
    const network = await openFaultyNetwork(etcd.endpoint);
    context.after(() => network.close());
    const direct = await open(context, { endpoints: [etcd.endpoint], prefix: '/broken' });
    const store = await open(context, { endpoints: [network.endpoint], prefix: '/broken' });
    const from = await direct.head();
    const stream = watchChanges(store, from);
    const written: number[] = [];
    for (let round = 0; round < 5; round++) {
      for (let index = 0; index < 20; index++) {
        written.push((await direct.create(`/${round}/${index}`, value('x'))).revision);
      }
      await stream.reached(written.at(-10) ?? 0);
      network.cut();
    }
    await stream.reached(written.at(-1) ?? 0);
    assert.deepEqual(
      (await stream.stop()).map(({ revision }) => revision),
      written,
    );
    assert.ok(network.connections > 5);
  });

  test('a full etcd refuses writes with full; reads, deletions, change streams and compaction go on', async (context) => {
    const small = await startOwn(context, { flags: ['--quota-backend-bytes', '400000'] });
    const store = await open(context, { endpoints: [small.endpoint] });
    const from = await store.head();
    const fill = async () => {
      for (let index = 0; index < 100; index++) await store.create(`/fill/${index}`, new Uint8Array(20_000));
    };
    assert.deepEqual(await store.alarms?.(), []);
    await assert.rejects(fill(), is('full'));
    await until(async () => (await store.alarms?.())?.join() === 'NOSPACE');
    const { records } = await store.list('/fill/');
    const [first, ...others] = records;
    assert.ok(first && others.length > 5);
    await assert.rejects(
      store.update(first.key, new Uint8Array(1), first.revision),
      is('full'),
      'etcd keeps no reserve',
    );
    let head = 0;
    for (const { key, revision } of records) head = (await store.delete(key, revision)).revision;
    assert.deepEqual((await store.list('/fill/')).records, []);
    assert.equal((await readChanges(store, from, head)).length, 2 * records.length);
    await assert.rejects(store.create('/again', new Uint8Array(1)), is('full'), 'until its operator has made room');
    await store.compact(head);
    await assert.rejects(store.get(first.key, first.revision), is('compacted'));
    assert.equal(await store.head(), head);
  });

  test('a change stream reaches what others do in a full etcd, and goes on when that has room again', async (context) => {
    const small = await startOwn(context, { flags: ['--quota-backend-bytes', '400000'] });
    const store = await open(context, { endpoints: [small.endpoint], clock: hurriedClock(20) });
    const other = await open(context, { endpoints: [small.endpoint], prefix: '/other' });
    const stream = watchChanges(store, await store.head());
    const kept = await store.create('/kept', value('x'));
    await stream.reached(kept.revision);
    const fill = async () => {
      for (let index = 0; index < 100; index++) await other.create(`/fill/${index}`, new Uint8Array(20_000));
    };
    await assert.rejects(fill(), is('full'));
    await stream.reached(await store.head());
    for (const { key, revision } of (await other.list('/fill/')).records) await other.delete(key, revision);
    const head = await store.head();
    await stream.reached(head);
    const removed = await store.delete('/kept', kept.revision);
    await stream.reached(removed.revision);
    await store.compact(removed.revision);
    const { marker } = new EtcdKeys('/registry');
    const connection = connectTo(context, small);
    await connection.write(defragmentMethod, undefined);
    await connection.write(disarmMethod, await connection.read(alarmsMethod, undefined));
    assert.deepEqual(await store.alarms?.(), []);
    const markedAt = async () => (await connection.read(rangeMethod, { key: marker })).records[0]?.modRevision ?? 0;
    await until(async () => (await markedAt()) > removed.revision);
    await stream.reached((await other.create('/again', value('x'))).revision);
    const again = await store.create('/kept', value('y'));
    await stream.reached(again.revision);
    assert.deepEqual(
      (await stream.stop()).map(({ type, key, revision }) => [type, key, revision]),
      [
        ['create', '/kept', kept.revision],
        ['delete', '/kept', removed.revision],
        ['create', '/kept', again.revision],
      ],
    );
  });

  test('a request too large for etcd, or for its transport, is distinguished from a full etcd', async (context) => {
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/large' });
    await assert.rejects(store.create('/a', new Uint8Array(1_600_000)), is('tooLarge'));
    await assert.rejects(store.create('/a', new Uint8Array(3_000_000)), is('tooLarge'));
    assert.equal(await store.get('/a'), undefined);
  });
});

describe('etcd that is shared', { skip: etcdMissing }, () => {
  let etcd: EtcdProcess;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd.stop());

  test('stores whose prefixes share a beginning do not see each other', async (context) => {
    const stores = await Promise.all(
      ['/registry', '/registry2', '/registry/a', ''].map((prefix) =>
        open(context, { endpoints: [etcd.endpoint], prefix }),
      ),
    );
    const [one, two, below, all] = stores as [Store, Store, Store, Store];
    const from = await one.head();
    await one.create('/x', value('one'));
    await two.create('/x', value('two'));
    const { revision } = await below.create('/x', value('below'));
    const listed = async (store: Store) => (await store.list('')).records.map(({ key }) => key);
    assert.deepEqual(await listed(one), ['/a/x', '/x']);
    assert.deepEqual(await listed(two), ['/x']);
    assert.deepEqual(await listed(below), ['/x']);
    assert.deepEqual(await listed(all), ['/registry/a/x', '/registry/x', '/registry2/x']);
    const told = await readChanges(one, from, revision);
    assert.deepEqual(
      told.map(({ key }) => key),
      ['/x', '/a/x'],
    );
  });

  test('writes of others are reported as progress, and the marker key is not visible', async (context) => {
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/mine' });
    const other = await open(context, { endpoints: [etcd.endpoint], prefix: '/theirs' });
    const from = await store.head();
    const stream = watchChanges(store, from);
    for (let index = 0; index < 3; index++) {
      await other.create(`/${index}`, value('x'));
      await stream.reached(await store.head());
    }
    assert.deepEqual(await stream.stop(), []);
    assert.deepEqual(await store.list(''), { records: [], revision: await store.head(), remaining: 0 });
  });

  test('an idle change stream notices writes of others', async (context) => {
    const clock = hurriedClock(50);
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/quiet', clock });
    const other = await open(context, { endpoints: [etcd.endpoint], prefix: '/theirs' });
    const stream = watchChanges(store, await store.head());
    const { revision } = await other.create('/noise', value('x'));
    await stream.reached(revision);
    assert.deepEqual(await stream.stop(), []);
  });

  test('a revision that etcd sends in fragments comes in one batch', async (context) => {
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/fragments' });
    const from = await store.head();
    const keys = new EtcdKeys('/fragments');
    const connection = connectTo(context, etcd);
    // With their previous values, these exceed what etcd puts into one message (2 MiB).
    const names = Array.from({ length: 14 }, (_, index) => `/${index + 10}`);
    let revision = from;
    for (let round = 0; round < 4; round++) {
      const records = names.map((name) => ({ key: keys.toEtcd(name), value: new Uint8Array(100_000) }));
      ({ revision } = await connection.write(putAllMethod, records));
    }
    const stream = watchChanges(store, from);
    await stream.reached(revision);
    await stream.stop();
    const sizes = stream.batches.map(({ changes }) => changes.length);
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      4 * names.length,
    );
    for (const { changes, revision: upTo } of stream.batches) {
      assert.equal(changes.length % names.length, 0);
      assert.ok(changes.every((change) => change.revision <= upTo));
    }
    assert.ok(sizes.length > 1, 'etcd sent fragments');
  });

  test('a change stream from before the last compaction fails with compacted, whatever was compacted', async (context) => {
    const store = await open(context, { endpoints: [etcd.endpoint], prefix: '/compacted' });
    const first = await store.create('/a', value('one'));
    const second = await store.update('/a', value('two'), first.revision);
    const removed = await store.delete('/a', second.revision);
    await store.compact(removed.revision);
    const next = (from: number) => store.changes(from, new AbortController().signal)[Symbol.asyncIterator]().next();
    await assert.rejects(next(first.revision), is('compacted'));
    // etcd itself would accept this one, and omit the deletion.
    await assert.rejects(next(removed.revision - 1), is('compacted'));
    const again = await store.create('/a', value('three'));
    assert.equal((await readChanges(store, removed.revision, again.revision)).length, 1);
  });
});

/**
 * Puts many keys in one transaction, and so at one revision, as another client may write them: without ids,
 * unconditionally.
 */
const putAllMethod: UnaryMethod<readonly { readonly key: Uint8Array; readonly value: Uint8Array }[], ResponseHeader> = {
  path: '/etcdserverpb.KV/Txn',
  encode: (records) => {
    const txn = new FakeMessage();
    for (const record of records) {
      const put = new FakeMessage().bytes(1, record.key).bytes(2, record.value);
      txn.message(2, new FakeMessage().message(2, put));
    }
    return txn.finish();
  },
  decode: decodeHeaderOnly,
};

const defragmentMethod: UnaryMethod<undefined, ResponseHeader> = {
  path: '/etcdserverpb.Maintenance/Defragment',
  encode: () => new FakeMessage().finish(),
  decode: decodeHeaderOnly,
};

/** Of the member that raised an alarm: its id. */
const alarmsMethod: UnaryMethod<undefined, number | bigint> = {
  path: '/etcdserverpb.Maintenance/Alarm',
  encode: () => new FakeMessage().finish(),
  decode: (bytes) => idOf(bytesOf(bytes, 2)),
};

/** Ends the alarm (1: NOSPACE) of a member. */
const disarmMethod: UnaryMethod<number | bigint, ResponseHeader> = {
  path: '/etcdserverpb.Maintenance/Alarm',
  encode: (member) => new FakeMessage().int64(1, 2).int64(2, member).int64(3, 1).finish(),
  decode: decodeHeaderOnly,
};

const idOf = (member: Uint8Array): number | bigint => {
  const reader = new WireReader(member);
  assert.ok(reader.next());
  return reader.int64();
};
