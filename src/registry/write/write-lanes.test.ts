import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WriteLanes } from './write-lanes.ts';

test('work on one key runs one after the other, in order, also past failures', async () => {
  const lanes = new WriteLanes();
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
  const results = await Promise.allSettled(['a', 'b', 'c', 'd'].map((name) => lanes.run('key', work(name))));
  assert.deepEqual(log, ['a', 'b', 'c', 'd']);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  );
  assert.equal(lanes.size, 0);
});

test('work on different keys runs side by side', async () => {
  const lanes = new WriteLanes();
  const gate = Promise.withResolvers<void>();
  const held = lanes.run('one', () => gate.promise);
  assert.equal(await lanes.run('other', async () => 'done'), 'done');
  assert.equal(lanes.size, 1);
  gate.resolve();
  await held;
  assert.equal(lanes.size, 0);
});
