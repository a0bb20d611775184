import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { permissionProblem } from './permissions.ts';

const histories = 10;
const seeds = Number(process.env['ORCH_SIMULATION_SEEDS'] ?? 3);

describe('decisions are never older than an acknowledged revocation', () => {
  for (let seed = 1; seed <= seeds; seed++) {
    test(`seed ${seed}`, async () => assert.equal(await permissionProblem(seed, histories), undefined));
  }

  test('and one that is older would be found', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      const problem = await permissionProblem(seed, histories, 'staleRead');
      if (problem !== undefined) return assert.match(problem, /no order explains the answers about the permission/);
    }
    assert.fail('stale reads were not found');
  });
});
