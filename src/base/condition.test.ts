import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Condition } from './condition.ts';

test('a notification wakes all waiters, once', async () => {
  const condition = new Condition();
  const { signal } = new AbortController();
  const waits = [condition.wait(signal), condition.wait(signal)];
  assert.equal(condition.waiting, 2);
  condition.notifyAll();
  await Promise.all(waits);
  assert.equal(condition.waiting, 0);
});

test('an abort wakes its own waits only, and leaves nothing', async () => {
  const condition = new Condition();
  const [aborted, other] = [new AbortController(), new AbortController()];
  const wait = condition.wait(aborted.signal);
  const kept = condition.wait(other.signal);
  aborted.abort();
  await wait;
  assert.equal(condition.waiting, 1);
  await condition.wait(aborted.signal);
  assert.equal(condition.waiting, 1);
  condition.notifyAll();
  await kept;
});
