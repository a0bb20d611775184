import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { inSlices } from '../../base/time/in-slices.ts';
import { ApiClient } from '../../client/api-client.ts';
import { SharedInformer } from '../../client/shared-informers.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { claim } from './claim.ts';
import { factsOf } from './job/job-facts.ts';
import { podKind } from './owner.ts';
import { selectorOfLabels } from './read-selector.ts';

const count = 2_000;
/** A millisecond goes by with every look. */
const clock = () => {
  let now = 0;
  return { monotonic: () => now++ };
};
const owner: ApiObject = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j', namespace: 'n', uid: 'j' } };
const pods = Array.from({ length: count }, (_, index): ApiObject => {
  const reference = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'j', controller: true };
  const name = `p${index}`;
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name, uid: name, namespace: 'n', labels: { app: 'x' }, ownerReferences: [reference] },
  };
});

/** Turns of the event loop until the work is done. */
async function turnsOf(work: () => Promise<unknown> | unknown): Promise<number> {
  let turns = 0;
  let ended = false;
  const next = (): void => {
    turns += 1;
    if (!ended) setImmediate(next);
  };
  setImmediate(next);
  await work();
  ended = true;
  return turns;
}

describe('a pass over very many pods lets others run', () => {
  const selector = selectorOfLabels({ app: 'x' }) ?? assert.fail();
  const transport = { send: () => Promise.reject(new Error('nothing is asked')) };
  const client = new ApiClient(transport, 'test');
  const informer = Object.create(SharedInformer.prototype, {
    indexed: { value: (_by: unknown, value: string) => (value === 'j' ? pods : []) },
  }) as SharedInformer;
  const { signal } = new AbortController();
  const rows: readonly (readonly [string, () => Promise<unknown> | unknown])[] = [
    [
      'what it claims',
      () =>
        claim(
          { kind: { apiVersion: 'batch/v1', kind: 'Job', resource: 'jobs' }, owner, selector },
          { client, clock: clock(), informer, signal, dependents: podKind },
        ),
    ],
    [
      'what a job sees of them',
      () => inSlices(factsOf({ job: owner, pods, dialect: orch, nowMs: 0, counted: new Set() }), clock()),
    ],
  ];
  for (const [what, work] of rows) {
    it(what, async () => {
      const least = count / limits.turnMs;
      const turns = await turnsOf(work);
      assert.ok(turns >= least, `${turns} turns instead of ${least}`);
    });
  }
});

describe('a selector', () => {
  it('is read once', () => {
    const labels = { a: 'b' };
    assert.equal(selectorOfLabels(labels), selectorOfLabels(labels));
    assert.equal(selectorOfLabels({}), undefined);
    assert.equal(selectorOfLabels(undefined), undefined);
  });
});
