import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { openSqliteStore } from '../../../src/store/drivers/sqlite/sqlite-store.ts';
import type { Change } from '../../../src/store/store.ts';
import { Dice } from '../dice.ts';
import { claimsProblem } from './claims.ts';
import { changesAfter } from './history.ts';
import { Processes } from './processes.ts';
import { type Fault, roundsProblems, runRounds, tallyOf } from './rounds.ts';

/**
 * Clients of a real process on SQLite, which is killed, killed again while it starts, and paused. `ORCH_FAULT_ROUNDS=1000` runs
 * more rounds, `ORCH_FAULT_SEED=17` those of one data file again: the same requests and faults, as far as processes repeat themselves.
 */
const rounds = Number(process.env['ORCH_FAULT_ROUNDS'] ?? 5);
const only = process.env['ORCH_FAULT_SEED'];
/** Rounds of one data file: well within the time after which history is compacted. */
const roundsPerFile = 50;

describe('faults of a process on SQLite', () => {
  const files = Math.ceil(rounds / roundsPerFile);
  const seeds = only === undefined ? Array.from({ length: files }, (_, index) => index + 1) : [Number(only)];
  for (const seed of seeds) {
    const own = Math.min(roundsPerFile, rounds - (only === undefined ? (seed - 1) * roundsPerFile : 0));
    test(`${own} rounds, seed ${seed}`, { timeout: 60_000 + own * 20_000 }, async (t) => {
      const dataDir = mkdtempSync(join(tmpdir(), 'orch-faults-'));
      try {
        const dice = new Dice(seed);
        await using processes = new Processes();
        await processes.start([], dataDir);
        const done = await runRounds({ servers: processes, dice, rounds: own, fault: () => faultOf(processes, dice) });
        await processes.kill();
        const changes = await allChanges(join(dataDir, 'orch.db'));
        const problems = [...roundsProblems(done, changes), claimsProblem(changes, 'consecutive')];
        const { operations, unknown, refused, events } = tallyOf(done);
        t.diagnostic(
          `${own} rounds: ${operations} operations, ${unknown} of unknown outcome, ${refused} refused, ${events} events`,
        );
        assert.deepEqual(
          problems.filter((problem) => problem !== undefined),
          [],
          `again with ORCH_FAULT_SEED=${seed} ORCH_FAULT_ROUNDS=${own}`,
        );
        assert.ok(events > operations / 4, 'watches showed what was written');
      } finally {
        rmSync(dataDir, { recursive: true });
      }
    });
  }
});

const pauseMsMax = 150;
/** Longest time after which a start is killed: about that of a start. */
const startMsMax = 700;

function faultOf(processes: Processes, dice: Dice): Fault {
  const chosen = dice.below(10);
  if (chosen < 4) return { name: 'pause', strike: () => processes.pause(0, dice.below(pauseMsMax)) };
  if (chosen < 5)
    return { name: 'kill, also while it starts', strike: () => processes.replace(0, [dice.below(startMsMax)]) };
  return { name: 'kill', strike: () => processes.replace(0) };
}

async function allChanges(file: string): Promise<readonly Change[]> {
  const store = await openSqliteStore({ file });
  try {
    return await changesAfter(store, 1);
  } finally {
    await store.close();
  }
}
