import assert from 'node:assert/strict';
import { it } from 'node:test';
import { AwaitedKinds } from './awaited-kinds.ts';

it('objects that wait for kinds are taken once, and nothing is kept of those that are dropped', () => {
  const awaited = new AwaitedKinds();
  for (const [kind, uid] of [
    ['g/A', 'a'],
    ['g/A', 'b'],
    ['g/A', 'b'],
    ['g/B', 'b'],
    ['g/B', 'c'],
  ] as const)
    awaited.add(kind, uid);
  assert.deepEqual(awaited.take('g/A'), ['a', 'b']);
  assert.deepEqual(awaited.take('g/A'), []);
  assert.equal(awaited.size, 2);
  awaited.drop('b');
  awaited.drop('never');
  assert.deepEqual(awaited.take('g/B'), ['c']);
  assert.equal(awaited.size, 0);
});
