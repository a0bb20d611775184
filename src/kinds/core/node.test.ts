import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selectedFields } from '../../cache/selected-fields-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { node } from './node.ts';

const kind = node(orch);
const key = (text: string) =>
  `${text}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`;
const taint = { key: 'a', effect: 'NoSchedule' };

const rows: { why: string; sent: Sent; errors: string[] }[] = [
  { why: 'empty', sent: {}, errors: [] },
  {
    why: 'status on create',
    sent: { status: { nodeInfo: { machineID: 'x' }, conditions: [{ type: 'Ready', status: 'True' }] } },
    errors: [],
  },
  { why: 'taints', sent: { spec: { taints: [taint, { ...taint, effect: 'NoExecute' }] } }, errors: [] },
  {
    why: 'a taint twice',
    sent: { spec: { taints: [taint, { ...taint, value: 'x' }] } },
    errors: [
      'metadata.taints[1]: Duplicate value: core.Taint{Key:"a", Value:"x", Effect:"NoSchedule", TimeAdded:<nil>}: taints must be unique by key and effect pair',
    ],
  },
  {
    why: 'a bad taint',
    sent: { spec: { taints: [{ key: 'a!' }] } },
    errors: [key('metadata.taints[0].key: Invalid value: "a!"'), 'metadata.taints[0].effect: Required value'],
  },
  {
    why: 'a taint without effect',
    sent: { spec: { taints: [{ ...taint, effect: 'Soon' }] } },
    errors: [
      'metadata.taints[0].effect: Unsupported value: "Soon": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  },
  {
    why: 'a range that is none',
    sent: { spec: { podCIDR: '10.0.0.0' } },
    errors: [
      'spec.podCIDRs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  },
  { why: 'one range of each family', sent: { spec: { podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } }, errors: [] },
  {
    why: 'two ranges of a family',
    sent: { spec: { podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'] } },
    errors: [
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "10.0.1.0/24"}: may specify no more than one CIDR for each IP family',
    ],
  },
  {
    why: 'a range twice',
    sent: { spec: { podCIDRs: ['10.0.0.0/24', 'fd00::/64', 'fd00::/64'] } },
    errors: [
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/24", "fd00::/64", "fd00::/64"}: may specify no more than one CIDR for each IP family',
      'spec.podCIDRs[2]: Duplicate value: "fd00::/64"',
    ],
  },
  { why: 'resources', sent: { status: { capacity: { cpu: '1500m', pods: 10, 'x.io/gpu': '2' } } }, errors: [] },
  {
    why: 'resources that cannot be',
    sent: { status: { capacity: { memory: '-1Ki' }, allocatable: { pods: '1500m', 'x.io/gpu': '-1' } } },
    errors: [
      'status.capacity.memory: Invalid value: "-1Ki": must be greater than or equal to 0',
      'status.allocatable.pods: Invalid value: "1500m": must be an integer',
      'status.allocatable.x.io/gpu: Invalid value: "-1": must be greater than or equal to 0',
    ],
  },
];

for (const { why, sent, errors } of rows) {
  test(`Node: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

const updateRows: { why: string; old: Sent; sent: Sent; door?: string; errors: string[] }[] = [
  {
    why: 'what is assigned once',
    old: {},
    sent: { spec: { podCIDR: '10.0.0.0/24', providerID: 'p://1', unschedulable: true } },
    errors: [],
  },
  {
    why: 'what was assigned',
    old: { spec: { podCIDR: '10.0.0.0/24', providerID: 'p://1', externalID: 'x' } },
    sent: { spec: { podCIDR: '10.0.1.0/24' } },
    errors: [
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
      'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
      'spec.externalID: Forbidden: may not be updated',
    ],
  },
  {
    why: 'two addresses of a type',
    old: {},
    door: 'status',
    sent: {
      status: {
        addresses: [
          { type: 'InternalIP', address: '1.2.3.4' },
          { type: 'InternalIP', address: '::1' },
        ],
      },
    },
    errors: [],
  },
  {
    why: 'an address twice',
    old: {},
    door: 'status',
    sent: {
      status: {
        addresses: [
          { type: 'a', address: 'b' },
          { type: 'a', address: 'b' },
        ],
      },
    },
    errors: ['status.addresses[1]: Duplicate value: core.NodeAddress{Type:"a", Address:"b"}'],
  },
];

for (const { why, old, sent, door, errors } of updateRows) {
  test(`Node update: ${why}`, () => assert.deepEqual(update(kind, old, sent, door).errors, errors));
}

test('Node: configuration of its agent is kept where it is stored, and otherwise dropped', () => {
  const configMap = { namespace: 'a', name: 'b', kubeletConfigKey: 'c' };
  const sent = { spec: { configSource: { configMap } }, status: { config: { active: { configMap } } } };
  const configOf = (object: ApiObject) => [
    (object['spec'] as Sent)['configSource'],
    (object['status'] as Sent)['config'],
  ];
  assert.deepEqual(configOf(create(kind, sent).object), [undefined, undefined]);
  assert.deepEqual(configOf(update(kind, {}, sent).object), [undefined, undefined]);
  assert.deepEqual(configOf(update(kind, {}, sent, 'status').object), [undefined, undefined]);
  const stored = read(kind, {
    ...sent,
    status: { config: { active: { configMap: { ...configMap, uid: 'u', resourceVersion: '1' } } } },
  });
  assert.deepEqual(configOf(update(kind, stored, sent).object)[0], sent.spec.configSource);
  assert.deepEqual(update(kind, stored, { spec: { configSource: {} } }).errors, [
    'spec.configSource: Invalid value: core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}: exactly one reference subfield must be non-nil',
  ]);
  assert.deepEqual(
    update(kind, stored, { spec: { configSource: { configMap: { namespace: 'a.b', uid: 'u' } } } }).errors,
    [
      'spec.configSource.configMap.uid: Forbidden: uid must not be set in spec',
      'spec.configSource.configMap.namespace: Invalid value: "a.b": must not contain dots',
      'spec.configSource.configMap.name: Required value: name must be set',
      'spec.configSource.configMap.kubeletConfigKey: Required value: kubeletConfigKey must be set',
    ],
  );
  assert.deepEqual(
    update(kind, stored, { status: { config: { active: { configMap: { ...configMap, uid: 'u' } } } } }, 'status')
      .errors,
    ['status.config.active.configMap.resourceVersion: Required value: resourceVersion must be set in status'],
  );
});

test('Node: each endpoint changes its own part only', () => {
  const old = { spec: { unschedulable: true }, status: { phase: 'Running' } };
  const sent = { spec: {}, status: { phase: 'Pending' } };
  const main = update(kind, old, sent).object;
  const status = update(kind, old, sent, 'status').object;
  const phase = (object: typeof main) => (object['status'] as { phase: string }).phase;
  assert.deepEqual([main['spec'], phase(main)], [{}, 'Running']);
  assert.deepEqual([status['spec'], phase(status)], [{ unschedulable: true }, 'Pending']);
});

test('Node: defaults', () => {
  const { object } = create(kind, { spec: { podCIDRs: ['10.0.0.0/24'] }, status: { capacity: { cpu: 2 } } });
  assert.deepEqual(object['spec'], { podCIDR: '10.0.0.0/24', podCIDRs: ['10.0.0.0/24'] });
  const { capacity, allocatable } = object['status'] as Record<string, unknown>;
  assert.deepEqual([capacity, allocatable], [{ cpu: '2' }, { cpu: '2' }]);
  const both = create(kind, { spec: { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.0.0/24', 'fd00::/64'] } }).object;
  assert.deepEqual(both['spec'], { podCIDR: '10.0.1.0/24', podCIDRs: ['10.0.1.0/24'] });
});

test('Node: fields that are always written', () => {
  assert.deepEqual(read(kind, { status: { conditions: [{ type: 'Ready' }] } })['status'], {
    conditions: [{ type: 'Ready', status: '', lastHeartbeatTime: null, lastTransitionTime: null }],
    daemonEndpoints: { kubeletEndpoint: { Port: 0 } },
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '',
      osImage: '',
      containerRuntimeVersion: '',
      kubeletVersion: '',
      kubeProxyVersion: '',
      operatingSystem: '',
      architecture: '',
    },
  });
});

const avoided = (text: string): Sent => ({
  metadata: { annotations: { 'scheduler.alpha.orch.io/preferAvoidPods': text } },
});
const entry = (podController?: object) => ({ podSignature: { podController }, reason: 'r' });
const owner = { apiVersion: 'v1', kind: 'ReplicationController', name: 'a', uid: 'u' };
const avoidedKey = 'metadata.annotations.scheduler.alpha.orch.io/preferAvoidPods';
const unreadable = 'metadata.annotations.AvoidPods: Invalid value: "scheduler.alpha.orch.io/preferAvoidPods":';
for (const [text, ...errors] of [
  [''],
  ['null'],
  ['{}'],
  [JSON.stringify({ preferAvoidPods: [entry({ ...owner, controller: true })] })],
  ['x', `${unreadable} must be a JSON object`],
  ['[]', `${unreadable} expected object, got array`],
  ['{"preferAvoidPods":{}}', `${unreadable} preferAvoidPods: expected array, got object`],
  ['{"preferAvoidPods":[{"reason":5}]}', `${unreadable} preferAvoidPods[0].reason: expected string, got number`],
  [
    JSON.stringify({ preferAvoidPods: [null, entry(), entry({ ...owner, controller: false })] }),
    `${avoidedKey}[0].PodSignature: Required value`,
    `${avoidedKey}[1].PodSignature: Required value`,
    `${avoidedKey}[2].PodSignature.PodController.Controller: Invalid value: false: must point to a controller`,
  ],
] as const) {
  test(`Node: pods to avoid by annotation: ${text}`, () => {
    assert.deepEqual(create(kind, avoided(text)).errors, errors);
    assert.deepEqual(update(kind, create(kind, {}).object, avoided(text)).errors, errors);
    assert.deepEqual(update(kind, create(kind, {}).object, avoided(text), 'status').errors, errors);
  });
}

test('Node: warns of fields that do nothing', () => {
  const sent = { spec: { externalID: 'x', configSource: {} } };
  assert.deepEqual(kind.strategy.warnings?.(read(kind, sent), undefined), [
    'spec.configSource: the feature is removed',
    'spec.externalID: this field is deprecated, and is unused by orch',
  ]);
});

test('Node: columns of an empty one', () => {
  assert.deepEqual(row(kind, {}), {
    Name: 'one',
    Status: 'Unknown',
    Roles: '<none>',
    Age: '<unknown>',
    Version: '',
    '*Internal-IP': '<none>',
    '*External-IP': '<none>',
    '*OS-Image': '<unknown>',
    '*Kernel-Version': '<unknown>',
    '*Container-Runtime': '<unknown>',
  });
});

test('Node: columns of a complete one', () => {
  const labels = { 'node-role.orch.io/worker': '', 'orch.io/role': 'main', 'node-role.orch.io/': 'x' };
  const nodeInfo = { kubeletVersion: 'v1', osImage: 'os', kernelVersion: 'k', containerRuntimeVersion: 'c' };
  const addresses = [
    { type: 'ExternalIP', address: '1.1.1.1' },
    { type: 'InternalIP', address: '10.0.0.1' },
  ];
  const conditions = [{ type: 'Ready', status: 'Unknown' }];
  const sent = { metadata: { labels }, spec: { unschedulable: true }, status: { nodeInfo, addresses, conditions } };
  assert.deepEqual(row(kind, sent), {
    Name: 'one',
    Status: 'NotReady,SchedulingDisabled',
    Roles: 'main,worker',
    Age: '<unknown>',
    Version: 'v1',
    '*Internal-IP': '10.0.0.1',
    '*External-IP': '1.1.1.1',
    '*OS-Image': 'os',
    '*Kernel-Version': 'k',
    '*Container-Runtime': 'c',
  });
  assert.equal(row(kind, { status: { conditions: [{ type: 'Ready', status: 'True' }] } })['Status'], 'Ready');
});

test('Node: selectable fields', () => {
  const schedulable = selectedFields(kind, read(kind, {}));
  assert.deepEqual(schedulable, { 'spec.unschedulable': 'false' });
  const cordoned = selectedFields(kind, read(kind, { spec: { unschedulable: true } }));
  assert.deepEqual(cordoned, { 'spec.unschedulable': 'true' });
});
