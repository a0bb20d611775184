import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../../meta/api-object.ts';
import { refusalOf } from '../../answer-fixture.ts';
import { actionOf, runAction, targetOf } from './pod-action-fixture.ts';
import { podWith, type Sent, stored } from './pod-fixture.ts';

const eviction = (deleteOptions?: Sent): Sent => ({
  metadata: { name: 'web' },
  ...(deleteOptions && { deleteOptions }),
});

const podIn = (phase: string, ready: boolean, more: Sent = {}): ApiObject => ({
  ...stored(podWith({}, { labels: { app: 'web' }, uid: 'u-1', ...more })),
  status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

const budgetWith = (status: Sent, spec: Sent = {}, metadata: Sent = {}): ApiObject =>
  ({
    metadata: { name: 'of-web', generation: 2, ...metadata },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    status: { observedGeneration: 2, ...status },
  }) as unknown as ApiObject;

interface BudgetStatus {
  readonly disruptionsAllowed: number;
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly conditions?: readonly Sent[];
}
const statusOf = (budget: ApiObject) => (budget as unknown as { readonly status: BudgetStatus }).status;

const violates = "Cannot evict pod as it would violate the pod's disruption budget.";
const needs = { desiredHealthy: 3, currentHealthy: 3, disruptionsAllowed: 0 };

describe('eviction without a budget', () => {
  const preconditions = { uid: 'u-1', resourceVersion: '7' };
  const options: readonly [what: string, sent: Sent | undefined, deletion: Sent][] = [
    ['without options', undefined, {}],
    ['with a grace period', { gracePeriodSeconds: 5 }, { gracePeriodSeconds: 5 }],
    [
      'on a version: the one after the pod was marked',
      { preconditions },
      { preconditions: { uid: 'u-1', resourceVersion: '8' } },
    ],
  ];
  for (const [what, sent, deletion] of options) {
    it(`marks and deletes the pod: ${what}`, async () => {
      const pod = podIn('Running', true);
      const target = targetOf(pod);
      const answer = await runAction('eviction', eviction(sent), target);
      assert.deepEqual([answer['status'], answer['code']], ['Success', 201]);
      assert.deepEqual(target.deletions, [{ kind: 'DeleteOptions', apiVersion: 'v1', metadata: {}, ...deletion }]);
      const { conditions } = pod['status'] as { readonly conditions: readonly Sent[] };
      assert.deepEqual(conditions.at(-1), {
        type: 'DisruptionTarget',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2026-01-10T00:00:00Z',
        reason: 'EvictionByEvictionAPI',
        message: 'Eviction API: evicting',
      });
    });
  }

  const notMarked: readonly [what: string, sent: Sent | undefined, dryRun: boolean][] = [
    ['of the request', undefined, true],
    ['of the body', { dryRun: ['All'] }, false],
  ];
  for (const [what, sent, dryRun] of notMarked) {
    it(`marks nothing in a dry run ${what}`, async () => {
      const pod = podIn('Running', true);
      const before = structuredClone(pod);
      const target = targetOf(pod, { dryRun });
      await runAction('eviction', eviction(sent), target);
      assert.deepEqual(pod, before);
      assert.equal(target.deletions.length, 1);
    });
  }

  const refused: readonly [what: string, preconditions: Sent, message: string][] = [
    [
      'another pod',
      { uid: 'u-2' },
      'the UID in the precondition (u-2) does not match the UID in record (u-1). The object might have been deleted and then recreated',
    ],
    [
      'another version',
      { resourceVersion: '6' },
      'the ResourceVersion in the precondition (6) does not match the ResourceVersion in record (7). The object might have been modified',
    ],
  ];
  for (const [what, preconditions, message] of refused) {
    it(`refuses ${what}`, async () => {
      const target = targetOf(podIn('Running', true));
      const { code, message: told } = await refusalOf(runAction('eviction', eviction({ preconditions }), target));
      assert.deepEqual([code, told], [409, `Operation cannot be fulfilled on Pod "web": ${message}`]);
      assert.equal(target.deletions.length, 0);
    });
  }

  for (const metadata of [{}, { name: 'other' }]) {
    it(`refuses a body named ${JSON.stringify(metadata)}`, async () => {
      const refusal = await refusalOf(runAction('eviction', { metadata }, targetOf(podIn('Running', true))));
      assert.deepEqual([refusal.code, refusal.message], [400, 'name in URL does not match name in Eviction object']);
    });
  }

  it('refuses an option for unreadable pods', () => {
    const deleteOptions = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
    const [error] = actionOf('eviction').validate?.(eviction(deleteOptions) as unknown as ApiObject) ?? [];
    assert.equal(error?.field, 'deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential');
  });
});

interface Row {
  readonly what: string;
  readonly pod: ApiObject;
  readonly budget: ApiObject;
  /** Undefined: the pod is deleted. */
  readonly refusal?: {
    readonly code: number;
    readonly cause?: string;
    readonly retryAfter?: number;
    readonly message?: string;
  };
  /** What the budget allows afterwards. */
  readonly left: number;
}

const running = () => podIn('Running', true);
const unready = () => podIn('Running', false);
const forbiddenBy = 'poddisruptionbudget.policy "of-web" is forbidden: ';
const exhausted = { code: 429, cause: 'The disruption budget of-web needs 3 healthy pods and has 3 currently' };
const pending = {
  code: 429,
  cause: 'The disruption budget of-web is still being processed by the server.',
  retryAfter: 10,
};

const rows: readonly Row[] = [
  { what: 'one is allowed', pod: running(), budget: budgetWith({ disruptionsAllowed: 1 }), left: 0 },
  { what: 'several are allowed', pod: running(), budget: budgetWith({ disruptionsAllowed: 3 }), left: 2 },
  { what: 'none is allowed', pod: running(), budget: budgetWith(needs), refusal: exhausted, left: 0 },
  {
    what: 'its numbers are of an older generation',
    pod: running(),
    budget: budgetWith({ disruptionsAllowed: 1, observedGeneration: 1 }),
    refusal: pending,
    left: 1,
  },
  {
    what: 'its number is negative',
    pod: running(),
    budget: budgetWith({ disruptionsAllowed: -1 }),
    refusal: { code: 403, message: `${forbiddenBy}pdb disruptions allowed is negative` },
    left: -1,
  },
  {
    what: 'too many evictions are not confirmed',
    pod: running(),
    budget: budgetWith({
      disruptionsAllowed: 1,
      disruptedPods: Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`p${at}`, '2026-01-01T00:00:00Z'])),
    }),
    refusal: {
      code: 403,
      message: `${forbiddenBy}DisruptedPods map too big - too many evictions not confirmed by PDB controller`,
    },
    left: 1,
  },
  ...['Pending', 'Succeeded', 'Failed'].map((phase) => ({
    what: `the pod is ${phase}`,
    pod: podIn(phase, false),
    budget: budgetWith(needs),
    left: 0,
  })),
  {
    what: 'the pod is being deleted',
    pod: podIn('Running', true, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    budget: budgetWith(needs),
    left: 0,
  },
  { what: 'the pod is not ready, the others are enough', pod: unready(), budget: budgetWith(needs), left: 0 },
  {
    what: 'the pod is not ready, nor are enough others',
    pod: unready(),
    budget: budgetWith({ ...needs, currentHealthy: 2 }),
    refusal: { code: 429, cause: 'The disruption budget of-web needs 3 healthy pods and has 2 currently' },
    left: 0,
  },
  {
    what: 'the pod is not ready, and such pods may go',
    pod: unready(),
    budget: budgetWith({ ...needs, currentHealthy: 2 }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
    left: 0,
  },
  {
    what: 'it is about other pods',
    pod: running(),
    budget: budgetWith(needs, { selector: { matchLabels: { app: 'b' } } }),
    left: 0,
  },
  { what: 'it selects none', pod: running(), budget: budgetWith(needs, { selector: undefined }), left: 0 },
  { what: 'it selects all', pod: running(), budget: budgetWith(needs, { selector: {} }), refusal: exhausted, left: 0 },
];

describe('eviction with a budget', () => {
  for (const { what, pod, budget, refusal, left } of rows) {
    it(`${refusal ? 'is refused' : 'deletes the pod'}: ${what}`, async () => {
      const target = targetOf(pod, { budgets: [budget] });
      const done = runAction('eviction', eviction(), target);
      if (refusal) {
        const { code, message, details } = await refusalOf(done);
        assert.deepEqual(
          { code, message, cause: details?.causes?.[0]?.message, retryAfter: details?.retryAfterSeconds },
          { message: violates, cause: undefined, retryAfter: undefined, ...refusal },
        );
      } else await done;
      assert.equal(target.deletions.length, refusal ? 0 : 1);
      assert.equal(statusOf(budget).disruptionsAllowed, left);
    });
  }

  it('notes whose disruption it is, and that there is no further one', async () => {
    const budget = budgetWith({ disruptionsAllowed: 1 });
    await runAction('eviction', eviction(), targetOf(running(), { budgets: [budget] }));
    assert.deepEqual(statusOf(budget), {
      observedGeneration: 2,
      disruptionsAllowed: 0,
      disruptedPods: { web: '2026-01-10T00:00:00Z' },
      conditions: [
        {
          type: 'DisruptionAllowed',
          status: 'False',
          observedGeneration: 2,
          lastTransitionTime: '2026-01-10T00:00:00Z',
          reason: 'InsufficientPods',
          message: '',
        },
      ],
    });
  });

  it('takes nothing in a dry run, which is refused like others', async () => {
    const [open, closed] = [budgetWith({ disruptionsAllowed: 1 }), budgetWith(needs)];
    await runAction('eviction', eviction(), targetOf(running(), { budgets: [open], dryRun: true }));
    await runAction('eviction', eviction({ dryRun: ['All'] }), targetOf(running(), { budgets: [open] }));
    assert.equal(statusOf(open).disruptionsAllowed, 1);
    const refused = runAction('eviction', eviction(), targetOf(running(), { budgets: [closed], dryRun: true }));
    assert.equal((await refusalOf(refused)).code, 429);
  });

  it('answers a failure if there are several', async () => {
    const budgets = [budgetWith({ disruptionsAllowed: 1 }), budgetWith({ disruptionsAllowed: 1 }, {}, { name: 'two' })];
    const target = targetOf(running(), { budgets });
    const answer = await runAction('eviction', eviction(), target);
    assert.deepEqual([answer['status'], answer['code'], target.deletions.length], ['Failure', 500, 0]);
  });

  it('asks it about a pod that starts meanwhile', async () => {
    const budget = budgetWith(needs);
    const pod = podIn('Pending', false);
    const meanwhile = (object: ApiObject): void => {
      object['status'] = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    };
    const target = targetOf(pod, { budgets: [budget], meanwhile });
    assert.equal((await refusalOf(runAction('eviction', eviction(), target))).code, 429);
    assert.equal(target.deletions.length, 0);
  });

  it('is to be tried again if a pod becomes ready meanwhile that was not counted', async () => {
    const target = targetOf(unready(), { budgets: [budgetWith(needs)], meanwhile: () => {} });
    const { code, details } = await refusalOf(runAction('eviction', eviction(), target));
    assert.deepEqual([code, details?.retryAfterSeconds, target.deletions.length], [429, 10, 0]);
  });
});
