import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import type { Decision } from '../authorizer.ts';
import { DecisionCache } from './decision-cache.ts';

const decision = (reason: string): Decision => ({ verdict: 'allow', reason });

it('evicts the least recently used decision at the limit', () => {
  const answers = new DecisionCache({ clock: new ManualClock(), ttlMs: 1_000, countMax: 3 });
  for (const question of ['a', 'b', 'c']) answers.set(question, decision(question));
  assert.equal(answers.get('a')?.reason, 'a');
  answers.set('d', decision('d'));
  assert.equal(answers.size, 3);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((question) => answers.get(question)?.reason),
    ['a', undefined, 'c', 'd'],
  );
});

it('expires a decision after its TTL, even if it is used', () => {
  const clock = new ManualClock();
  const answers = new DecisionCache({ clock, ttlMs: 1_000, countMax: 3 });
  answers.set('a', decision('old'));
  clock.advance(600);
  assert.equal(answers.get('a')?.reason, 'old');
  clock.advance(400);
  assert.equal(answers.get('a'), undefined);
  assert.equal(answers.size, 0);
  answers.set('a', decision('new'));
  clock.advance(600);
  answers.set('a', decision('newer'));
  clock.advance(600);
  assert.equal(answers.get('a')?.reason, 'newer');
});
