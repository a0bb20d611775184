import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosenControllers } from './controllers-flag.ts';

const rows: readonly (readonly [controllers: readonly string[], nodes: number | undefined, runs: boolean])[] = [
  [['*'], undefined, false],
  [['*'], 3, true],
  [['*', 'simulated-nodes'], undefined, true],
  [['namespace'], 1, true],
  [['*', '-simulated-nodes'], 3, false],
];

for (const [controllers, nodes, runs] of rows) {
  test(`--controllers=${controllers} --simulated-nodes=${nodes}: nodes are ${runs ? '' : 'not '}simulated`, () => {
    const chosen = chosenControllers({ controllers, 'simulated-nodes': nodes });
    assert.equal(chosen.includes('simulated-nodes'), runs);
    assert.ok(controllers.includes('*') ? chosen.length > 5 : chosen.length === 2);
  });
}
