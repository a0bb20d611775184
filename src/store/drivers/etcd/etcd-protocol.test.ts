import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { limits } from '../../../base/limits.ts';
import { silentLogger } from '../../../base/logger.ts';
import { systemRandom } from '../../../base/random.ts';
import { SpanFixture } from '../../../base/span-fixture.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { type ChangeBatch, isStoreError, type Store, type WriteOptions } from '../../store.ts';
import { EtcdConnection } from './etcd-connection.ts';
import { rangeMethod } from './etcd-messages.ts';
import { openEtcdStore } from './etcd-store.ts';
import {
  bytesOf,
  type FakeEtcdHandlers,
  FakeMessage,
  type FakeWatch,
  grpcError,
  integerOf,
  keyValue,
  responseAt,
  startFakeEtcd,
} from './fake-etcd-fixture.ts';
import { hurriedClock } from './faulty-network-fixture.ts';

/** Responses that etcd may give, but that a real etcd does not give on demand. */

const openOn = async (context: TestContext, ...members: readonly FakeEtcdHandlers[]): Promise<Store> => {
  const etcds = await Promise.all(members.map((handlers) => startFakeEtcd(handlers)));
  const endpoints = etcds.map(({ endpoint }) => endpoint);
  const store = await openEtcdStore({ endpoints, clock: hurriedClock(50) });
  context.after(async () => {
    await store.close();
    for (const etcd of etcds) etcd.close();
  });
  return store;
};

const put = (record: Parameters<typeof keyValue>[0], previous?: Parameters<typeof keyValue>[0]): FakeMessage => {
  const event = new FakeMessage().message(2, keyValue(record));
  return previous ? event.message(3, keyValue(previous)) : event;
};

const created = (revision: number): Buffer => responseAt(revision).bool(3, true).finish();

const withEvents = (revision: number, ...events: readonly FakeMessage[]): FakeMessage =>
  events.reduce((message, event) => message.message(11, event), responseAt(revision));

/** The revision that a Range requests; 0 is the latest. */
const revisionOf = (request: Buffer): number => integerOf(request, 4);

const limitOf = (request: Buffer): number => integerOf(request, 3);

const isProgressRequest = (request: Buffer): boolean => request[0] === 3 * 8 + 2;

/** Batches of a change stream, until there are `count`. */
const batchesOf = async (store: Store, from: number, count: number): Promise<readonly ChangeBatch[]> => {
  const batches: ChangeBatch[] = [];
  for await (const batch of store.changes(from, new AbortController().signal)) {
    batches.push(batch);
    if (batches.length === count) break;
  }
  return batches;
};

const compacted = () => grpcError(status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision has been compacted');

test('a socket of this machine is an endpoint', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'etcd-socket-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const store = await openOn(context, { address: `unix://${folder}/kine.sock`, range: () => responseAt(7) });
  assert.equal(await store.head(), 7);
});

test('a member that took long to say whose it is has the rest of an attempt for the read', async (context) => {
  const slowMs = limits.etcdReadMsMax - 1_000;
  let passedMs = 0;
  let allowedMs = Number.NaN;
  const { endpoint, close } = await startFakeEtcd({
    status: () => {
      passedMs += slowMs;
    },
    range: (_request, _metadata, deadline) => {
      allowedMs = Number(deadline) - Date.now();
      return responseAt(1);
    },
  });
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const [random, logger] = [systemRandom, silentLogger];
  const connection = new EtcdConnection({ endpoints: [endpoint], clock, random, logger, probeKey: Buffer.from('/') });
  context.after(async () => {
    await connection.close();
    close();
  });
  await connection.read(rangeMethod, { key: Buffer.from('/a') });
  assert.ok(allowedMs <= limits.etcdReadMsMax - slowMs, `${allowedMs} ms`);
});

test('an outage begins with the first call that fails, not with its failure: a member without a quorum keeps it', async (context) => {
  let passedMs = 0;
  let calls = 0;
  const { endpoint, close } = await startFakeEtcd({
    range: () => {
      calls++;
      passedMs += passedMs === 0 ? limits.etcdReadMsMax : 100;
      throw grpcError(status.UNAVAILABLE, 'etcdserver: no leader');
    },
  });
  const clock = { ...hurriedClock(50), monotonic: () => passedMs };
  const [random, logger] = [systemRandom, silentLogger];
  const connection = new EtcdConnection({ endpoints: [endpoint], clock, random, logger, probeKey: Buffer.from('/') });
  context.after(async () => {
    await connection.close();
    close();
  });
  const read = () => connection.read(rangeMethod, { key: Buffer.from('/a') });
  await assert.rejects(read(), (error) => isStoreError(error, 'unavailable'));
  assert.equal(passedMs, limits.etcdRetryMsMax);
  calls = 0;
  await assert.rejects(read(), (error) => isStoreError(error, 'unavailable'));
  assert.equal(calls * 100, limits.etcdOutageRetryMsMax);
});

describe('etcd protocol: writes', () => {
  test('a role without the compaction key: the error says what to grant', async (context) => {
    const txn = () => {
      throw grpcError(status.PERMISSION_DENIED, 'etcdserver: permission denied');
    };
    const store = await openOn(context, { txn });
    await assert.rejects(
      async () => store.takeCompactionTurn?.(1),
      /etcdctl role grant-permission ROLE readwrite compact_rev_key/,
    );
  });

  for (const [code, details] of [
    [status.UNAVAILABLE, 'etcdserver: request timed out'],
    [status.DEADLINE_EXCEEDED, 'context deadline exceeded'],
    [status.INTERNAL, 'stream broke'],
  ] as const) {
    test(`a write that fails with ${details} and is not found has an unknown outcome and was sent once`, async (context) => {
      let sent = 0;
      const txn = () => {
        sent++;
        throw grpcError(code, details);
      };
      const store = await openOn(context, { txn }, { txn });
      const write = store.create('/a', Buffer.from('x'));
      await assert.rejects(write, (error) => isStoreError(error, 'unknownOutcome') && error.message.includes(details));
      assert.equal(sent, 1);
    });
  }

  test('a write that a member refuses before it could be done goes to another', async (context) => {
    const calls: string[] = [];
    const failing = () => {
      calls.push('first');
      throw grpcError(status.UNAVAILABLE, 'etcdserver: no leader');
    };
    const working = () => {
      calls.push('second');
      return responseAt(7).bool(2, true);
    };
    const store = await openOn(context, { txn: failing }, { txn: working });
    assert.deepEqual(await store.create('/a', Buffer.from('x')), { revision: 7 });
    assert.deepEqual(calls, ['first', 'second']);
  });
});

describe('etcd protocol: reads', () => {
  test('a read that fails is tried again at every member', async (context) => {
    const calls: string[] = [];
    const member = (name: string, answersAt: number) => ({
      range: () => {
        calls.push(name);
        if (calls.length < answersAt) throw grpcError(status.UNAVAILABLE, 'etcdserver: leader changed');
        return responseAt(5);
      },
    });
    const store = await openOn(context, member('a', 4), member('b', 4));
    assert.equal(await store.head(), 5);
    assert.deepEqual(calls.slice(0, 4), ['a', 'b', 'a', 'b']);
  });

  test('a read that etcd refuses is not tried again', async (context) => {
    let refused = 0;
    const range = (request: Buffer) => {
      if (revisionOf(request) === 0) return responseAt(5);
      refused++;
      throw grpcError(status.PERMISSION_DENIED, 'etcdserver: permission denied');
    };
    const store = await openOn(context, { range });
    await assert.rejects(store.get('/a', 3), /refuses this client: etcdserver: permission denied/);
    assert.equal(refused, 1);
  });

  test('a page whose answer would be too large is halved, and the next ones are sized by what came', async (context) => {
    const limits: number[] = [];
    const range = (request: Buffer) => {
      const limit = limitOf(request);
      if (limit === 0) return responseAt(5);
      limits.push(limit);
      if (limit > 130) throw grpcError(status.RESOURCE_EXHAUSTED, 'Received message larger than max (2 vs 1)');
      const first = limits.filter((asked) => asked <= 130).length === 1;
      const records = first ? Array.from({ length: limit }, (_, index) => 1_000 + index) : [5_000];
      const message = responseAt(5).int64(4, first ? limit + 1 : 1);
      for (const name of records) {
        message.message(2, keyValue({ key: `/registry/${name}`, value: 'v'.repeat(100_000), modRevision: 4 }));
      }
      return message;
    };
    const store = await openOn(context, { range });
    const page = await store.list('/');
    assert.deepEqual(limits, [500, 250, 125, 41]);
    assert.equal(page.records.length, 126);
    assert.equal(page.remaining, 0);
  });

  test('a list overtaken by compaction restarts; one at a chosen revision does not', async (context) => {
    let pages = 0;
    const range = (request: Buffer) => {
      if (limitOf(request) === 0) return responseAt(5);
      pages++;
      if (pages % 2 === 0 && pages < 4) throw compacted();
      const more = pages % 2 === 1 ? 2 : 1;
      return responseAt(5)
        .int64(4, more)
        .message(2, keyValue({ key: `/registry/${pages}`, modRevision: 4 }));
    };
    const store = await openOn(context, { range });
    assert.deepEqual(
      (await store.list('/')).records.map(({ key }) => key),
      ['/3', '/4'],
    );
    pages = 0;
    await assert.rejects(store.list('/', { at: 5 }), (error) => isStoreError(error, 'compacted'));
  });

  test('an invalid revision or key is refused without a call', async (context) => {
    const store = await openOn(context, {});
    await assert.rejects(store.get('/a', 1.5), RangeError);
    await assert.rejects(store.list('/', { at: 2 ** 60 }), RangeError);
    await assert.rejects(store.update('/a', Buffer.from('x'), 1.5), RangeError);
    await assert.rejects(store.create('a', Buffer.from('x')), RangeError);
  });

  test('a malformed response is an error, not a crash', async (context) => {
    const range = (request: Buffer) =>
      revisionOf(request) === 0 ? responseAt(5) : new FakeMessage().bytes(2, Buffer.from([0xff]));
    const store = await openOn(context, { range });
    await assert.rejects(store.get('/a', 3), (error) => isStoreError(error, 'unavailable'));
  });
});

describe('etcd protocol: without etcd', () => {
  test('a process that waits for etcd does not end before its answer', () => {
    const script = `
      const { openEtcdStore } = await import('${import.meta.resolve('./etcd-store.ts')}');
      const { hurriedClock } = await import('${import.meta.resolve('./faulty-network-fixture.ts')}');
      const opening = openEtcdStore({ endpoints: ['http://127.0.0.1:1'], clock: hurriedClock(50) });
      await opening.catch((error) => process.stdout.write(error.code));
    `;
    const { stdout, status: exitStatus } = spawnSync(process.execPath, ['--input-type=module', '--eval', script]);
    assert.equal(exitStatus, 0);
    assert.equal(stdout.toString(), 'unavailable');
  });
});

describe('etcd protocol: change streams', () => {
  test('a previous value that etcd leaves out is read at the revision before', async (context) => {
    const range = (request: Buffer) => {
      if (revisionOf(request) !== 8) return responseAt(5);
      return responseAt(5).message(2, keyValue({ key: '/registry/a', value: 'old', modRevision: 4 }));
    };
    const watch = (call: FakeWatch) => {
      call.write(created(5));
      call.write(withEvents(9, put({ key: '/registry/a', value: 'new', createRevision: 4, modRevision: 9 })).finish());
    };
    const store = await openOn(context, { range, watch });
    const [batch] = await batchesOf(store, 5, 1);
    const [change] = batch?.changes ?? [];
    assert.ok(change?.type === 'update');
    assert.equal(change.previous.revision, 4);
    assert.equal(Buffer.from(change.previous.value).toString(), 'old');
  });

  test('if the previous value is compacted too, the change stream ends with compacted', async (context) => {
    const range = (request: Buffer) => {
      if (revisionOf(request) === 8) throw compacted();
      return responseAt(5);
    };
    const deletion = new FakeMessage().int64(1, 1).message(2, keyValue({ key: '/registry/a', modRevision: 9 }));
    const watch = (call: FakeWatch) => {
      call.write(created(5));
      call.write(withEvents(9, deletion).finish());
    };
    const store = await openOn(context, { range, watch });
    await assert.rejects(batchesOf(store, 5, 1), (error) => isStoreError(error, 'compacted'));
  });

  test('a watch that etcd ends for a compaction is compacted, with the revision', async (context) => {
    const watch = (call: FakeWatch) => {
      call.write(created(5));
      call.write(responseAt(9).bool(4, true).int64(5, 8).finish());
    };
    const store = await openOn(context, { watch });
    await assert.rejects(batchesOf(store, 5, 1), (error) => isStoreError(error, 'compacted') && error.revision === 8);
  });

  test('a watch that etcd refuses is unavailable, with the reason', async (context) => {
    const reason = Buffer.from('etcdserver: permission denied');
    const refusal = responseAt(5).bool(3, true).bool(4, true).bytes(6, reason).finish();
    const store = await openOn(context, { watch: (call) => call.write(refusal) });
    await assert.rejects(batchesOf(store, 5, 1), /ended the watch: etcdserver: permission denied/);
  });

  test('events that history lost while the change stream caught up are noticed', async (context) => {
    let compactedAt = 0;
    const range = (request: Buffer) => {
      const revision = revisionOf(request);
      if (revision > 0 && revision < compactedAt) throw compacted();
      return responseAt(20);
    };
    const watch = (call: FakeWatch) => {
      call.write(created(20));
      call.write(withEvents(20, put({ key: '/registry/a', createRevision: 8, modRevision: 8 })).finish());
      call.write(withEvents(20, put({ key: '/registry/b', createRevision: 15, modRevision: 15 })).finish());
    };
    const store = await openOn(context, { range, watch });
    const stream = store.changes(5, new AbortController().signal)[Symbol.asyncIterator]();
    assert.equal((await stream.next()).value?.revision, 8);
    compactedAt = 12;
    await assert.rejects(stream.next(), (error) => isStoreError(error, 'compacted'));
  });

  for (const end of ['an error', 'its end']) {
    test(`a stream that breaks with ${end} is opened again from where the change stream stands`, async (context) => {
      const starts: number[] = [];
      const watch = (call: FakeWatch) => {
        call.once('data', (request: Buffer) => {
          const revision = integerOf(bytesOf(request, 1), 3);
          starts.push(revision);
          call.write(created(5));
          const record = { key: '/registry/a', createRevision: revision + 1, modRevision: revision + 1 };
          call.write(withEvents(revision + 1, put(record)).finish());
          if (end === 'an error') call.emit('error', grpcError(status.UNAVAILABLE, 'etcdserver: no leader'));
          else call.end();
        });
      };
      const store = await openOn(context, { watch });
      const batches = await batchesOf(store, 5, 3);
      assert.deepEqual(
        batches.map(({ revision }) => revision),
        [7, 9, 11],
      );
      assert.deepEqual(starts, [6, 8, 10]);
    });
  }

  test('if etcd answers progress requests in order, the change stream requests progress', async (context) => {
    let head = 5;
    const watch = (call: FakeWatch) => {
      call.write(created(5));
      call.on('data', (request: Buffer) => {
        if (isProgressRequest(request)) call.write(responseAt(head).finish());
      });
    };
    const store = await openOn(context, { range: () => responseAt(head), watch, version: '3.5.17' });
    const batches = batchesOf(store, 5, 1);
    head = 30;
    await store.head();
    assert.deepEqual(await batches, [{ changes: [], revision: 30 }]);
  });

  test('otherwise the change stream writes its marker and takes that for progress', async (context) => {
    let head = 5;
    const open = Promise.withResolvers<FakeWatch>();
    const watch = (call: FakeWatch) => {
      call.write(created(5));
      call.on('data', (request: Buffer) => {
        if (isProgressRequest(request)) call.write(responseAt(1_000).finish());
      });
      open.resolve(call);
    };
    const marker = (request: Buffer) => {
      const key = bytesOf(request, 1).toString();
      head++;
      void open.promise.then((call) => call.write(withEvents(head, put({ key, modRevision: head })).finish()));
      return responseAt(head);
    };
    const store = await openOn(context, { range: () => responseAt(head), put: marker, watch, version: '3.4.23' });
    const batches = batchesOf(store, 5, 1);
    head = 30;
    await store.head();
    assert.deepEqual(await batches, [{ changes: [], revision: 31 }]);
  });

  test('a change stream that cannot be reopened for long is unavailable', async (context) => {
    let opened = 0;
    const watch = (call: FakeWatch) => {
      opened++;
      call.emit('error', grpcError(status.UNAVAILABLE, 'etcdserver: no leader'));
    };
    const store = await openOn(context, { watch });
    await assert.rejects(batchesOf(store, 5, 1), /no leader/);
    assert.ok(opened > 3);
  });
});

describe('a write that is traced', () => {
  const writes: readonly (readonly [
    verb: string,
    write: (store: Store, options?: WriteOptions) => Promise<unknown>,
  ])[] = [
    ['create', (store, options) => store.create('/a', Buffer.from('1'), options)],
    ['update', (store, options) => store.update('/a', Buffer.from('1'), 2, options)],
    ['delete', (store, options) => store.delete('/a', 2, options)],
  ];
  for (const [verb, write] of writes) {
    test(`takes the trace on: ${verb}`, async (context) => {
      const parents: unknown[] = [];
      const txn: FakeEtcdHandlers['txn'] = (_request, metadata) => {
        parents.push(...metadata.get('traceparent'));
        return responseAt(3).bool(2, true);
      };
      const store = await openOn(context, { txn });
      await write(store);
      assert.deepEqual(parents, []);
      const span = new SpanFixture();
      await write(store, { span });
      const [call] = span.children;
      assert.deepEqual(parents, ['of etcdserverpb.KV/Txn']);
      assert.deepEqual([span.children.length, call?.name, call?.kind], [1, 'etcdserverpb.KV/Txn', 'client']);
      assert.deepEqual([call?.ends, call?.failed], [1, false]);
      const named = { 'rpc.system': 'grpc', 'rpc.service': 'etcdserverpb.KV', 'rpc.method': 'Txn' };
      assert.deepEqual(call?.attributes, named);
    });
  }

  test('ends with the failure of the call', async (context) => {
    const txn = (): FakeMessage => {
      throw grpcError(status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded');
    };
    const store = await openOn(context, { txn });
    const span = new SpanFixture();
    await assert.rejects(store.create('/a', Buffer.from('1'), { span }), (error) => isStoreError(error, 'full'));
    assert.deepEqual([span.children[0]?.ends, span.children[0]?.failed], [1, true]);
  });
});
