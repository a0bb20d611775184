import assert from 'node:assert/strict';
import { it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { Leadership } from './leadership.ts';

it('a leader is unhealthy when neither a renewal nor the end of its term comes, long after its lease', () => {
  const clock = new ManualClock();
  const leadership = new Leadership(clock);
  const timing = { leaseMs: 15_000 };
  const graceMs = timing.leaseMs + limits.overdueLeaderMs;
  clock.advance(graceMs * 2);
  assert.equal(leadership.problem(), undefined, 'it stands by');
  leadership.note(true, timing);
  clock.advance(graceMs);
  assert.equal(leadership.problem(), undefined);
  clock.advance(1);
  assert.match(leadership.problem() ?? '', /lease/);
  leadership.note(true, timing);
  assert.equal(leadership.problem(), undefined, 'it was renewed');
  clock.advance(graceMs + 1);
  leadership.note(false, timing);
  assert.equal(leadership.problem(), undefined, 'it no longer leads');
});
