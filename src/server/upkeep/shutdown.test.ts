import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { Listener } from '../../http/listener.ts';
import { Shutdown } from './shutdown.ts';

let clock: ManualClock;
let steps: string[];
let errors: unknown[];
beforeEach(() => {
  clock = new ManualClock();
  steps = [];
  errors = [];
});

function shutdownWith(options: { readonly delayMs?: number; readonly listening?: boolean } = {}): Shutdown {
  const { delayMs = 0, listening = true } = options;
  const logger = { ...silentLogger, error: (_: string, fields?: object) => void errors.push(fields) };
  const shutdown = new Shutdown({ clock, logger, delayMs, drainMs: 30_000 });
  if (listening) {
    const listener: Pick<Listener, 'stopAccepting' | 'drain'> = {
      stopAccepting: () => void steps.push('no new connections'),
      drain: async (waitMs) => {
        steps.push(`drain for ${waitMs}`);
        await Promise.resolve();
        steps.push('drained');
      },
    };
    shutdown.listener = listener as Listener;
    shutdown.endWatches = () => void steps.push('watches end');
  }
  for (const name of ['store', 'cache', 'controllers']) {
    shutdown.add(name, async () => {
      await Promise.resolve();
      steps.push(`${name} closed`);
    });
  }
  return shutdown;
}

const inOrder = [
  'no new connections',
  'watches end',
  'drain for 30000',
  'drained',
  'controllers closed',
  'cache closed',
  'store closed',
];

test('steps run in order, and parts close last opened first', async () => {
  const shutdown = shutdownWith();
  assert.equal(shutdown.stopping, false);
  await shutdown.stop();
  assert.deepEqual(steps, inOrder);
  await shutdown.done;
});

test('not ready at once, then the delay, then the rest', async () => {
  const shutdown = shutdownWith({ delayMs: 5_000 });
  const stopped = shutdown.stop();
  assert.equal(shutdown.stopping, true);
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(4_999);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(steps, [], 'requests are still served');
  clock.advance(1);
  await stopped;
  assert.deepEqual(steps, inOrder);
  assert.equal(clock.pending, 0);
});

test('a second stop does nothing more', async () => {
  const shutdown = shutdownWith();
  const [first, second] = [shutdown.stop(), shutdown.stop()];
  assert.equal(first, second);
  await first;
  assert.equal(shutdown.stop(), first);
  assert.deepEqual(steps, inOrder);
});

test('a part that stops the server while it closes does not close the others twice', async () => {
  const shutdown = shutdownWith({ listening: false });
  shutdown.add('eager', () => {
    steps.push('eager closed');
    void shutdown.stop();
  });
  await shutdown.stop();
  assert.deepEqual(steps, ['eager closed', 'controllers closed', 'cache closed', 'store closed']);
});

test('without a listener there is nothing to wait for', async () => {
  const shutdown = shutdownWith({ delayMs: 5_000, listening: false });
  await shutdown.stop();
  assert.deepEqual(steps, ['controllers closed', 'cache closed', 'store closed']);
});

describe('a part that cannot be closed', () => {
  test('is logged, does not stop the others, and rejects done', async () => {
    const shutdown = shutdownWith();
    const failure = new Error('the disk is gone');
    shutdown.add('disk', () => {
      throw failure;
    });
    await shutdown.stop();
    assert.deepEqual(steps, inOrder);
    assert.deepEqual(errors, [{ part: 'disk', error: failure }]);
    await assert.rejects(shutdown.done, failure);
  });
});
