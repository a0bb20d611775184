import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { simulate } from './run.ts';

/**
 * Histories of clients of two servers on one store, under a time, a network and a store that a seed decides: stores refuse,
 * lose answers, are late; servers are killed. `ORCH_SIMULATION_SEEDS=1000` runs more of them, `ORCH_SIMULATION_SEED=17` one again.
 */
const only = process.env['ORCH_SIMULATION_SEED'];
const seeds = Number(process.env['ORCH_SIMULATION_SEEDS'] ?? 4);
const histories = 25;

describe('simulated histories', () => {
  const chosen = only === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [Number(only)];
  for (const seed of chosen) {
    test(`seed ${seed}`, async (t) => {
      const { problems, operations, unknown, events } = await simulate({ seed, histories });
      t.diagnostic(`${operations} operations, ${unknown} of unknown outcome, ${events} events`);
      assert.deepEqual(problems, [], `again with ORCH_SIMULATION_SEED=${seed}`);
      assert.ok(unknown > 0 && events > operations / 4, 'faults and events');
    });
  }
});
