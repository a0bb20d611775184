import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../../base/waits-fixture.ts';
import { apiserver } from './apiserver.ts';
import { onThread, startStorageThread } from './storage-thread.ts';
import { up } from './up.ts';

for (const [args, isStarted] of [
  [[], true],
  [['--data-dir', 'x', '--secure-port=0'], true],
  [['--help'], false],
  [['--data-dir', 'x', '-h'], false],
  [['--version'], false],
  [['--version=raw'], false],
  [['--storage-backend=etcd3', '--etcd-servers=http://127.0.0.1:2379'], false],
  [['--storage-backend', 'memory'], false],
  [['--etcd-servers', 'http://127.0.0.1:2379'], false],
] as const) {
  test(`arguments ${JSON.stringify(args)}: ${isStarted ? 'a' : 'no'} thread`, () => {
    const thread = startStorageThread(args);
    assert.equal(thread !== undefined, isStarted);
    thread?.close();
  });
}

test('only a data file is given the thread; where there is none it ends', async () => {
  const thread = startStorageThread([]);
  assert.ok(thread);
  const worker = thread.startWorker();
  const exit = within(new Promise((resolve) => worker.on('exit', resolve)), 'the thread does not end');
  const file = { backend: 'sqlite', file: 'x' } as const;
  assert.equal(onThread(file, undefined), file);
  const { startWorker } = thread;
  assert.deepEqual(onThread(file, thread), { ...file, startWorker });
  await worker.terminate();
  await exit;
  const memory = { backend: 'memory' } as const;
  let closed = 0;
  const close = (): void => {
    closed++;
  };
  assert.equal(onThread(memory, { startWorker, close }), memory);
  assert.equal(closed, 1);
});

for (const [name, make] of Object.entries({ up, apiserver })) {
  test(`${name} that ends before it opens a store ends the thread`, async () => {
    let closed = 0;
    const command = make({
      startWorker: () => assert.fail('it opens a store'),
      close() {
        closed++;
      },
    });
    await assert.rejects(command.run(['--no-such-flag'], { out() {}, err() {}, interactive: false }), /unknown flag/);
    command.close?.();
    assert.equal(closed, 1);
  });
}
