import { describe } from 'node:test';
import { dialects } from '../../../dialect/dialects.ts';
import { check, owner, type Write } from './node-restriction-fixture.ts';

const { orch, kubernetes } = dialects;

const node = (operation: 'create' | 'update', object: object, old?: object): Write => ({
  operation,
  resource: 'nodes',
  name: 'n1',
  object,
  ...(old && { old }),
});
const labelled = (labels: object): object => ({ metadata: { name: 'n1', labels } });
const tainted = (...taints: readonly object[]): object => ({ spec: { taints } });
const taint = { key: 'k', value: 'v', effect: 'NoSchedule' };
const ownedBy = (...ownerReferences: readonly object[]): object => ({ metadata: { name: 'n1', ownerReferences } });
const source = (name: string): object => ({ spec: { configSource: { configMap: { name } } } });
const noOwners = 'node "n1" is not allowed to modify ownerReferences';
const noTaints = 'node "n1" is not allowed to modify taints';

describe('writes of nodes', () => {
  check([
    ['register', node('create', labelled({ any: 'x', 'example.com/x': 'y' })), ''],
    ['register with taints', node('create', tainted(taint)), ''],
    ['register another', { ...node('create', {}), name: 'n2' }, 'node "n1" is not allowed to modify node "n2"'],
    [
      'register under a generated name',
      { ...node('create', { metadata: { generateName: 'n1' } }), name: '' },
      'node "n1" is not allowed to modify node ""',
    ],
    [
      'register with a source of configuration',
      node('create', source('c')),
      'node "n1" is not allowed to create pods with a non-nil configSource',
    ],
    [
      'register with an empty source of configuration',
      node('create', { spec: { configSource: {} } }),
      'node "n1" is not allowed to create pods with a non-nil configSource',
    ],
    [
      'register with owners',
      node('create', ownedBy({ kind: 'CSINode', name: 'n1' })),
      'node "n1" is not allowed to set ownerReferences',
    ],
    ['update of nothing', node('update', {}), 'the object is missing'],
    ['update', node('update', { status: { phase: 'x' } }, {}), ''],
    ['patch another', { ...node('update', {}, {}), name: 'n2' }, 'node "n1" is not allowed to modify node "n2"'],
    ['status of its own', { ...node('update', {}, {}), resource: 'nodes/status' }, ''],
    [
      'status of another',
      { ...node('update', {}, {}), resource: 'nodes/status', name: 'n2' },
      'node "n1" is not allowed to modify node "n2"',
    ],
    ['delete its own', { operation: 'delete', resource: 'nodes', name: 'n1', old: {} }, ''],
    [
      'delete another',
      { operation: 'delete', resource: 'nodes', name: 'n2', old: {} },
      'node "n1" is not allowed to modify node "n2"',
    ],
    ['keep a source of configuration', node('update', source('c'), source('c')), ''],
    ['drop it', node('update', {}, source('c')), ''],
    [
      'another source',
      node('update', source('d'), source('c')),
      'node "n1" is not allowed to update configSource to a new non-nil configSource',
    ],
    [
      'the first source',
      node('update', source('d'), {}),
      'node "n1" is not allowed to update configSource to a new non-nil configSource',
    ],
    ['keep taints', node('update', tainted(taint), tainted({ ...taint })), ''],
    ['no taints, written otherwise', node('update', tainted(), {}), ''],
    [
      'a taint without value, written otherwise',
      node('update', tainted({ ...taint, value: '' }), tainted({ ...taint, value: undefined })),
      '',
    ],
    ['another taint', node('update', tainted({ ...taint, effect: 'NoExecute' }), tainted(taint)), noTaints],
    ['one taint more', node('update', tainted(taint, { ...taint, key: 'l' }), tainted(taint)), noTaints],
    ['no taint any more', node('update', {}, tainted(taint)), noTaints],
    ['taints through the status', { ...node('update', {}, tainted(taint)), resource: 'nodes/status' }, noTaints],
    ['keep owners', node('update', ownedBy(owner), ownedBy({ ...owner })), ''],
    ['a first owner', node('update', ownedBy(owner), ownedBy()), noOwners],
    ['a first owner through the status', { ...node('update', ownedBy(owner), {}), resource: 'nodes/status' }, noOwners],
    ['an owner of another uid', node('update', ownedBy({ ...owner, uid: 'x' }), ownedBy(owner)), noOwners],
    ['no owner any more', node('update', ownedBy(), ownedBy(owner)), noOwners],
    ['no longer controlled', node('update', ownedBy({ ...owner, controller: false }), ownedBy(owner)), noOwners],
    [
      'an owner that is held up',
      node('update', ownedBy({ ...owner, blockOwnerDeletion: false }), ownedBy(owner)),
      noOwners,
    ],
    [
      'change labels of others',
      node('update', labelled({ 'example.com/x': 'z' }), labelled({ 'example.com/x': 'y', b: '' })),
      '',
    ],
    [
      'change a label of the product',
      node('update', labelled({ 'role.orch.io/x': 'b' }), labelled({ 'role.orch.io/x': 'a' })),
      'is not allowed to modify labels: role.orch.io/x',
    ],
    [
      'drop labels of the product',
      node('update', labelled({}), labelled({ 'orch.io/z': '', 'orch.io/role': 'x', any: 'x' })),
      'is not allowed to modify labels: orch.io/role, orch.io/z',
    ],
    ['keep them', node('update', labelled({ 'orch.io/role': 'x', new: 'y' }), labelled({ 'orch.io/role': 'x' })), ''],
    [
      'a name that all objects have',
      node('update', labelled({ 'orch.io/constructor': 'x' }), labelled({})),
      'is not allowed to modify labels: orch.io/constructor',
    ],
  ]);
});

const labelRows: readonly (readonly [key: string, allowed: boolean])[] = [
  ['DOMAIN/hostname', true],
  ['DOMAIN/os', true],
  ['DOMAIN/arch', true],
  ['beta.DOMAIN/os', true],
  ['beta.DOMAIN/arch', true],
  ['beta.DOMAIN/instance-type', true],
  ['topology.DOMAIN/zone', true],
  ['topology.DOMAIN/region', true],
  ['failure-domain.beta.DOMAIN/zone', true],
  ['failure-domain.beta.DOMAIN/region', true],
  ['node.DOMAIN/instance-type', true],
  ['node.DOMAIN/anything', true],
  ['mine.node.DOMAIN/anything', true],
  ['AGENT.DOMAIN/anything', true],
  ['mine.AGENT.DOMAIN/anything', true],
  ['DOMAIN/role', false],
  ['node-role.DOMAIN/control-plane', false],
  ['other.DOMAIN/x', false],
  ['notnode.DOMAIN/x', false],
  ['topology.DOMAIN/rack', false],
  ['node-restriction.DOMAIN/x', false],
  ['mine.node-restriction.DOMAIN/x', false],
  ['notDOMAIN/x', true],
  ['DOMAIN.example.com/x', true],
  ['DOMAIN', true],
  ['plain', true],
  ['DOMAINx', true],
];

describe('labels of nodes', () => {
  for (const [dialect, agent, foreign] of [
    [orch, 'node-agent', 'kubernetes.io/x'],
    [kubernetes, 'kubelet', 'orch.io/x'],
  ] as const) {
    check(
      [...labelRows, [foreign, true] as const].map(([template, allowed]) => {
        const key = template.replace('DOMAIN', dialect.domain).replace('AGENT', agent);
        const refusal = allowed ? '' : `node "n1" is not allowed to set the following labels: ${key}`;
        return [`${dialect.name} ${key}`, node('create', labelled({ [key]: 'x' })), refusal] as const;
      }),
      { dialect },
    );
  }
  check(
    [
      [
        'the other domain',
        node('create', labelled({ 'k8s.io/x': 'y' })),
        'node "n1" is not allowed to set the following labels: k8s.io/x',
      ],
      [
        'below it',
        node('create', labelled({ 'a.k8s.io/x': 'y' })),
        'node "n1" is not allowed to set the following labels: a.k8s.io/x',
      ],
    ],
    { dialect: kubernetes },
  );
});
