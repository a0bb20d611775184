import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { resourceQuota } from './resource-quota.ts';

const kind = resourceQuota(orch);
const hard = (amounts: Sent, more: Sent = {}): Sent => ({ spec: { hard: amounts, ...more } });
const scoped = (scopes: readonly string[], amounts: Sent = {}): Sent => hard(amounts, { scopes });
const selected = (...matchExpressions: readonly unknown[]): Sent =>
  hard({ pods: '1' }, { scopeSelector: { matchExpressions } });
const expressions = 'spec.scopeSelector.matchExpressions';
const exists =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'nothing', sent: {}, errors: [] },
  {
    why: 'all sorts of resources',
    sent: hard({
      cpu: '1',
      'requests.memory': '1Gi',
      'limits.ephemeral-storage': '1',
      pods: '2',
      'services.nodeports': '0',
      'hugepages-2Mi': '4Mi',
      'requests.hugepages-1Gi': '1',
      'count/x.example.com': '5',
      'fast.storageclass.storage.orch.io/requests.storage': '1Gi',
    }),
    errors: [],
  },
  {
    why: 'an unknown resource',
    sent: hard({ disk: '1' }),
    errors: [
      'spec.hard[disk]: Invalid value: disk: must be a standard resource type or fully qualified',
      'spec.hard[disk]: Invalid value: disk: must be a standard resource for quota',
    ],
  },
  {
    why: 'a resource of limits alone',
    sent: hard({ storage: '1' }),
    errors: ['spec.hard[storage]: Invalid value: storage: must be a standard resource for quota'],
  },
  {
    why: 'less than nothing',
    sent: hard({ cpu: '-1' }),
    errors: ['spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  },
  {
    why: 'half a pod',
    sent: hard({ pods: '500m' }),
    errors: [
      'spec.hard[pods]: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"500m", Format:"DecimalSI"}: must be an integer',
    ],
  },
  {
    why: 'half of what others count',
    sent: hard({ 'count/x.example.com': '500m' }),
    errors: [
      'spec.hard[count/x.example.com]: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"500m", Format:"DecimalSI"}: must be an integer',
    ],
  },
  { why: 'scopes', sent: scoped(['NotTerminating', 'BestEffort'], { pods: '1' }), errors: [] },
  {
    why: 'an unknown scope',
    sent: scoped(['x']),
    errors: ['spec.scopes: Invalid value: []core.ResourceQuotaScope{"x"}: unsupported scope'],
  },
  {
    why: 'scopes that conflict',
    sent: scoped(['BestEffort', 'NotBestEffort']),
    errors: [
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort", "NotBestEffort"}: conflicting scopes',
    ],
  },
  {
    why: 'a scope of pods for something else',
    sent: scoped(['Terminating'], { services: '1', cpu: '1' }),
    errors: [
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Terminating"}: unsupported scope applied to resource',
    ],
  },
  {
    why: 'a scope of pods without requests for cores',
    sent: scoped(['BestEffort'], { cpu: '1' }),
    errors: [
      'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort"}: unsupported scope applied to resource',
    ],
  },
  {
    why: 'a selector',
    sent: selected(
      { scopeName: 'PriorityClass', operator: 'In', values: ['high'] },
      { scopeName: 'CrossNamespacePodAffinity', operator: 'Exists' },
    ),
    errors: [],
  },
  {
    why: 'a selector by an unknown scope',
    sent: selected({ scopeName: 'x', operator: 'Exists' }),
    errors: [`${expressions}.scopeName: Invalid value: "x": unsupported scope`],
  },
  {
    why: 'a selector by the value of a scope without any',
    sent: selected({ scopeName: 'Terminating', operator: 'In', values: ['a'] }),
    errors: [`${expressions}.operator: Invalid value: "In": ${exists}`],
  },
  {
    why: 'a selector without values',
    sent: selected({ scopeName: 'PriorityClass', operator: 'NotIn' }),
    errors: [
      `${expressions}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
    ],
  },
  {
    why: 'a selector with values',
    sent: selected({ scopeName: 'PriorityClass', operator: 'DoesNotExist', values: ['a'] }),
    errors: [
      `${expressions}.values: Invalid value: []string{"a"}: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
    ],
  },
  {
    why: 'an unknown operator',
    sent: selected({ scopeName: 'PriorityClass', operator: 'x' }),
    errors: [`${expressions}.operator: Invalid value: "x": not a valid selector operator`],
  },
  {
    why: 'selected scopes that conflict',
    sent: selected(
      { scopeName: 'Terminating', operator: 'Exists' },
      { scopeName: 'NotTerminating', operator: 'Exists' },
    ),
    errors: [`${expressions}: Invalid value: []core.ResourceQuotaScope(nil): conflicting scopes`],
  },
];

for (const { why, sent, errors } of rows) {
  test(`ResourceQuota: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

test('ResourceQuota: an update keeps the scopes, in any order, and the status', () => {
  const old = { ...scoped(['NotTerminating', 'BestEffort'], { pods: '1' }) };
  assert.deepEqual(update(kind, old, scoped(['BestEffort', 'NotTerminating'], { pods: '2' })).errors, []);
  assert.deepEqual(update(kind, old, scoped(['BestEffort'], { pods: '1' })).errors, [
    'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort"}: field is immutable',
  ]);
  assert.deepEqual(create(kind, { ...old, status: { used: { pods: '9' } } }).object['status'], {});
});

test('ResourceQuota: the status has the rules of the spec', () => {
  const sent = { spec: { hard: { pods: '7' } }, status: { hard: { pods: '2', disk: '1' }, used: { pods: '500m' } } };
  const { object, errors } = update(kind, hard({ pods: '2' }), sent, 'status');
  assert.deepEqual(object['spec'], { hard: { pods: '2' } });
  assert.deepEqual(errors, [
    'status.hard[disk]: Invalid value: disk: must be a standard resource type or fully qualified',
    'status.hard[disk]: Invalid value: disk: must be a standard resource for quota',
    'status.used[pods]: Invalid value: resource.Quantity{i:resource.int64Amount{value:500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"500m", Format:"DecimalSI"}: must be an integer',
  ]);
});

test('ResourceQuota: amounts are rounded up', () =>
  assert.deepEqual(create(kind, hard({ cpu: '1100u' })).object['spec'], { hard: { cpu: '2m' } }));

test('ResourceQuota: columns', () => {
  const status = {
    hard: { pods: '2', cpu: '4', 'limits.cpu': '8', 'limits.memory': '1Gi' },
    used: { pods: '1', 'limits.cpu': '500m' },
  };
  assert.deepEqual(row(kind, { status }), {
    Name: 'one',
    Age: '<unknown>',
    Request: 'cpu: 0/4, pods: 1/2',
    Limit: 'limits.cpu: 500m/8, limits.memory: 0/1Gi',
  });
  assert.deepEqual(row(kind, {}), { Name: 'one', Age: '<unknown>', Request: '', Limit: '' });
});
