import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { persistentVolumeClaim } from './persistent-volume-claim.ts';

const kind = persistentVolumeClaim(orch);
const size = (storage: string): Sent => ({ resources: { requests: { storage } } });
const least = { accessModes: ['ReadWriteOnce'], ...size('2Gi') };
const spec = (fields: Sent = {}): Sent => ({ spec: { ...least, ...fields } });
const source = { kind: 'PersistentVolumeClaim', name: 'c' };
const frozen =
  'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'the least', sent: spec(), errors: [] },
  {
    why: 'no access',
    sent: spec({ accessModes: [] }),
    errors: ['spec.accessModes: Required value: at least 1 access mode is required'],
  },
  {
    why: 'an unknown access',
    sent: spec({ accessModes: ['x'] }),
    errors: [
      'spec.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    ],
  },
  {
    why: 'access of one pod and others',
    sent: spec({ accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] }),
    errors: ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
  },
  { why: 'no size', sent: spec({ resources: {} }), errors: ['spec.resources[storage]: Required value'] },
  {
    why: 'nothing',
    sent: spec(size('0')),
    errors: ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  },
  {
    why: 'an unknown mode',
    sent: spec({ volumeMode: 'x' }),
    errors: ['spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"'],
  },
  {
    why: 'a source that is none',
    sent: spec({ dataSourceRef: { kind: 'x', name: '' } }),
    errors: ['spec.dataSource', 'spec.dataSourceRef'].flatMap((at) => [
      `${at}.name: Required value`,
      `${at}: Invalid value: "x": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
    ]),
  },
  {
    why: 'a former source that is none, which is left out',
    sent: spec({ dataSource: { kind: 'x', name: '' } }),
    errors: [],
  },
  {
    why: 'two sources',
    sent: spec({ dataSource: source, dataSourceRef: { ...source, name: 'd' } }),
    errors: ['spec: Invalid value: "spec.dataSource": must match dataSourceRef'],
  },
  {
    why: 'a source elsewhere, too',
    sent: spec({ dataSource: source, dataSourceRef: { ...source, namespace: 'n' } }),
    errors: [],
  },
];

for (const { why, sent, errors } of rows) {
  test(`PersistentVolumeClaim: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

test('PersistentVolumeClaim: a source in a namespace without a name is one of its own', () => {
  const { object, errors } = create(kind, spec({ dataSourceRef: { ...source, namespace: '' } }));
  assert.deepEqual(errors, []);
  assert.deepEqual((object['spec'] as Sent)['dataSource'], source);
});

const foreign = { ...source, namespace: 'n' };
const foreignSources: readonly (readonly [what: string, old: Sent | undefined, kept: boolean])[] = [
  ['a new claim', undefined, false],
  ['a claim without a source', spec(), false],
  ['a claim with a source', spec({ dataSourceRef: source }), true],
];

for (const [what, old, kept] of foreignSources) {
  test(`a source in another namespace is ${kept ? 'kept' : 'dropped'} in ${what} while the feature is off`, () => {
    const sent = spec({ dataSourceRef: foreign });
    const { object } = old ? update(kind, old, sent) : create(kind, sent);
    assert.deepEqual((object['spec'] as Sent)['dataSourceRef'], kept ? foreign : undefined);
  });
}

const bound = { phase: 'Bound', capacity: { storage: '1Gi' } };
const changes: readonly {
  readonly why: string;
  readonly old: Sent;
  readonly status?: Sent;
  readonly sent: Sent;
  readonly errors: readonly string[];
}[] = [
  {
    why: 'a volume and a class that were open',
    old: spec(),
    sent: spec({ volumeName: 'v', storageClassName: 'sc' }),
    errors: [],
  },
  { why: 'the volume', old: spec({ volumeName: 'v' }), sent: spec({ volumeName: 'w' }), errors: [frozen] },
  { why: 'the class', old: spec({ storageClassName: 'a' }), sent: spec({ storageClassName: 'b' }), errors: [frozen] },
  { why: 'the access', old: spec(), sent: spec({ accessModes: ['ReadWriteMany'] }), errors: [frozen] },
  { why: 'the size without a volume', old: spec(), sent: spec(size('3Gi')), errors: [frozen] },
  { why: 'the size to more', old: spec(), status: bound, sent: spec(size('3Gi')), errors: [] },
  {
    why: 'the size to less, but more than there is',
    old: spec(),
    status: bound,
    sent: spec(size('1500Mi')),
    errors: [],
  },
  {
    why: 'the size to what there is',
    old: spec(),
    status: bound,
    sent: spec(size('1Gi')),
    errors: ['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity'],
  },
  {
    why: 'the mode',
    old: spec({ volumeMode: 'Filesystem' }),
    sent: spec({ volumeMode: 'Block' }),
    errors: [frozen, 'volumeMode: Invalid value: "Block": field is immutable'],
  },
];

for (const { why, old, status, sent, errors } of changes) {
  test(`PersistentVolumeClaim: an update changes ${why}`, () => {
    const stored = create(kind, old).object;
    if (status) stored['status'] = status;
    assert.deepEqual(update(kind, stored, sent).errors, errors);
  });
}

test('PersistentVolumeClaim: a new one is pending, and its source stands in both fields', () => {
  assert.deepEqual(create(kind, { ...spec(), status: bound }).object['status'], { phase: 'Pending' });
  for (const field of ['dataSource', 'dataSourceRef']) {
    assert.deepEqual(create(kind, spec({ [field]: source })).object['spec'], {
      ...least,
      dataSource: source,
      dataSourceRef: source,
    });
  }
});

const growing: readonly (readonly [status: Sent, errors: readonly string[]])[] = [
  // As in kube-apiserver, only what is asked for is checked.
  [{ accessModes: ['', 'x'], phase: 'x' }, []],
  [{ allocatedResourceStatuses: { storage: 'NodeResizePending', 'example.com/x': 'NodeResizeInProgress' } }, []],
  [
    { allocatedResourceStatuses: { cpu: 'x' } },
    [
      'status.allocatedResourceStatus: Unsupported value: "cpu": supported values: "storage"',
      'status.allocatedResourceStatus: Unsupported value: cpu: supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
    ],
  ],
  [
    { allocatedResources: { cpu: '1' } },
    ['status.allocatedResources: Unsupported value: "cpu": supported values: "storage"'],
  ],
  [
    { allocatedResources: { storage: '-1500m' }, capacity: { storage: '-2' } },
    [
      'status.capacity[storage]: Invalid value: -2: must be a valid resource quantity',
      'status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity',
    ],
  ],
];

for (const [status, errors] of growing) {
  test(`PersistentVolumeClaim: status ${JSON.stringify(status)}`, () =>
    assert.deepEqual(update(kind, spec(), { ...spec(), status }, 'status').errors, errors));
}

test('PersistentVolumeClaim: columns', () => {
  const shown = {
    Name: 'one',
    Status: 'Bound',
    Volume: '',
    Capacity: '',
    'Access Modes': '',
    StorageClass: 'sc',
    VolumeAttributesClass: '<unset>',
    Age: '<unknown>',
    '*VolumeMode': '<unset>',
  };
  const status = { ...bound, accessModes: ['ReadWriteOnce'] };
  assert.deepEqual(row(kind, { ...spec({ storageClassName: 'sc' }), status }), shown);
  assert.deepEqual(row(kind, { ...spec({ storageClassName: 'sc', volumeName: 'v' }), status }), {
    ...shown,
    Volume: 'v',
    Capacity: '1Gi',
    'Access Modes': 'RWO',
  });
});

test('PersistentVolumeClaim: warnings', () => {
  const resources = { requests: { storage: '1500m', other: '1500m' }, limits: { storage: '0.5' } };
  const sent = { metadata: { annotations: { 'volume.beta.orch.io/storage-class': 'x' } }, ...spec({ resources }) };
  const old = read(kind, sent);
  assert.deepEqual(kind.strategy.warnings?.(old, old), [
    'metadata.annotations[volume.beta.orch.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
    'spec.resources.limits[storage]: fractional byte value "500m" is invalid, must be an integer',
  ]);
});
