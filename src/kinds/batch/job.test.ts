import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import {
  fills,
  fullTemplate,
  judgesChanges,
  judgesStatuses,
  refusesSpecs,
  template,
} from '../core/pod/owner-rules-fixture.ts';
import { create, filled, row, type Sent } from '../strategy-fixture.ts';
import { job } from './job.ts';

const kind = job(orch);
const valid = { template: template({ restartPolicy: 'Never' }) };
const indexed = { completionMode: 'Indexed', completions: 5 };
const generated = {
  'controller-uid': '',
  'job-name': 'one',
  'batch.orch.io/controller-uid': '',
  'batch.orch.io/job-name': 'one',
};
const defaults = {
  ...{
    parallelism: 1,
    completions: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    podReplacementPolicy: 'TerminatingOrFailed',
    manualSelector: false,
  },
  selector: { matchLabels: { 'batch.orch.io/controller-uid': '' } },
  template: fullTemplate({ restartPolicy: 'Never' }, { ...generated, app: 'x' }),
};

fills(kind, valid, { spec: defaults, status: {} });

const rules = (...rules: Sent[]): Sent => ({ podFailurePolicy: { rules } });
const rule = 'spec.podFailurePolicy.rules[0]';
const success = (rule: Sent): Sent => ({ ...indexed, successPolicy: { rules: [rule] } });

const chosen = { completions: 5, manualSelector: true, selector: { matchLabels: { app: 'x' } }, ...valid };

refusesSpecs(kind, chosen, [
  [
    'a template that restarts',
    { template: template() },
    ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
  [
    'a negative parallelism',
    { parallelism: -1 },
    ['spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'a negative time to live',
    { ttlSecondsAfterFinished: -1 },
    ['spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'an unknown mode',
    { completionMode: 'Any' },
    ['spec.completionMode: Unsupported value: "Any": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    'indexes without a number',
    { completionMode: 'Indexed', completions: undefined, parallelism: 1 },
    ['spec.completions: Required value: when completion mode is Indexed'],
  ],
  [
    'failed indexes without a limit for each',
    { ...indexed, maxFailedIndexes: 1 },
    ['spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified'],
  ],
  [
    'limits of indexes without them',
    { backoffLimitPerIndex: 1 },
    ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
  ],
  [
    'more failed indexes than indexes',
    { ...indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 6 },
    ['spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions'],
  ],
  [
    'too many pods at a time',
    { ...indexed, parallelism: 100001 },
    ['spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is Indexed'],
  ],
  [
    'a manager without a path',
    { managedBy: 'name' },
    ['spec.managedBy: Invalid value: "name": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'a rule without anything',
    rules({ action: 'Ignore' }),
    [`${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`],
  ],
  [
    'a rule without an action',
    rules({ onPodConditions: [{ type: 'A' }] }),
    [`${rule}.action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]`],
  ],
  [
    'a rule for an index without a limit',
    rules({ action: 'FailIndex', onPodConditions: [{ type: 'A' }] }),
    [`${rule}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`],
  ],
  [
    'bad exit codes',
    rules({ action: 'FailJob', onExitCodes: { containerName: 'other', operator: 'In', values: [3, 0, 3] } }),
    [
      `${rule}.onExitCodes.containerName: Invalid value: "other": must be one of the container or initContainer names in the pod template`,
      `${rule}.onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator`,
      `${rule}.onExitCodes.values[2]: Duplicate value: 3`,
      `${rule}.onExitCodes.values: Invalid value: []int32{3, 0, 3}: must be ordered`,
    ],
  ],
  [
    'a replacement that a policy excludes',
    { ...rules({ action: 'Count', onPodConditions: [{ type: 'A' }] }), podReplacementPolicy: 'TerminatingOrFailed' },
    ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
  ],
  [
    'success of indexes without them',
    { successPolicy: { rules: [{ succeededCount: -1 }] } },
    [
      'spec.successPolicy: Invalid value: batch.SuccessPolicy{Rules:[]batch.SuccessPolicyRule{batch.SuccessPolicyRule{SucceededIndexes:(*string)(nil), SucceededCount:(*int32)(0xc000000000)}}}: requires indexed completion mode',
    ],
  ],
  [
    'success of nothing',
    success({}),
    [
      'spec.successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified',
    ],
  ],
  [
    'success of too large an index',
    success({ succeededIndexes: '1,5' }),
    [
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "1,5": error parsing succeededIndexes: too large index: "5"',
    ],
  ],
  [
    'success of more than its indexes',
    success({ succeededIndexes: '1-2', succeededCount: 3 }),
    [
      'spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
    ],
  ],
]);

test('Job: labels that are those of its pods by default are so with those that are made', () => {
  const labelsOf = (labels: Sent | undefined, own: Sent) =>
    create(
      kind,
      filled(kind, {
        ...(labels && { metadata: { labels } }),
        spec: { template: template({ restartPolicy: 'Never' }, own) },
      }),
    ).object.metadata.labels;
  assert.deepEqual(labelsOf(undefined, { app: 'x' }), { ...generated, app: 'x' });
  assert.deepEqual(labelsOf({ app: 'x' }, { app: 'x' }), { app: 'x' });
  assert.deepEqual(labelsOf(undefined, {}), generated);
});

test('Job: labels and a selector that are made never are those of another job', () => {
  const labelled = filled(kind, { spec: { template: template({ restartPolicy: 'Never' }, { 'job-name': 'other' }) } });
  const [error = '', ...others] = create(kind, labelled).errors;
  assert.ok(
    error.startsWith('spec.template.metadata.labels[job-name]: Invalid value: map[string]string{') &&
      error.endsWith(": must be 'one'"),
    error,
  );
  assert.deepEqual(others, []);
  const selecting = filled(kind, {
    spec: { ...valid, selector: { matchLabels: { 'batch.orch.io/controller-uid': 'other' } } },
  });
  assert.deepEqual(
    create(kind, selecting).errors.map((text) => text.slice(0, text.indexOf(':'))),
    ['spec.selector', 'spec.template.metadata.labels'],
  );
});

const made = JSON.parse(JSON.stringify(create(kind, filled(kind, { spec: valid })).object['spec'])) as Sent;
const suspended = { ...made, suspend: true };
const onNode = {
  ...(made['template'] as Sent),
  spec: { ...((made['template'] as Sent)['spec'] as Sent), nodeSelector: { a: 'b' } },
};

judgesChanges(kind, made, [
  ['the number of pods at a time', { parallelism: 3 }, []],
  ['the completions', { completions: 3 }, ['spec.completions: Invalid value: 3: field is immutable']],
  ['the mode', { completionMode: 'Indexed' }, ['spec.completionMode: Invalid value: "Indexed": field is immutable']],
  ['the manager', { managedBy: 'a.example/b' }, ['spec.managedBy: Invalid value: "a.example/b": field is immutable']],
  ['the template', { template: onNode }, ['spec.template: Invalid value: core.PodTemplateSpec{']],
  [
    'the selector, which goes, and a limit',
    { selector: undefined, maxFailedIndexes: 1 },
    [
      'spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified',
      'spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode',
      'spec.selector: Required value',
      'spec.template.metadata.labels: Invalid value: map[string]string{',
      'spec.selector: Invalid value: "null": field is immutable',
    ],
  ],
]);
judgesChanges(kind, suspended, [['the node selector while it is suspended', { template: onNode }, []]]);

const at = '2026-01-02T03:04:05Z';
const conditions = (...types: string[]) => types.map((type) => ({ type, status: 'True' }));

judgesStatuses(
  kind,
  valid,
  [
    ['counts', { active: 2, succeeded: 1, failed: 1, startTime: at }, []],
    ['fewer failed pods', { failed: 0 }, ['status.failed: Invalid value: 0: cannot decrease the failed counter']],
    [
      'an end',
      { failed: 1, startTime: at, completionTime: at, conditions: conditions('Complete', 'SuccessCriteriaMet') },
      [],
    ],
    [
      'an end without its reason',
      { failed: 1, startTime: at, completionTime: at, conditions: conditions('Complete') },
      [
        'status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
      ],
    ],
    [
      'an end without times',
      { failed: 1, conditions: conditions('Complete', 'SuccessCriteriaMet') },
      [
        'status.completionTime: Required value: completionTime is required for Complete jobs',
        'status.startTime: Required value: startTime is required for finished job',
      ],
    ],
    [
      'pods after the end',
      { failed: 1, active: 1, startTime: at, conditions: conditions('Failed', 'FailureTarget') },
      ['status.active: Invalid value: 1: active>0 is invalid for finished job'],
    ],
    [
      'indexes of a job without them',
      { failed: 1, completedIndexes: '0' },
      [
        'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
      ],
    ],
    [
      'more ready pods than active ones',
      { failed: 1, ready: 1 },
      ['status.ready: Invalid value: 1: cannot set more ready pods than active'],
    ],
    [
      'a pod that is counted twice',
      { failed: 1, uncountedTerminatedPods: { succeeded: ['a'], failed: ['a'] } },
      ['status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"'],
    ],
  ],
  { failed: 1 },
);

const states = [
  [[], 'Running'],
  [['Suspended'], 'Suspended'],
  [['FailureTarget'], 'FailureTarget'],
  [['FailureTarget', 'Failed'], 'Failed'],
  [['SuccessCriteriaMet', 'Complete'], 'Complete'],
] as const;

for (const [types, shown] of states) {
  test(`Job: columns of one that is ${shown}`, () => {
    assert.deepEqual(
      row(kind, {
        spec: { completions: 3, ...valid },
        status: {
          succeeded: 1,
          startTime: at,
          completionTime: '2026-01-02T03:05:05Z',
          conditions: conditions(...types),
        },
      }),
      {
        ...{ Name: 'one', Status: shown, Completions: '1/3', Duration: '60s', Age: '<unknown>' },
        ...{ '*Containers': 'c', '*Images': 'img:1', '*Selector': '<none>' },
      },
    );
  });
}
