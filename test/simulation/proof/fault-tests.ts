import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { Change } from '../../../src/store/store.ts';
import { Dice } from '../dice.ts';
import { claimsProblem } from './claims.ts';
import { type Round, roundsProblems, tallyOf } from './rounds.ts';

interface RunOptions {
  readonly t: TestContext;
  readonly seed: number;
  readonly dice: Dice;
  readonly rounds: number;
  /** A new folder, removed afterwards. */
  readonly folder: string;
}

interface Run {
  readonly rounds: readonly Round[];
  /** All that the store wrote, from its beginning. */
  readonly changes: readonly Change[];
  /** What else is wrong, in words. */
  readonly problems?: readonly string[];
}

interface FaultTestsOptions {
  /** Rounds in `npm test`; `ORCH_FAULT_ROUNDS=1000` runs more. */
  readonly rounds: number;
  /** Rounds of one store, each with a seed of its own: well within the time after which history is compacted. */
  readonly roundsPerStore: number;
  readonly roundMsMax: number;
  readonly batchRevisions: 'shared' | 'consecutive';
  readonly skip: string | false;
}

const only = process.env['ORCH_FAULT_SEED'];

/**
 * Tests that run rounds with faults on one store after the other, and check what clients saw against its log.
 * `ORCH_FAULT_SEED=17` runs those of one store again: the same requests and faults, as far as processes repeat themselves.
 */
export function faultTests(
  title: string,
  { rounds, roundsPerStore, roundMsMax, batchRevisions, skip }: FaultTestsOptions,
  run: (options: RunOptions) => Promise<Run>,
): void {
  const all = Number(process.env['ORCH_FAULT_ROUNDS'] ?? rounds);
  const stores = Math.ceil(all / roundsPerStore);
  const seeds = only === undefined ? Array.from({ length: stores }, (_, index) => index + 1) : [Number(only)];
  describe(title, { skip }, () => {
    for (const seed of seeds) {
      const own = Math.min(roundsPerStore, all - (only === undefined ? (seed - 1) * roundsPerStore : 0));
      test(`${own} rounds, seed ${seed}`, { timeout: 60_000 + own * roundMsMax }, async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'orch-faults-'));
        try {
          const done = await run({ t, seed, dice: new Dice(seed), rounds: own, folder });
          const { changes, problems = [] } = done;
          const found = [...problems, ...roundsProblems(done.rounds, changes), claimsProblem(changes, batchRevisions)];
          const { operations, unknown, refused, events } = tallyOf(done.rounds);
          t.diagnostic(
            `${own} rounds: ${operations} operations, ${unknown} of unknown outcome, ${refused} refused, ${events} events`,
          );
          assert.deepEqual(
            found.filter((problem) => problem !== undefined),
            [],
            `again with ORCH_FAULT_SEED=${seed} ORCH_FAULT_ROUNDS=${own}`,
          );
          assert.ok(events > (operations - refused) / 4, 'watches showed what was written');
        } finally {
          rmSync(folder, { recursive: true });
        }
      });
    }
  });
}
