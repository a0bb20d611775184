import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import type { Kind } from '../kind.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { csiDriver } from './csi-driver.ts';
import { csiNode } from './csi-node.ts';
import { csiStorageCapacity } from './csi-storage-capacity.ts';
import { storageClass } from './storage-class.ts';
import { volumeAttributesClass } from './volume-attributes-class.ts';

interface Case {
  readonly why: string;
  readonly sent: Sent;
  readonly errors: readonly string[];
}

interface Change extends Case {
  readonly old: Sent;
}

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const many = (count: number, size = 1): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'x'.repeat(size)]));
const terms = (...of: readonly (readonly unknown[])[]): unknown[] =>
  of.map((matchLabelExpressions) => ({ matchLabelExpressions }));
const zone = { key: 'zone', values: ['a', 'b'] };

const cases = (kind: Kind, rows: readonly Case[]): void => {
  for (const { why, sent, errors } of rows)
    test(`${kind.kind}: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
};
const changes = (kind: Kind, rows: readonly Change[]): void => {
  for (const { why, old, sent, errors } of rows)
    test(`${kind.kind}: an update changes ${why}`, () => assert.deepEqual(update(kind, old, sent).errors, errors));
};

describe('StorageClass', () => {
  const kind = storageClass(orch);
  const least = { provisioner: 'example.com/p' };
  const topologies = (...of: readonly (readonly unknown[])[]): Sent => ({ ...least, allowedTopologies: terms(...of) });
  cases(kind, [
    { why: 'the least', sent: least, errors: [] },
    {
      why: 'all',
      sent: {
        provisioner: 'Example.com/P',
        parameters: { a: '' },
        reclaimPolicy: 'Retain',
        mountOptions: ['ro', 'any thing'],
        allowVolumeExpansion: false,
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: terms([zone]),
      },
      errors: [],
    },
    { why: 'no provisioner', sent: {}, errors: ['provisioner: Required value'] },
    {
      why: 'a provisioner that is no name',
      sent: { provisioner: 'a/' },
      errors: [
        'provisioner: Invalid value: "a/": name part must be non-empty',
        `provisioner: Invalid value: "a/": ${name}`,
      ],
    },
    {
      why: 'a parameter without a name',
      sent: { ...least, parameters: { '': 'x' } },
      errors: ['parameters: Invalid value: "": field can not be empty.'],
    },
    { why: 'as many parameters as there may be', sent: { ...least, parameters: many(512) }, errors: [] },
    {
      why: 'too many parameters',
      sent: { ...least, parameters: many(513) },
      errors: ['parameters: Too long: may not be more than 512 bytes'],
    },
    {
      why: 'parameters that are too long',
      sent: { ...least, parameters: many(1, 256 * 1024) },
      errors: ['parameters: Too long: may not be more than 262144 bytes'],
    },
    {
      why: 'volumes that are recycled',
      sent: { ...least, reclaimPolicy: 'Recycle' },
      errors: ['reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"'],
    },
    {
      why: 'an unknown binding',
      sent: { ...least, volumeBindingMode: 'x' },
      errors: ['volumeBindingMode: Unsupported value: "x": supported values: "Immediate", "WaitForFirstConsumer"'],
    },
    { why: 'two terms that differ', sent: topologies([zone], [{ key: 'zone', values: ['c'] }]), errors: [] },
    {
      why: 'two terms that say the same',
      sent: topologies([zone], [{ key: 'zone', values: ['b', 'a'] }]),
      errors: ['allowedTopologies[1].matchLabelExpressions: Duplicate value: ""'],
    },
    {
      why: 'an empty term',
      sent: topologies([]),
      errors: ['allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'],
    },
    {
      why: 'a label twice',
      sent: topologies([zone, { key: 'zone', values: ['c'] }]),
      errors: ['allowedTopologies[0].matchLabelExpressions[1].key: Duplicate value: "zone"'],
    },
    {
      why: 'a label without values',
      sent: topologies([{ key: 'zone', values: [] }]),
      errors: ['allowedTopologies[0].matchLabelExpressions[0].values: Required value'],
    },
    {
      why: 'a value twice',
      sent: topologies([{ key: 'zone', values: ['a', 'a'] }]),
      errors: ['allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"'],
    },
    {
      why: 'no label',
      sent: topologies([{ key: '', values: ['a'] }]),
      errors: [
        'allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "": name part must be non-empty',
        `allowedTopologies[0].matchLabelExpressions[0].key: Invalid value: "": ${name}`,
      ],
    },
  ]);
  const old = { ...least, parameters: { a: 'b' }, reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' };
  changes(kind, [
    {
      why: 'what may change',
      old,
      sent: { ...old, mountOptions: ['ro'], allowVolumeExpansion: true, allowedTopologies: terms([zone]) },
      errors: [],
    },
    {
      why: 'the provisioner',
      old,
      sent: { ...old, provisioner: 'q' },
      errors: ['provisioner: Forbidden: updates to provisioner are forbidden.'],
    },
    {
      why: 'parameters',
      old,
      sent: { ...old, parameters: {} },
      errors: ['parameters: Forbidden: updates to parameters are forbidden.'],
    },
    {
      why: 'the policy',
      old,
      sent: { ...old, reclaimPolicy: 'Retain' },
      errors: ['reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.'],
    },
    {
      why: 'the binding',
      old,
      sent: { ...old, volumeBindingMode: 'WaitForFirstConsumer' },
      errors: ['volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable'],
    },
  ]);
  test('columns', () => {
    const shown = {
      Name: 'one',
      Provisioner: 'example.com/p',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'Immediate',
      AllowVolumeExpansion: false,
      Age: '<unknown>',
    };
    assert.deepEqual(row(kind, least), shown);
    for (const [annotation, value, marked] of [
      ['storageclass.orch.io/is-default-class', 'true', true],
      ['storageclass.beta.orch.io/is-default-class', 'true', true],
      ['storageclass.orch.io/is-default-class', 'yes', false],
    ] as const) {
      assert.equal(
        row(kind, { ...least, metadata: { annotations: { [annotation]: value } } })['Name'],
        marked ? 'one (default)' : 'one',
      );
    }
  });
  test('deprecated labels get a warning', () => {
    const published = storageClass(kubernetes);
    const sent = {
      ...least,
      allowedTopologies: terms([{ key: 'failure-domain.beta.kubernetes.io/zone', values: ['a'] }]),
    };
    assert.deepEqual(published.strategy.warnings?.(read(published, sent), undefined), [
      'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    ]);
  });
});

describe('CSIDriver', () => {
  const kind = csiDriver(orch);
  const spec = (fields: Sent): Sent => ({
    spec: { attachRequired: true, volumeLifecycleModes: ['Persistent'], ...fields },
  });
  const requests = (...tokenRequests: readonly unknown[]): Sent => spec({ tokenRequests });
  cases(kind, [
    { why: 'nothing', sent: { spec: {} }, errors: [] },
    { why: 'both modes', sent: spec({ volumeLifecycleModes: ['Ephemeral', 'Persistent'] }), errors: [] },
    {
      why: 'an unknown mode',
      sent: spec({ volumeLifecycleModes: ['x'] }),
      errors: ['spec.volumeLifecycleModes: Unsupported value: "x": supported values: "Persistent", "Ephemeral"'],
    },
    {
      why: 'an unknown policy',
      sent: spec({ fsGroupPolicy: 'x' }),
      errors: [
        'spec.fsGroupPolicy: Unsupported value: "x": supported values: "File", "None", "ReadWriteOnceWithFSType"',
      ],
    },
    {
      why: 'tokens',
      sent: requests(
        { audience: '' },
        { audience: 'a', expirationSeconds: 600 },
        { audience: 'b', expirationSeconds: 2 ** 32 },
      ),
      errors: [],
    },
    {
      why: 'two tokens for one audience',
      sent: requests({ audience: 'a' }, { audience: 'a', expirationSeconds: 1 }),
      errors: ['spec.tokenRequests[1].audience: Duplicate value: "a"'],
    },
    {
      why: 'a token for no time',
      sent: requests({ expirationSeconds: 599 }),
      errors: [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
      ],
    },
    {
      why: 'a token for ever',
      sent: requests({ expirationSeconds: 2 ** 32 + 1 }),
      errors: [
        'spec.tokenRequests[0].expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
      ],
    },
  ]);
  const old = spec({});
  changes(kind, [
    {
      why: 'what may change',
      old,
      sent: spec({
        podInfoOnMount: true,
        storageCapacity: true,
        fsGroupPolicy: 'File',
        tokenRequests: [{ audience: 'a' }],
        requiresRepublish: true,
        seLinuxMount: true,
      }),
      errors: [],
    },
    {
      why: 'whether volumes are attached',
      old,
      sent: spec({ attachRequired: false }),
      errors: ['spec.attachedRequired: Invalid value: false: field is immutable'],
    },
    {
      why: 'modes',
      old,
      sent: spec({ volumeLifecycleModes: ['Ephemeral'] }),
      errors: [
        'spec.volumeLifecycleModes: Invalid value: []storage.VolumeLifecycleMode{"Ephemeral"}: field is immutable',
      ],
    },
  ]);
  for (const [fields, generation] of [
    [{ podInfoOnMount: true, storageCapacity: true, fsGroupPolicy: 'File' }, 1],
    [{}, undefined],
    [{ tokenRequests: [{ audience: 'a' }] }, 1],
    [{ requiresRepublish: true }, 1],
    [{ seLinuxMount: true }, 1],
  ] as const) {
    test(`the generation is ${generation} after ${Object.keys(fields)}`, () =>
      assert.equal(update(kind, old, spec(fields)).object.metadata.generation, generation));
  }
  test('columns', () => {
    const shown = {
      Name: 'one',
      AttachRequired: true,
      PodInfoOnMount: false,
      StorageCapacity: false,
      TokenRequests: '<unset>',
      RequiresRepublish: false,
      Modes: '<none>',
      Age: '<unknown>',
    };
    assert.deepEqual(row(kind, { spec: {} }), shown);
    const sent = spec({
      attachRequired: false,
      podInfoOnMount: true,
      storageCapacity: true,
      requiresRepublish: true,
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
    });
    assert.deepEqual(row(kind, sent), {
      ...shown,
      AttachRequired: false,
      PodInfoOnMount: true,
      StorageCapacity: true,
      TokenRequests: 'a,b',
      RequiresRepublish: true,
      Modes: 'Persistent,Ephemeral',
    });
  });
});

describe('CSINode', () => {
  const kind = csiNode(orch);
  const drivers = (...of: readonly unknown[]): Sent => ({ spec: { drivers: of } });
  const driver = { name: 'd.example.com', nodeID: 'n' };
  const at = 'spec.drivers[0]';
  cases(kind, [
    { why: 'no driver', sent: drivers(), errors: [] },
    {
      why: 'a driver',
      sent: drivers({ ...driver, name: 'D.example.com', topologyKeys: ['a/b', 'c'], allocatable: { count: 0 } }),
      errors: [],
    },
    {
      why: 'a driver without a name',
      sent: drivers({ nodeID: 'n' }),
      errors: [`${at}.name: Required value`, `${at}.name: Invalid value: "": ${subdomain}`],
    },
    {
      why: 'a long name',
      sent: drivers({ ...driver, name: 'a'.repeat(64) }),
      errors: [`${at}.name: Too long: may not be more than 63 bytes`],
    },
    {
      why: 'a name that is none',
      sent: drivers({ ...driver, name: 'a_b' }),
      errors: [`${at}.name: Invalid value: "a_b": ${subdomain}`],
    },
    {
      why: 'a driver twice',
      sent: drivers(driver, driver),
      errors: ['spec.drivers[1].name: Duplicate value: "d.example.com"'],
    },
    { why: 'no id of the node', sent: drivers({ name: 'd' }), errors: [`${at}.nodeID: Required value`] },
    { why: 'the longest id', sent: drivers({ name: 'd', nodeID: 'n'.repeat(256) }), errors: [] },
    {
      why: 'a long id',
      sent: drivers({ name: 'd', nodeID: 'n'.repeat(257) }),
      errors: [`${at}.nodeID: Invalid value: "${'n'.repeat(257)}": must be 256 characters or less`],
    },
    {
      why: 'fewer volumes than none',
      sent: drivers({ ...driver, allocatable: { count: -1 } }),
      errors: [`${at}.allocatable.count: Invalid value: -1: must be greater than or equal to 0`],
    },
    {
      why: 'a label twice',
      sent: drivers({ ...driver, topologyKeys: ['a', 'a'] }),
      errors: [`${at}: Duplicate value: "a"`],
    },
    {
      why: 'an empty label',
      sent: drivers({ ...driver, topologyKeys: [''] }),
      errors: [
        `${at}: Required value`,
        `${at}: Invalid value: "": name part must be non-empty`,
        `${at}: Invalid value: "": ${name}`,
      ],
    },
  ]);
  changes(kind, [
    { why: 'nothing', old: drivers(driver), sent: drivers(driver), errors: [] },
    { why: 'which drivers there are', old: drivers(driver), sent: drivers({ name: 'e', nodeID: 'n' }), errors: [] },
    {
      why: 'a driver',
      old: drivers(driver),
      sent: drivers({ ...driver, nodeID: 'o' }),
      errors: [
        'CSINodeDriver: Invalid value: storage.CSINodeDriver{Name:"d.example.com", NodeID:"o", TopologyKeys:[]string(nil), Allocatable:(*storage.VolumeNodeResources)(nil)}: field is immutable',
      ],
    },
  ]);
  test('columns', () => assert.deepEqual(row(kind, drivers(driver)), { Name: 'one', Drivers: 1, Age: '<unknown>' }));
});

describe('CSIStorageCapacity', () => {
  const kind = csiStorageCapacity(orch);
  const least = { storageClassName: 'sc' };
  cases(kind, [
    { why: 'the least', sent: least, errors: [] },
    {
      why: 'all',
      sent: { ...least, nodeTopology: { matchLabels: { zone: 'a' } }, capacity: '10Gi', maximumVolumeSize: '1Gi' },
      errors: [],
    },
    { why: 'no class', sent: {}, errors: [`storageClassName: Invalid value: "": ${subdomain}`] },
    {
      why: 'a class with no name of one',
      sent: { storageClassName: 'A' },
      errors: [`storageClassName: Invalid value: "A": ${subdomain}`],
    },
    {
      why: 'less than nothing',
      sent: { ...least, capacity: '-1' },
      errors: ['capacity: Invalid value: "-1": must be greater than or equal to 0'],
    },
    {
      why: 'an unknown operator',
      sent: { ...least, nodeTopology: { matchExpressions: [{ key: 'a', operator: 'x' }] } },
      errors: ['nodeTopology.matchExpressions[0].operator: Invalid value: "x": not a valid selector operator'],
    },
  ]);
  changes(kind, [
    { why: 'how much there is', old: least, sent: { ...least, capacity: '1', maximumVolumeSize: '1' }, errors: [] },
    {
      why: 'the class',
      old: least,
      sent: { storageClassName: 'other' },
      errors: ['storageClassName: Invalid value: "other": field is immutable'],
    },
    {
      why: 'the nodes',
      old: least,
      sent: { ...least, nodeTopology: {} },
      errors: [
        'nodeTopology: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
      ],
    },
  ]);
  test('deprecated labels get a warning', () => {
    const published = csiStorageCapacity(kubernetes);
    const sent = {
      ...least,
      nodeTopology: {
        matchLabels: { 'beta.kubernetes.io/os': 'a' },
        matchExpressions: [{ key: 'beta.kubernetes.io/arch', operator: 'Exists' }],
      },
    };
    assert.deepEqual(published.strategy.warnings?.(read(published, sent), undefined), [
      'nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead',
      'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
    ]);
  });
  test('columns', () => {
    assert.deepEqual(Object.keys(row(kind, least)), ['Name', 'Created At']);
  });
});

describe('VolumeAttributesClass', () => {
  const [kind] = volumeAttributesClass(orch);
  assert.ok(kind);
  const least = { driverName: 'd.example.com', parameters: { a: 'b' } };
  cases(kind, [
    { why: 'the least', sent: least, errors: [] },
    { why: 'no driver', sent: { parameters: { a: 'b' } }, errors: ['driverName: Required value'] },
    {
      why: 'no parameters',
      sent: { driverName: 'd' },
      errors: ['parameters: Required value: must contain at least one key/value pair'],
    },
    {
      why: 'too many parameters',
      sent: { driverName: 'd', parameters: many(513) },
      errors: ['parameters: Too long: may not be more than 512 bytes'],
    },
  ]);
  changes(kind, [
    { why: 'nothing', old: least, sent: least, errors: [] },
    {
      why: 'the driver',
      old: least,
      sent: { ...least, driverName: 'e' },
      errors: ['driverName: Forbidden: updates to driverName are forbidden.'],
    },
    {
      why: 'parameters',
      old: least,
      sent: { ...least, parameters: { a: 'c' } },
      errors: ['parameters: Forbidden: updates to parameters are forbidden.'],
    },
  ]);
  test('columns', () =>
    assert.deepEqual(row(kind, least), { Name: 'one', DriverName: 'd.example.com', Age: '<unknown>' }));
});
