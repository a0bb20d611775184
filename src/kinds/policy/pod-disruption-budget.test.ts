import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { podDisruptionBudget } from './pod-disruption-budget.ts';

const kind = podDisruptionBudget(orch);
const percent =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

const rows: readonly [why: string, spec: Sent, errors: readonly string[]][] = [
  ['nothing', {}, []],
  ['a number', { minAvailable: 0, selector: {} }, []],
  ['a percentage', { maxUnavailable: '100%', unhealthyPodEvictionPolicy: 'AlwaysAllow' }, []],
  [
    'both',
    { minAvailable: 1, maxUnavailable: 1 },
    [
      'spec: Invalid value: policy.PodDisruptionBudgetSpec{MinAvailable:(*intstr.IntOrString)(0xc000000000), Selector:(*v1.LabelSelector)(nil), MaxUnavailable:(*intstr.IntOrString)(0xc000000000), UnhealthyPodEvictionPolicy:(*policy.UnhealthyPodEvictionPolicyType)(nil)}: minAvailable and maxUnavailable cannot be both set',
    ],
  ],
  ...(['minAvailable', 'maxUnavailable'] as const).flatMap((name): [string, Sent, string[]][] => [
    [`${name} below 0`, { [name]: -1 }, [`spec.${name}: Invalid value: -1: must be greater than or equal to 0`]],
    [
      `${name} of a text`,
      { [name]: '1' },
      [`spec.${name}: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"1"}: ${percent}`],
    ],
    [
      `${name} below 0 percent`,
      { [name]: '-1%' },
      [`spec.${name}: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"-1%"}: ${percent}`],
    ],
    [
      `${name} above 100 percent`,
      { [name]: '101%' },
      [
        `spec.${name}: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%`,
      ],
    ],
  ]),
  [
    'another policy',
    { unhealthyPodEvictionPolicy: 'Never' },
    ['spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"'],
  ],
  [
    'a bad selector',
    { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
    ["spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
  ],
];

for (const [why, spec, errors] of rows) {
  test(`PodDisruptionBudget: ${why}`, () => {
    assert.deepEqual(create(kind, { spec }).errors, errors);
    assert.deepEqual(update(kind, {}, { spec }).errors, errors);
  });
}

const condition = {
  type: 'DisruptionAllowed',
  status: 'True',
  reason: 'SufficientPods',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const zero = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };

const statuses: readonly [status: Sent, errors: readonly string[]][] = [
  [{ disruptedPods: { a: '2026-01-01T00:00:00Z' }, conditions: [condition] }, []],
  ...Object.keys(zero).map((name): [Sent, string[]] => [
    { [name]: -1 },
    [`status.${name}: Invalid value: -1: must be greater than or equal to 0`],
  ]),
  [
    { conditions: [{ ...condition, status: 'Maybe' }] },
    ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
  ],
  [{ conditions: [condition, condition] }, ['status.conditions[1].type: Duplicate value: "DisruptionAllowed"']],
];

for (const [status, errors] of statuses) {
  test(`PodDisruptionBudget: status ${JSON.stringify(status)}`, () => {
    const updated = update(kind, { spec: { minAvailable: 1 } }, { spec: { minAvailable: 2 }, status }, 'status');
    assert.deepEqual(updated.errors, errors);
    assert.deepEqual(updated.object['spec'], { minAvailable: 1 });
    assert.deepEqual(create(kind, { status }).object['status'], zero);
  });
}

test('PodDisruptionBudget: columns', () => {
  const cells = { Name: 'one', Age: '<unknown>' };
  assert.deepEqual(row(kind, { spec: { minAvailable: 0 } }), {
    ...cells,
    'Min Available': '0',
    'Max Unavailable': 'N/A',
    'Allowed Disruptions': 0,
  });
  assert.deepEqual(row(kind, { spec: { maxUnavailable: '30%' }, status: { disruptionsAllowed: 2 } }), {
    ...cells,
    'Min Available': 'N/A',
    'Max Unavailable': '30%',
    'Allowed Disruptions': 2,
  });
});
