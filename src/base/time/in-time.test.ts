import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from './clock.ts';
import { inTime } from './in-time.ts';

describe('work in time', () => {
  it('gives its result, and leaves no timer', async () => {
    const clock = new ManualClock();
    assert.equal(await inTime(Promise.resolve(1), 10, { clock }), 1);
    assert.equal(clock.pending, 0);
  });

  it('gives its failure', async () => {
    const clock = new ManualClock();
    await assert.rejects(inTime(Promise.reject(new Error('no')), 10, { clock }), /no/);
    assert.equal(clock.pending, 0);
  });

  it('gives nothing when it is late, whatever becomes of it', async () => {
    const clock = new ManualClock();
    const { promise, reject } = Promise.withResolvers<number>();
    const result = inTime(promise, 10, { clock });
    clock.advance(10);
    assert.equal(await result, undefined);
    reject(new Error('too late'));
  });

  it('gives nothing when the signal aborts', async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const result = inTime(new Promise(() => {}), 10, { clock, signal: controller.signal });
    controller.abort();
    assert.equal(await result, undefined);
    assert.equal(clock.pending, 0);
  });
});
