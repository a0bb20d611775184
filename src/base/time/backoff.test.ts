import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../random.ts';
import { Backoff, backoffMs } from './backoff.ts';
import { noJitter } from './backoff-fixture.ts';

describe('back-off', () => {
  const rows = [
    { policy: { firstMs: 100, maxMs: 1_000 }, pauses: [100, 200, 400, 800, 1_000, 1_000] },
    { policy: { firstMs: 500, maxMs: Number.POSITIVE_INFINITY, growth: 1.5 }, pauses: [500, 750, 1_125] },
    { policy: { firstMs: 10, maxMs: 10 }, pauses: [10, 10] },
  ];
  for (const { policy, pauses } of rows) {
    test(`pauses of ${JSON.stringify(policy)}`, () => {
      const backoff = new Backoff(policy, noJitter);
      assert.deepEqual(
        pauses.map(() => backoff.next()),
        pauses,
      );
      assert.equal(backoff.failures, pauses.length);
      backoff.reset();
      assert.equal(backoff.next(), pauses[0], 'a success starts anew');
    });
  }

  test('every delay is above zero and at most the maximum, whatever the number of failures', () => {
    for (const failures of [1, 50, 1_100, 1_000_000])
      assert.equal(backoffMs({ firstMs: 5, maxMs: 60_000 }, failures, noJitter), failures === 1 ? 5 : 60_000);
  });

  test('jitter, derived from the seed, separates clients that fail together', () => {
    const pausesOf = (seed: number): readonly number[] => {
      const backoff = new Backoff({ firstMs: 100, maxMs: 100 }, seededRandom(seed));
      return Array.from({ length: 200 }, () => backoff.next());
    };
    const pauses = pausesOf(1);
    assert.deepEqual(pausesOf(1), pauses);
    assert.notDeepEqual(pausesOf(2), pauses);
    assert.ok(pauses.every((pause) => pause >= 100 && pause < 120));
    assert.ok(new Set(pauses).size > 50);
  });
});
