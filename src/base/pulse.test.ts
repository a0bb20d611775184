import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pulse } from './pulse.ts';

test('a beat wakes who waits, once', async () => {
  const pulse = new Pulse();
  const { signal } = new AbortController();
  const waits = [pulse.wait(signal), pulse.wait(signal)];
  assert.equal(pulse.waiting, 2);
  pulse.beat();
  await Promise.all(waits);
  assert.equal(pulse.waiting, 0);
});

test('an abort wakes its own waits only, and leaves nothing', async () => {
  const pulse = new Pulse();
  const [aborted, other] = [new AbortController(), new AbortController()];
  const wait = pulse.wait(aborted.signal);
  const kept = pulse.wait(other.signal);
  aborted.abort();
  await wait;
  assert.equal(pulse.waiting, 1);
  await pulse.wait(aborted.signal);
  assert.equal(pulse.waiting, 1);
  pulse.beat();
  await kept;
});
