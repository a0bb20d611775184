import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from './keyed-mutex.ts';

test('work on one key runs in order, one at a time, also after failures', async () => {
  const mutex = new KeyedMutex();
  const log: string[] = [];
  let active = 0;
  const work = (name: string) => async () => {
    assert.equal(++active, 1, 'alone');
    await Promise.resolve();
    log.push(name);
    active--;
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => mutex.run('key', work(name))));
  assert.deepEqual(log, ['a', 'b', 'c', 'd']);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.equal(mutex.size, 0);
});

test('work on different keys runs concurrently', async () => {
  const mutex = new KeyedMutex();
  const gate = Promise.withResolvers<void>();
  const held = mutex.run('one', () => gate.promise);
  assert.equal(await mutex.run('other', async () => 'done'), 'done');
  assert.equal(mutex.size, 1);
  gate.resolve();
  await held;
  assert.equal(mutex.size, 0);
});
