import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allAtOnce } from '../../../base/time/in-slices.ts';
import { orch } from '../../../dialect/orch.ts';
import { backOffAfter, noFailures, remainingMs } from './back-off.ts';
import { completionOf, endingOf } from './ending.ts';
import { factsOf } from './job-facts.ts';
import { podOfIndex } from './pod-of-index.ts';
import { awaitingReplacement, planOf } from './pod-plan.ts';
import { countedStatus, trackedStatus } from './uncounted-pods.ts';

const nowMs = Date.parse('2026-01-01T00:10:00Z');
const domain = 'batch.orch.io';
type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

interface PodShape {
  readonly phase?: Phase;
  readonly index?: number;
  readonly failures?: number;
  readonly code?: number;
  readonly leaving?: boolean;
  readonly untracked?: boolean;
  readonly condition?: string;
  readonly endedSecondsAgo?: number;
  readonly restarts?: number;
}

function podOf(shape: PodShape, at: number) {
  const { phase = 'Running', index, failures, code = 0, leaving, untracked, condition, endedSecondsAgo = 0 } = shape;
  const finishedAt = new Date(nowMs - endedSecondsAgo * 1_000).toISOString();
  const annotations = {
    ...(index !== undefined && { [`${domain}/job-completion-index`]: `${index}` }),
    ...(failures !== undefined && { [`${domain}/job-index-failure-count`]: `${failures}` }),
  };
  const state = phase === 'Succeeded' || phase === 'Failed' ? { terminated: { exitCode: code, finishedAt } } : {};
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name: `p${at}`, namespace: 'ns', uid: `u${at}`, annotations },
      finalizers: untracked ? [] : [`${domain}/job-tracking`],
      ...(leaving && { deletionTimestamp: finishedAt }),
    },
    spec: { containers: [{ name: 'c' }], nodeName: 'n' },
    status: {
      phase,
      containerStatuses: [{ name: 'c', restartCount: shape.restarts ?? 0, state }],
      conditions: condition === undefined ? [] : [{ type: condition, status: 'True' }],
    },
  };
}

const facts = (spec: object, pods: readonly PodShape[], status: object = {}, counted: readonly string[] = []) =>
  allAtOnce(
    factsOf({
      job: { apiVersion: 'batch.orch.io/v1', kind: 'Job', metadata: { name: 'j', uid: 'j' }, spec, status },
      ...{ pods: pods.map(podOf), dialect: orch, nowMs, counted: new Set(counted) },
    }),
  );

const indexed = { completionMode: 'Indexed', completions: 3, parallelism: 3 };
const byIndex = { ...indexed, backoffLimitPerIndex: 1, backoffLimit: 2 ** 31 - 1 };
const failed: PodShape = { phase: 'Failed', code: 1 };
const done: PodShape = { phase: 'Succeeded' };
const rule = (action: string, more: object) => ({ podFailurePolicy: { rules: [{ action, ...more }] } });
const codes = (...values: readonly number[]) => ({ onExitCodes: { operator: 'In', values } });

describe('how a job ends', () => {
  for (const [what, spec, pods, expected, status] of [
    ['it goes on', { backoffLimit: 1 }, [failed, {}], undefined, {}],
    ['too many failures', { backoffLimit: 1 }, [failed, failed], 'BackoffLimitExceeded', {}],
    ['with those of before', { backoffLimit: 1 }, [failed], 'BackoffLimitExceeded', { failed: 1 }],
    [
      'a pod that is noted is not counted twice',
      { backoffLimit: 1 },
      [failed],
      undefined,
      { uncountedTerminatedPods: { failed: ['u0'] } },
    ],
    ['a pod that is deleted has failed', { backoffLimit: 0 }, [{ leaving: true }], 'BackoffLimitExceeded', {}],
    [
      'but not where only ended pods are replaced',
      { backoffLimit: 0, podReplacementPolicy: 'Failed' },
      [{ leaving: true }],
      undefined,
      {},
    ],
    [
      'restarts',
      { backoffLimit: 3, template: { spec: { restartPolicy: 'OnFailure' } } },
      [{ restarts: 3 }],
      'BackoffLimitExceeded',
      {},
    ],
    ['the deadline', { activeDeadlineSeconds: 600 }, [{}], 'DeadlineExceeded', { startTime: '2026-01-01T00:00:00Z' }],
    ['not before it', { activeDeadlineSeconds: 601 }, [{}], undefined, { startTime: '2026-01-01T00:00:00Z' }],
    [
      'not while it is suspended',
      { activeDeadlineSeconds: 1, suspend: true },
      [],
      undefined,
      { startTime: '2026-01-01T00:00:00Z' },
    ],
    [
      'a rule about conditions',
      rule('FailJob', { onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }),
      [{ ...failed, condition: 'DisruptionTarget' }],
      'PodFailurePolicy',
      {},
    ],
    ['a failure that is ignored', { backoffLimit: 0, ...rule('Ignore', codes(1)) }, [failed], undefined, {}],
    ['another failure is not', { backoffLimit: 0, ...rule('Ignore', codes(2)) }, [failed], 'BackoffLimitExceeded', {}],
    [
      'too many indexes',
      { ...byIndex, maxFailedIndexes: 0 },
      [{ ...failed, index: 0, failures: 1 }],
      'MaxFailedIndexesExceeded',
      {},
    ],
    [
      'an index that may fail again',
      { ...byIndex, maxFailedIndexes: 0 },
      [{ ...failed, index: 0, failures: 0 }],
      undefined,
      {},
    ],
    [
      'an index by rule',
      { ...byIndex, maxFailedIndexes: 0, ...rule('FailIndex', codes(1)) },
      [{ ...failed, index: 0 }],
      'MaxFailedIndexesExceeded',
      {},
    ],
    [
      'all indexes are over',
      byIndex,
      [{ ...failed, index: 0, failures: 1 }],
      'FailedIndexes',
      { completedIndexes: '1,2' },
    ],
    [
      'success by index',
      { ...indexed, successPolicy: { rules: [{ succeededIndexes: '1' }] } },
      [{ ...done, index: 1 }],
      'SuccessPolicy',
      {},
    ],
    [
      'success by number',
      { ...indexed, successPolicy: { rules: [{ succeededCount: 2 }] } },
      [{ ...done, index: 1 }],
      'SuccessPolicy',
      { completedIndexes: '0' },
    ],
    [
      'no success yet',
      { ...indexed, successPolicy: { rules: [{ succeededIndexes: '0-1' }] } },
      [{ ...done, index: 1 }],
      undefined,
      {},
    ],
    [
      'as was decided before',
      {},
      [],
      'Why',
      { conditions: [{ type: 'FailureTarget', status: 'True', reason: 'Why' }] },
    ],
  ] as const) {
    it(what, () => assert.equal(endingOf(facts(spec, pods, status))?.reason, expected));
  }

  for (const [spec, pods, active, expected] of [
    [{ completions: 1 }, [done], 0, true],
    [{ completions: 2 }, [done], 0, false],
    [{ completions: 1 }, [done], 1, false],
    [{ completions: 0 }, [], 0, true],
    [{}, [done], 0, true],
    [{}, [], 0, false],
  ] as const) {
    it(`completions of ${JSON.stringify(spec)} with ${pods.length} done and ${active} active`, () =>
      assert.equal(completionOf(facts(spec, pods), active) !== undefined, expected));
  }
});

describe('which pods a job makes or deletes', () => {
  for (const [what, spec, pods, expected, status] of [
    ['as many as may run', { parallelism: 2, completions: 5 }, [], [undefined, undefined], {}],
    ['no more than are left', { parallelism: 5, completions: 3 }, [{}], [undefined], { succeeded: 1 }],
    ['none of a work queue that is done', { parallelism: 5 }, [{}, done], 'keep', {}],
    ['those of pending indexes', { ...indexed, completions: 5 }, [{ index: 1 }], [0, 3], { completedIndexes: '2' }],
    ['not of failed ones', byIndex, [], [0, 2], { failedIndexes: '1' }],
    ['surplus', { parallelism: 1, completions: 9 }, [{}, { phase: 'Pending' }], ['p1'], {}],
    [
      'doubles, and what has no index',
      indexed,
      [{ index: 0 }, { index: 0, phase: 'Pending' }, {}, { index: 9 }],
      ['p2', 'p3', 'p1'],
      {},
    ],
    ['all while suspended', { parallelism: 2, suspend: true }, [{}, {}], ['p0', 'p1'], {}],
    [
      'instead of those that leave',
      { parallelism: 1, completions: 1 },
      [{ leaving: true, untracked: true }],
      [undefined],
      {},
    ],
    [
      'not until they are gone',
      { parallelism: 1, completions: 1, podReplacementPolicy: 'Failed' },
      [{ leaving: true }],
      'keep',
      {},
    ],
    ['after a pause for the index', byIndex, [{ ...failed, index: 0 }, { index: 1 }, { index: 2 }], 10_000, {}],
    ['which is over', byIndex, [{ ...failed, index: 0, endedSecondsAgo: 10 }, { index: 1 }, { index: 2 }], [0], {}],
  ] as const) {
    it(what, () => {
      const seen = facts(spec, pods, status);
      const inOrder = (all: readonly (typeof seen.pods)[number][]) =>
        all.toSorted((a, b) => Number(b.pod.status?.phase === 'Pending') - Number(a.pod.status?.phase === 'Pending'));
      const plan = planOf(seen, { backOff: noFailures, awaiting: awaitingReplacement(seen), inOrder });
      const short = {
        keep: () => 'keep',
        create: () => (plan.type === 'create' ? plan.indexes : []),
        delete: () => (plan.type === 'delete' ? plan.pods.map(({ object }) => object.metadata.name) : []),
        wait: () => (plan.type === 'wait' ? plan.ms : 0),
      }[plan.type]();
      assert.deepEqual(
        Array.isArray(short) ? short.toSorted() : short,
        Array.isArray(expected) ? expected.toSorted() : expected,
      );
    });
  }

  it('a pod takes the failures of its index over', () => {
    const seen = facts(byIndex, [{ ...failed, index: 0, failures: 2 }]);
    assert.equal(podOfIndex(seen, orch, 0, seen.pods[0]).annotations[`${domain}/job-index-failure-count`], '3');
    assert.equal(podOfIndex(seen, orch, 1, undefined).annotations[`${domain}/job-index-failure-count`], '0');
  });
});

describe('pauses', () => {
  for (const [failures, expected] of [
    [0, 0],
    [1, 10_000],
    [2, 20_000],
    [6, 320_000],
    [7, 600_000],
    [1_000, 600_000],
  ] as const) {
    it(`after ${failures} failures`, () => assert.equal(remainingMs({ failures, lastMs: nowMs }, nowMs), expected));
  }

  it('are over with a success', () => {
    const seen = facts({}, [
      { ...failed, endedSecondsAgo: 9 },
      { ...done, endedSecondsAgo: 5 },
      { ...failed, endedSecondsAgo: 1 },
    ]);
    const before = { failures: 5, lastMs: 0 };
    assert.equal(backOffAfter(before, seen.newlySucceeded, seen.newlyFailed).failures, 1);
    assert.equal(backOffAfter(before, [], seen.newlyFailed).failures, 7);
    assert.equal(backOffAfter(before, [], []).failures, 5);
    assert.equal(backOffAfter(before, seen.newlySucceeded, []).failures, 0);
  });
});

describe('counting', () => {
  const ending = undefined;
  it('pods are noted, then counted once, wherever a controller stops', () => {
    const pods = [done, failed, {}];
    const seen = facts({ completions: 9 }, pods);
    const { status, ended } = trackedStatus(seen, seen.status, { ending, awaiting: new Map() });
    assert.deepEqual(status.uncountedTerminatedPods, { succeeded: ['u0'], failed: ['u1'] });
    assert.deepEqual(
      ended.map(({ uid }) => uid),
      ['u0', 'u1'],
    );
    // Again from what is stored.
    const again = facts({ completions: 9 }, pods, status);
    assert.deepEqual([again.succeeded, again.failed], [1, 1]);
    assert.deepEqual(trackedStatus(again, again.status, { ending, awaiting: new Map() }).status, status);
    const counted = countedStatus(status, new Set(['u2']));
    assert.deepEqual([counted.succeeded, counted.failed, counted.uncountedTerminatedPods], [1, 1, {}]);
    // The copy may still show the finalizers.
    const late = facts({ completions: 9 }, pods, counted, ['u0', 'u1']);
    assert.deepEqual([late.succeeded, late.failed], [1, 1]);
    assert.deepEqual(trackedStatus(late, late.status, { ending, awaiting: new Map() }).ended, []);
  });

  it('indexes count once', () => {
    const seen = facts(indexed, [
      { ...done, index: 0 },
      { ...done, index: 0 },
      { ...done, index: 7 },
    ]);
    const { status, ended } = trackedStatus(seen, seen.status, { ending, awaiting: new Map() });
    assert.deepEqual([status.succeeded, status.completedIndexes, ended.length], [1, '0', 3]);
  });

  it('no more at once than a status may name', () => {
    const seen = facts(
      { completions: 900 },
      Array.from({ length: 600 }, () => done),
    );
    const { ended, hasMore } = trackedStatus(seen, seen.status, { ending, awaiting: new Map() });
    assert.deepEqual([ended.length, hasMore], [500, true]);
  });
});
