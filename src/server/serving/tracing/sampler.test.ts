import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Random, seededRandom } from '../../../base/random.ts';
import { Sampler } from './sampler.ts';

const taken = (sampler: Sampler, count: number): readonly boolean[] =>
  Array.from({ length: count }, () => sampler.take());

describe('a sampler', () => {
  it('takes none at 0 and all at 1, without a random number', () => {
    const random: Random = { uuid: () => assert.fail(), bytes: () => assert.fail() };
    assert.ok(!taken(new Sampler(0, random), 1_000).includes(true));
    assert.ok(!taken(new Sampler(1, random), 1_000).includes(false));
  });

  for (const probability of [0.000_5, 0.01, 0.5, 0.99]) {
    it(`takes ${probability} of all, wherever they stand`, () => {
      const count = 200_000;
      const all = taken(new Sampler(probability, seededRandom(1)), count);
      const [first, second] = [all.slice(0, count / 2), all.slice(count / 2)];
      // Five standard deviations.
      const tolerance = 5 * Math.sqrt((count / 2) * probability * (1 - probability));
      for (const half of [first, second]) {
        const found = half.filter((each) => each).length;
        assert.ok(Math.abs(found - (count / 2) * probability) < tolerance, `${found}`);
      }
    });

    it(`takes one after one that was taken as likely as any other: ${probability}`, () => {
      const all = taken(new Sampler(probability, seededRandom(2)), 1_000_000);
      const after = all.slice(1).filter((_, at) => all[at]);
      const found = after.filter((each) => each).length;
      const tolerance = 5 * Math.sqrt(after.length * probability * (1 - probability)) + 5;
      assert.ok(Math.abs(found - after.length * probability) < tolerance, `${found} of ${after.length}`);
    });
  }

  it('draws seldom where it takes few', () => {
    let drawn = 0;
    const seeded = seededRandom(3);
    const random: Random = {
      uuid: () => assert.fail(),
      bytes(length) {
        drawn += 1;
        return seeded.bytes(length);
      },
    };
    const found = taken(new Sampler(0.000_1, random), 1_000_000).filter((each) => each).length;
    assert.equal(drawn, found + 1);
  });
});
