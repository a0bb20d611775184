import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type RunOptions, simulate } from './run.ts';

/** Checkers that find nothing prove nothing: each defect is planted, and has to be found. */
const planted: readonly (readonly [NonNullable<RunOptions['defect']>, RegExp])[] = [
  ['lostWrite', /was acknowledged and is lost/],
  ['staleRead', /no order explains the answers|had been acknowledged/],
  // What a server is not told, or in another order, is wrong in its lists too, which may be seen first.
  ['skippedEvent', /was skipped|was never shown|saw \w+ as/],
  ['doubledEvent', /doubled, or out of order/],
  ['reorderedEvent', /was skipped|out of order|saw \w+ as/],
  ['tornBatch', /has claimed nothing|claims an address/],
];

const seedsMax = 20;
const histories = 8;

describe('planted defects are found', () => {
  for (const [defect, problem] of planted) {
    test(defect, async (t) => {
      for (let seed = 1; seed <= seedsMax; seed++) {
        const { problems } = await simulate({ seed, histories, defect });
        if (problems.length === 0) continue;
        assert.match(problems.join('\n'), problem);
        t.diagnostic(`seed ${seed}: ${problems[0]?.split('\n', 1)[0]}`);
        return;
      }
      assert.fail(`${defect} was not found in ${seedsMax * histories} histories`);
    });
  }
});
