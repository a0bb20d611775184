import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { formatTime } from '../../../meta/time.ts';
import { budgetStatusAfter, evictionMs, expectedBy, failedStatus, needsScale } from './budget-status.ts';

const nowMs = Date.UTC(2026, 0, 1);
const deletionTimestamp = formatTime(nowMs);
const podOf = (name: string, ready = true, more: object = {}): Pod => ({
  metadata: { name, ...more },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

describe('pods that a budget expects', () => {
  /** Of 4 pods whose controllers want 10. */
  for (const [spec, isScaled, expectedPods, desiredHealthy] of [
    [{ minAvailable: 3 }, false, 4, 3],
    [{ minAvailable: '30%' }, true, 10, 3],
    // Percentages are rounded up.
    [{ minAvailable: '31%' }, true, 10, 4],
    [{ maxUnavailable: 2 }, true, 10, 8],
    [{ maxUnavailable: '25%' }, true, 10, 7],
    [{ maxUnavailable: 20 }, true, 10, 0],
    [{}, false, 0, 0],
  ] as const) {
    it(JSON.stringify(spec), () => {
      assert.equal(needsScale({ spec }), isScaled);
      assert.deepEqual(expectedBy({ spec }, 4, 10), { expectedPods, desiredHealthy });
    });
  }
});

describe('the status of a budget', () => {
  for (const [what, pods, expected, currentHealthy, disruptionsAllowed] of [
    ['more are healthy than must be', [podOf('a'), podOf('b'), podOf('c')], [3, 2], 3, 1],
    ['as many are', [podOf('a'), podOf('b')], [2, 2], 2, 0],
    ['fewer are', [podOf('a'), podOf('b', false)], [2, 2], 1, 0],
    ['one is being deleted', [podOf('a'), podOf('b', true, { deletionTimestamp })], [2, 1], 1, 0],
    ['none is expected', [podOf('a')], [0, 0], 1, 0],
  ] as const) {
    it(what, () => {
      const [expectedPods, desiredHealthy] = expected;
      const budget = { metadata: { generation: 7 } };
      const { status, waitMs } = budgetStatusAfter({ budget, pods, expected: { expectedPods, desiredHealthy }, nowMs });
      assert.equal(waitMs, undefined);
      assert.deepEqual(status, {
        ...{ observedGeneration: 7, disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods },
        conditions: [
          {
            type: 'DisruptionAllowed',
            status: disruptionsAllowed > 0 ? 'True' : 'False',
            reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
            ...{ message: '', observedGeneration: 7, lastTransitionTime: formatTime(nowMs) },
          },
        ],
      });
    });
  }

  it('pods whose eviction was granted do not count, for two minutes', () => {
    const [fresh, old] = [formatTime(nowMs - 30_000), formatTime(nowMs - evictionMs - 1_000)];
    const disruptedPods = { a: fresh, b: old, gone: fresh, c: fresh };
    const pods = [podOf('a'), podOf('b'), podOf('c', true, { deletionTimestamp }), podOf('d')];
    const expected = { expectedPods: 4, desiredHealthy: 1 };
    const { status, waitMs } = budgetStatusAfter({ budget: { status: { disruptedPods } }, pods, expected, nowMs });
    assert.deepEqual(status.disruptedPods, { a: fresh });
    assert.equal(status.currentHealthy, 2);
    assert.equal(waitMs, evictionMs - 30_000 + 1);
  });

  it('without its numbers nothing may be evicted', () => {
    const before = {
      disruptionsAllowed: 3,
      currentHealthy: 5,
      desiredHealthy: 2,
      expectedPods: 5,
      observedGeneration: 4,
    };
    const { conditions, ...rest } = failedStatus({ status: before }, 'no', nowMs);
    assert.deepEqual(rest, { ...before, disruptionsAllowed: 0 });
    assert.deepEqual(conditions, [
      {
        ...{ type: 'DisruptionAllowed', status: 'False', reason: 'SyncFailed', message: 'no', observedGeneration: 4 },
        lastTransitionTime: formatTime(nowMs),
      },
    ]);
  });

  it('the condition changes its time with its status only', () => {
    const budget = (status: object) => ({ metadata: { generation: 1 }, status });
    const after = (before: object, healthy: boolean, atMs: number) =>
      budgetStatusAfter({
        budget: budget(before),
        pods: [podOf('a', healthy)],
        expected: { expectedPods: 1, desiredHealthy: 0 },
        nowMs: atMs,
      }).status;
    const first = after({}, true, nowMs);
    const same = after(first, true, nowMs + 60_000);
    assert.deepEqual(same, first);
    assert.equal(after(same, false, nowMs + 60_000).conditions?.[0]?.lastTransitionTime, formatTime(nowMs + 60_000));
  });
});
