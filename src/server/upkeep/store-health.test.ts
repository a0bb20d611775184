import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { StoreError } from '../../store/store.ts';
import { storeHealth, storeProbe } from './store-health.ts';

/** A store whose `head` calls the test answers. */
function asked() {
  const calls: PromiseWithResolvers<number>[] = [];
  const head = (): Promise<number> => {
    const call = Promise.withResolvers<number>();
    calls.push(call);
    return call.promise;
  };
  return { calls, store: { head } };
}

test('a store that answers is healthy', async () => {
  const clock = new ManualClock();
  const { calls, store } = asked();
  const trouble = storeHealth(storeProbe(store, clock))();
  calls[0]?.resolve(7);
  assert.equal(await trouble, undefined);
  assert.equal(clock.pending, 0, 'nobody waits for it any more');
});

for (const [what, error, expected] of [
  ['its code where it says one', new StoreError('unavailable', 'etcd at 10.0.0.1 is down'), 'unavailable'],
  ['no more than that where it does not', new Error('something with a password'), 'the store failed'],
] as const) {
  test(`a store that fails is unhealthy: ${what}`, async () => {
    const clock = new ManualClock();
    const { calls, store } = asked();
    const trouble = storeHealth(storeProbe(store, clock))();
    calls[0]?.reject(error);
    assert.equal(await trouble, expected);
    assert.equal(clock.pending, 0);
  });
}

test('a store that does not answer in time is unhealthy', async () => {
  const clock = new ManualClock();
  const { calls, store } = asked();
  const trouble = storeHealth(storeProbe(store, clock))();
  clock.advance(limits.storeHealthWaitMs);
  assert.equal(await trouble, 'the store does not answer');
  calls[0]?.reject(new StoreError('unavailable', 'too late for anybody to hear'));
});

test('calls within a second share the result', async () => {
  const clock = new ManualClock();
  const { calls, store } = asked();
  const health = storeHealth(storeProbe(store, clock));
  const crowd = [health(), health()];
  clock.advance(limits.storeHealthMs - 1);
  crowd.push(health());
  assert.equal(calls.length, 1);
  calls[0]?.reject(new StoreError('full', 'no room'));
  assert.deepEqual(await Promise.all(crowd), ['full', 'full', 'full']);
  clock.advance(1);
  const later = health();
  assert.equal(calls.length, 2);
  calls[1]?.resolve(8);
  assert.equal(await later, undefined, 'a store that is well again is found to be');
});
