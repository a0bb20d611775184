import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Dice } from '../dice.ts';
import { permissionProblem, permissionProblemOf } from './permissions.ts';
import { Processes } from './processes.ts';

const histories = 10;
const seeds = Number(process.env['ORCH_SIMULATION_SEEDS'] ?? 3);
/** In real time: half a second each. */
const historiesOfThreads = Math.max(6, seeds);

describe('decisions are never older than an acknowledged revocation', () => {
  for (let seed = 1; seed <= seeds; seed++) {
    test(`seed ${seed}`, async () => assert.equal(await permissionProblem(seed, histories), undefined));
  }

  test('of three serving threads', async () => {
    await using processes = new Processes({ threads: 3 });
    await processes.start([]);
    const world = {
      members: processes.members,
      until: <T>(work: Promise<T>) => work,
      pause: (ms: number) => delay(ms),
    };
    assert.equal(await permissionProblemOf(world, new Dice(1), historiesOfThreads), undefined);
  });

  test('and one that is older would be found', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const problem = await permissionProblem(seed, histories, 'staleRead');
      if (problem !== undefined) return assert.match(problem, /no order explains the answers about the permission/);
    }
    assert.fail('stale reads were not found');
  });
});
