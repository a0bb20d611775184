import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { until, within } from '../../../base/waits-fixture.ts';
import { sqliteConformance } from '../../conformance/durable-drivers-fixture.ts';
import { inTurns } from '../../conformance/in-turns-fixture.ts';
import { bytes, rejected, text } from '../../conformance/subject.ts';
import type { Revision, Store } from '../../store.ts';
import { placeFor } from './sqlite-fixture.ts';
import { joinSqliteStore, shareSqliteStore } from './sqlite-store.ts';
import { startSqliteWorker } from './start-sqlite-worker.ts';

/** What one client has written, the others read; whoever compacts. */
sqliteConformance({
  name: 'sqlite, three threads',
  async open({ file }) {
    const shared = await shareSqliteStore({ file });
    const clients = await Promise.all([1, 2, 3].map(() => joinSqliteStore({ port: shared.connect() })));
    const store = inTurns(clients);
    return Object.defineProperty(
      {
        ...store,
        close: async () => {
          await store.close();
          await shared.close();
        },
      },
      'knownHead',
      { get: () => store.knownHead },
    );
  },
});

async function followed(store: Store, from: Revision, until: Revision): Promise<readonly Revision[]> {
  const seen: Revision[] = [];
  const stop = new AbortController();
  for await (const { changes, revision } of store.changes(from, stop.signal)) {
    for (const change of changes) seen.push(change.revision);
    if (revision >= until) stop.abort();
  }
  return seen;
}

test('all clients see the writes of all in one order, whoever waits for the disk', async (context) => {
  const { file } = placeFor(context);
  const shared = await shareSqliteStore({ file });
  const clients = await Promise.all([1, 2, 3].map(() => joinSqliteStore({ port: shared.connect() })));
  const from = await (clients[0] as Store).head();
  const writing = clients.flatMap((client, index) =>
    Array.from({ length: 200 }, (_, name) => client.create(`/w/${index}/${name}`, bytes('x'))),
  );
  const following = clients.map((client) => followed(client, from, from + 600));
  const revisions = (await within(Promise.all(writing), 'writes end')).map(({ revision }) => revision);
  const expected = Array.from({ length: 600 }, (_, index) => from + index + 1);
  assert.deepEqual(
    revisions.toSorted((a, b) => a - b),
    expected,
  );
  for (const seen of await within(Promise.all(following), 'changes come')) assert.deepEqual(seen, expected);
  await shared.close();
});

test('a write that is refused refuses no write of another client beside it', async (context) => {
  const { file } = placeFor(context);
  const shared = await shareSqliteStore({ file });
  const [one, two] = await Promise.all([1, 2].map(() => joinSqliteStore({ port: shared.connect() })));
  assert.ok(one && two);
  await one.create('/a', bytes('first'));
  const [refused, done] = await Promise.allSettled([two.create('/a', bytes('second')), one.create('/b', bytes('x'))]);
  assert.equal(refused.status, 'rejected');
  assert.equal(done.status, 'fulfilled');
  assert.equal(text((await two.get('/b'))?.value), 'x');
  await shared.close();
});

test('a client whose thread ends takes neither the file nor the others with it', async (context) => {
  const { file } = placeFor(context);
  const shared = await shareSqliteStore({ file });
  const [stays, holds] = await Promise.all([1, 2].map(() => joinSqliteStore({ port: shared.connect() })));
  assert.ok(stays && holds);
  const port = shared.connect();
  const thread = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     workerData.postMessage({ id: 1, name: 'join', args: [] });
     workerData.on('message', () => parentPort.postMessage('joined'));`,
    { eval: true, workerData: port, transferList: [port] },
  );
  await within(new Promise((resolve) => thread.once('message', resolve)), 'the thread joins');
  await thread.terminate();
  const { revision } = await stays.create('/a', bytes('x'));
  assert.equal((await holds.get('/a'))?.revision, revision);
  await shared.close();
  await until(() => stays.knownHead === undefined);
  await rejected(stays.head(), 'unavailable');
});

test('when the thread of the file dies, every client knows', async (context) => {
  const { file } = placeFor(context);
  const workers: Worker[] = [];
  const startWorker = (): Worker => {
    const worker = startSqliteWorker();
    workers.push(worker);
    return worker;
  };
  const shared = await shareSqliteStore({ file, startWorker });
  const client = await joinSqliteStore({ port: shared.connect() });
  const { revision } = await client.create('/a', bytes('x'));
  const stream = client.changes(revision, new AbortController().signal)[Symbol.asyncIterator]();
  const ended = rejected(stream.next(), 'unavailable');
  await workers[0]?.terminate();
  await within(ended, 'the stream ends');
  await rejected(client.create('/b', bytes('x')), 'unavailable');
  await client.close();
  await shared.close();
});
