import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { bytes, rejected } from '../../conformance/subject.ts';
import { StoreError } from '../../store.ts';
import { inChild, placeFor } from './sqlite-fixture.ts';

const moduleUrl = (name: string): string => JSON.stringify(new URL(`./${name}.ts`, import.meta.url).href);

/** A worker whose reads never complete. */
const workerThatHangs = `(async () => {
  const { parentPort } = require('node:worker_threads');
  const { SqliteLogFile } = await import(${moduleUrl('log-file')});
  const { serveCalls } = await import(${moduleUrl('worker-calls')});
  class Hanging extends SqliteLogFile {
    get() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); }
  }
  serveCalls(parentPort, new Hanging());
})()`;

test('a worker that dies fails pending calls, change streams and later calls; pending writes have an unknown outcome', async (context) => {
  const { open } = placeFor(context);
  const workers: Worker[] = [];
  const startWorker = () => {
    const worker = new Worker(workerThatHangs, { eval: true });
    workers.push(worker);
    return worker;
  };
  const store = await open({ startWorker });
  const { revision } = await store.create('/a', bytes('one'));
  const stream = store.changes(revision, new AbortController().signal)[Symbol.asyncIterator]();
  const waiting = rejected(stream.next(), 'unavailable');
  const [worker] = workers;
  assert.ok(worker);
  // Nothing is answered any more: the first call never completes.
  const calls = Promise.allSettled([
    store.get('/a'),
    store.list('/'),
    store.compact(revision),
    store.create('/b', bytes('x')),
  ]);
  // Writes are sent at the end of the turn.
  await turn();
  await worker.terminate();
  await waiting;
  const codes = (await calls).map((outcome) =>
    outcome.status === 'rejected' && outcome.reason instanceof StoreError ? outcome.reason.code : outcome.status,
  );
  assert.deepEqual(codes, ['unavailable', 'unavailable', 'unavailable', 'unknownOutcome']);
  for (const call of [() => store.head(), () => store.get('/a'), () => store.create('/c', bytes('x'))]) {
    await rejected(call(), 'unavailable');
  }
  await store.close();

  const reopened = await open();
  assert.ok(await reopened.get('/a'), 'the file was given back, and what was acknowledged is there');
});

test('a commit that fails was not done, or has an unknown outcome', async (context) => {
  const { file, open } = placeFor(context);
  // Files are limited to 4 MiB: the write-ahead log then cannot take a commit, and the error of the system is not that
  // of a full disk. What is small it can take for a while, such as what overwrites that commit.
  const child = inChild(
    context,
    `const store = await sqlite.openSqliteStore({ file: ${JSON.stringify(file)} });
     const outcomes = [];
     for (let name = 0; name < 300; name++) {
       const outcome = store.create('/w/' + name, new Uint8Array(50_000)).then(() => 'done', ({ code }) => code);
       outcomes.push(await outcome);
     }
     console.log(outcomes.join());`,
    { fileKibibytesMax: 4096 },
  );
  const outcomes = (await child.line())?.split(',') ?? [];
  await child.kill();
  assert.deepEqual([...new Set(outcomes)].sort(), ['done', 'unavailable', 'unknownOutcome']);
  const store = await open();
  const { records } = await store.list('/w/');
  const there = new Set(records.map(({ key }) => key));
  for (const [name, outcome] of outcomes.entries()) {
    if (outcome !== 'unknownOutcome') assert.equal(there.has(`/w/${name}`), outcome === 'done', `${name}: ${outcome}`);
  }
});

test('a worker that cannot start fails the opening', async (context) => {
  const { open } = placeFor(context);
  const startWorker = () => new Worker('throw new Error("no")', { eval: true });
  await rejected(open({ startWorker }), 'unavailable');
});

test('acknowledged writes of a killed process are there, complete and in order', async (context) => {
  const { file, open } = placeFor(context);
  const child = inChild(
    context,
    `const store = await sqlite.openSqliteStore({ file: ${JSON.stringify(file)} });
     let next = 0;
     const write = async () => {
       for (;;) {
         const name = next++;
         const { revision } = await store.create('/w/' + name, new TextEncoder().encode('value ' + name));
         console.log(name + ' ' + revision);
       }
     };
     for (let writer = 0; writer < 8; writer++) write();`,
  );
  const acknowledged = new Map<string, number>();
  while (acknowledged.size < 500) {
    const line = await child.line();
    assert.ok(line !== undefined, 'the child writes until it is killed');
    const [name = '', revision = ''] = line.split(' ');
    acknowledged.set(`/w/${name}`, Number(revision));
  }
  await child.kill();
  const store = await open();
  const { records, revision } = await store.list('/w/');
  const found = new Map(records.map((record) => [record.key, record]));
  for (const [key, written] of acknowledged) assert.equal(found.get(key)?.revision, written, key);
  for (const { key, value } of records) assert.equal(Buffer.from(value).toString(), `value ${key.slice(3)}`);
  assert.ok(revision >= Math.max(...acknowledged.values()));
});
