import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { within } from '../../../base/waits-fixture.ts';
import { StoreError } from '../../store.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { startSqliteWorker } from './start-sqlite-worker.ts';
import { startWorkerAhead } from './worker-ahead.ts';

function freshFile(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'worker-ahead-'));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'data.db');
}

/** Threads that were started, in order. */
function recorded(start: () => Worker): { readonly started: Worker[]; readonly start: () => Worker } {
  const started: Worker[] = [];
  return {
    started,
    start() {
      const worker = start();
      started.push(worker);
      return worker;
    },
  };
}

/** Also after an error, which `once` rejects with. */
const ended = (worker: Worker): Promise<unknown> =>
  within(new Promise((resolve) => worker.on('exit', resolve)), 'the thread does not end');

test('the store that is opened takes the thread, and ends it', async (context) => {
  const { started, start } = recorded(startSqliteWorker);
  const ahead = startWorkerAhead(start);
  const [worker] = started;
  assert.ok(worker);
  const exit = ended(worker);
  const store = await openSqliteStore({ file: freshFile(context), startWorker: ahead.startWorker });
  ahead.close();
  assert.equal((await store.create('/a', Buffer.from('{}'))).revision, await store.head());
  assert.equal(started.length, 1);
  await store.close();
  await exit;
});

test('a thread that nobody took is ended', async () => {
  const { started, start } = recorded(startSqliteWorker);
  const ahead = startWorkerAhead(start);
  const [worker] = started;
  assert.ok(worker);
  const exit = ended(worker);
  ahead.close();
  ahead.close();
  await exit;
});

test('of a thread that failed before it was taken the store says why', async (context) => {
  const { started, start } = recorded(() => new Worker('throw new Error("no such thread")', { eval: true }));
  const ahead = startWorkerAhead(start);
  const [worker] = started;
  assert.ok(worker);
  await ended(worker);
  await assert.rejects(
    within(openSqliteStore({ file: freshFile(context), startWorker: ahead.startWorker }), 'nothing is said'),
    (error) => error instanceof StoreError && error.code === 'unavailable' && /no such thread/.test(error.message),
  );
  assert.equal(started.length, 2);
  ahead.close();
});
