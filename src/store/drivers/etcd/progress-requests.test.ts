import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noJitter } from '../../../base/time/backoff-fixture.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { ProgressRequests } from './progress-requests.ts';

const watch = () => {
  const clock = new ManualClock();
  const state = { revision: 10, waiting: true, requests: 0 };
  const progress = new ProgressRequests({
    clock,
    random: noJitter,
    state: () => state,
    request: () => state.requests++,
  });
  return { clock, state, progress };
};

describe('progress requests', () => {
  test('a watch at the head requests nothing, and has no timer', () => {
    const { clock, state, progress } = watch();
    progress.headMoved(10);
    assert.equal(clock.pending, 0);
    clock.advance(60_000);
    assert.equal(state.requests, 0);
  });

  test('a watch that keeps up requests nothing', () => {
    const { clock, state, progress } = watch();
    progress.headMoved(11);
    state.revision = 11;
    clock.advance(60_000);
    assert.equal(state.requests, 0);
    assert.equal(clock.pending, 0);
  });

  test('a watch that keeps up with a moving head requests nothing', () => {
    const { clock, state, progress } = watch();
    for (let revision = 11; revision < 111; revision++) {
      progress.headMoved(revision);
      state.revision = revision - 1;
      clock.advance(10);
    }
    assert.equal(state.requests, 0);
  });

  test('a watch that stays behind repeats the request with back-off until it has caught up', () => {
    const { clock, state, progress } = watch();
    progress.headMoved(12);
    clock.advance(60);
    assert.equal(state.requests, 1);
    clock.advance(10_000);
    assert.ok(state.requests >= 5 && state.requests <= 12, String(state.requests));
    state.revision = 12;
    clock.advance(60_000);
    const asked = state.requests;
    clock.advance(60_000);
    assert.equal(state.requests, asked);
    assert.equal(clock.pending, 0);
  });

  test('a watch whose reader is busy does not request progress', () => {
    const { clock, state, progress } = watch();
    state.waiting = false;
    progress.headMoved(12);
    clock.advance(10_000);
    assert.equal(state.requests, 0);
    state.waiting = true;
    clock.advance(10_000);
    assert.ok(state.requests > 0);
  });

  test('closed, it requests no more', () => {
    const { clock, state, progress } = watch();
    progress.headMoved(12);
    progress.close();
    progress.headMoved(13);
    assert.equal(clock.pending, 0);
    clock.advance(10_000);
    assert.equal(state.requests, 0);
  });
});
