import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../../dialect/orch.ts';
import { goQuantity } from '../../../meta/go-values.ts';
import { create, read, row, type Sent, update } from '../../strategy-fixture.ts';
import { persistentVolume } from './persistent-volume.ts';

const kind = persistentVolume(orch);
const csi = { driver: 'd.example.com', volumeHandle: 'h' };
const least = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] };
const spec = (fields: Sent = {}): Sent => ({ spec: { ...least, csi, ...fields } });
const of = (source: Sent, fields: Sent = {}): Sent => ({ spec: { ...least, ...source, ...fields } });
const affinity = {
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] },
};
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'the least', sent: spec(), errors: [] },
  {
    why: 'no capacity',
    sent: spec({ capacity: {} }),
    errors: [
      'spec.capacity: Required value',
      'spec.capacity: Unsupported value: core.ResourceList(nil): supported values: "storage"',
    ],
  },
  {
    why: 'another capacity',
    sent: spec({ capacity: { storage: '1', cpu: '1' } }),
    errors: [
      `spec.capacity: Unsupported value: core.ResourceList{"cpu":${goQuantity('1')}, "storage":${goQuantity('1')}}: supported values: "storage"`,
    ],
  },
  {
    why: 'nothing',
    sent: spec({ capacity: { storage: '0' } }),
    errors: ['spec.capacity[storage]: Invalid value: "0": must be greater than zero'],
  },
  { why: 'no access', sent: spec({ accessModes: [] }), errors: ['spec.accessModes: Required value'] },
  {
    why: 'an unknown policy',
    sent: spec({ persistentVolumeReclaimPolicy: 'x' }),
    errors: [
      'spec.persistentVolumeReclaimPolicy: Unsupported value: "x": supported values: "Delete", "Recycle", "Retain"',
    ],
  },
  {
    why: 'an unknown mode',
    sent: spec({ volumeMode: 'x' }),
    errors: ['spec.volumeMode: Unsupported value: "x": supported values: "Block", "Filesystem"'],
  },
  {
    why: 'a class with no name of one',
    sent: spec({ storageClassName: 'A' }),
    errors: [`spec.storageClassName: Invalid value: "A": ${subdomain}`],
  },
  { why: 'no source', sent: of({}), errors: ['spec: Required value: must specify a volume type'] },
  {
    why: 'two sources',
    sent: spec({ hostPath: { path: '/a' } }),
    errors: ['spec.csi: Forbidden: may not specify more than 1 volume type'],
  },
  {
    why: 'a second source, which is not looked at',
    sent: of({ hostPath: { path: '/a' }, rbd: {}, nfs: {} }),
    errors: [
      'spec.nfs: Forbidden: may not specify more than 1 volume type',
      'spec.rbd: Forbidden: may not specify more than 1 volume type',
    ],
  },
  {
    why: 'less than nothing',
    sent: spec({ capacity: { storage: '-1' } }),
    errors: [
      'spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
      'spec.capacity[storage]: Invalid value: "-1": must be greater than zero',
    ],
  },
  {
    why: 'nodes by a value that no label has',
    sent: spec({
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b c'] }] }] },
      },
    }),
    errors: [],
  },
  {
    why: 'a disk without name, told by the former path',
    sent: of({ gcePersistentDisk: { partition: 256 } }),
    errors: [
      'spec.persistentDisk.pdName: Required value',
      'spec.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive',
    ],
  },
  {
    why: 'a secret by half',
    sent: of({ csi: { driver: 'd', controllerPublishSecretRef: { name: 'A' } } }),
    errors: [
      'spec.csi.volumeHandle: Required value',
      `spec.csi.controllerPublishSecretRef.name: Invalid value: "A": ${subdomain}`,
      'spec.csi.controllerPublishSecretRef.namespace: Required value',
    ],
  },
  {
    why: 'endpoints in a bad namespace',
    sent: of({ glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: 'a.b' } }),
    errors: ['spec.glusterfs.endpointsNamespace: Invalid value: "a.b": must not contain dots'],
  },
  {
    why: 'the whole node, recycled',
    sent: of({ hostPath: { path: '/./' } }, { persistentVolumeReclaimPolicy: 'Recycle' }),
    errors: ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
  },
  {
    why: 'a path of the node that goes up',
    sent: of({ hostPath: { path: '/a/../b' } }),
    errors: ['spec.hostPath.path: Invalid value: "/a/../b": must not contain \'..\''],
  },
  { why: 'a local volume', sent: of({ local: { path: '/a' } }, { nodeAffinity: affinity }), errors: [] },
  {
    why: 'a local volume anywhere',
    sent: of({ local: { path: '/a' } }),
    errors: ['spec.nodeAffinity: Required value: Local volume requires node affinity'],
  },
  {
    why: 'affinity to nothing',
    sent: spec({ nodeAffinity: {} }),
    errors: ['spec.nodeAffinity.required: Required value: must specify required node constraints'],
  },
  {
    why: 'an export without a path',
    sent: of({ nfs: { server: 's', path: 'p' } }),
    errors: ['spec.nfs.path: Invalid value: "p": must be an absolute path'],
  },
  {
    why: 'two sources, of which one has another name in errors',
    sent: of({ nfs: { server: 's', path: '/' }, cephfs: { monitors: ['m'] } }),
    errors: ['spec.cephFS: Forbidden: may not specify more than 1 volume type'],
  },
  {
    why: 'a managed disk at another address',
    sent: of({ azureDisk: { kind: 'Managed', diskName: 'd', diskURI: 'x' } }),
    errors: [
      'spec.azureDisk.diskURI: Unsupported value: "x": supported values: "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"',
    ],
  },
  {
    why: 'a registry without ports',
    sent: of({ quobyte: { registry: 'a:1,[::1]:2,b', volume: 'v' } }),
    errors: [
      'spec.quobyte.registry: Invalid value: "a:1,[::1]:2,b": must be a host:port pair or multiple pairs separated by commas',
    ],
  },
  {
    why: 'a target that is none',
    sent: of({ iscsi: { targetPortal: 'a', iqn: 'x', lun: 0, chapAuthSession: true } }),
    errors: ['spec.iscsi.secretRef: Required value', 'spec.iscsi.iqn: Invalid value: "x": must be valid format'],
  },
  {
    why: 'a secret without a name',
    sent: of({ cinder: { volumeID: 'v', secretRef: {} } }),
    errors: ['spec.cinder.secretRef.name: Required value', 'spec.cinder.secretRef.namespace: Required value'],
  },
  {
    why: 'a share with an empty namespace',
    sent: of({ azureFile: { secretName: 's', shareName: 't', secretNamespace: '' } }),
    errors: ['spec.azureFile.secretNamespace: Required value'],
  },
  {
    why: 'endpoints in an empty namespace',
    sent: of({ glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: '' } }),
    errors: [
      'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
    ],
  },
];

for (const { why, sent, errors } of rows) {
  test(`PersistentVolume: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

const secret = { name: 's', namespace: 'n' };
const changes: readonly {
  readonly why: string;
  readonly old: Sent;
  readonly sent: Sent;
  readonly errors: readonly string[];
}[] = [
  {
    why: 'what may change',
    old: spec(),
    sent: spec({
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteMany'],
      claimRef: { name: 'c' },
      mountOptions: ['ro'],
      nodeAffinity: affinity,
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'sc',
    }),
    errors: [],
  },
  {
    why: 'the source',
    old: spec(),
    sent: spec({ csi: { ...csi, volumeHandle: 'i' } }),
    errors: ['spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation'],
  },
  {
    why: 'the secret for more, from none',
    old: spec(),
    sent: spec({ csi: { ...csi, controllerExpandSecretRef: secret } }),
    errors: [],
  },
  {
    why: 'the secret for more',
    old: spec({ csi: { ...csi, controllerExpandSecretRef: secret } }),
    sent: spec({ csi: { ...csi, controllerExpandSecretRef: { ...secret, name: 't' } } }),
    errors: ['spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation'],
  },
  {
    why: 'the mode',
    old: spec(),
    sent: spec({ volumeMode: 'Block' }),
    errors: ['volumeMode: Invalid value: "Block": field is immutable'],
  },
  {
    why: 'which nodes can use it',
    old: spec({ nodeAffinity: affinity }),
    sent: spec(),
    errors: ['nodeAffinity: Invalid value: "null": field is immutable'],
  },
];

for (const { why, old, sent, errors } of changes) {
  test(`PersistentVolume: an update changes ${why}`, () => assert.deepEqual(update(kind, old, sent).errors, errors));
}

test('PersistentVolume: defaults, and the first phase', () => {
  const { object } = create(kind, { ...spec(), status: { phase: 'Bound' } });
  assert.deepEqual(object['spec'], {
    ...least,
    csi,
    persistentVolumeReclaimPolicy: 'Retain',
    volumeMode: 'Filesystem',
  });
  assert.deepEqual(object['status'], { phase: 'Pending', lastPhaseTransitionTime: '2026-01-10T00:00:00Z' });
});

test('PersistentVolume: a change of the phase has a time, its own where one is sent', () => {
  const before = '2026-01-01T00:00:00Z';
  const old = { ...create(kind, spec()).object, status: { phase: 'Pending', lastPhaseTransitionTime: before } };
  const status = (sent: Sent): unknown =>
    update(kind, old, { ...spec({ capacity: { storage: '9' } }), status: sent }, 'status').object['status'];
  assert.deepEqual(status({ phase: 'Pending', message: 'm' }), {
    phase: 'Pending',
    message: 'm',
    lastPhaseTransitionTime: before,
  });
  assert.deepEqual(status({ phase: 'Available' }), {
    phase: 'Available',
    lastPhaseTransitionTime: '2026-01-10T00:00:00Z',
  });
  const own = '2026-01-05T00:00:00Z';
  assert.deepEqual(status({ phase: 'Available', lastPhaseTransitionTime: own }), {
    phase: 'Available',
    lastPhaseTransitionTime: own,
  });
});

test('PersistentVolume: warnings', () => {
  const sent = {
    metadata: { annotations: { 'volume.beta.orch.io/storage-class': 'x' } },
    ...spec({
      persistentVolumeReclaimPolicy: 'Recycle',
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'beta.orch.io/os', operator: 'Exists' }] }] },
      },
    }),
  };
  assert.deepEqual(kind.strategy.warnings?.(read(kind, sent), undefined), [
    'metadata.annotations[volume.beta.orch.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead',
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.orch.io/os is deprecated since v1.14; use "orch.io/os" instead',
  ]);
});

const mountOptions = { annotations: { 'volume.beta.orch.io/mount-options': 'ro' } };
const notMounted =
  'metadata.annotations.volume.beta.orch.io/mount-options: Forbidden: may not specify mount options for this volume type';

test('PersistentVolume: mount options by annotation', () => {
  const { csi, ...others } = spec({}).spec as Record<string, unknown>;
  const errorsOf = (source: object) => create(kind, { metadata: mountOptions, spec: { ...others, ...source } }).errors;
  assert.deepEqual(errorsOf({ nfs: { path: '/a', server: 's' } }), []);
  assert.deepEqual(errorsOf({ hostPath: { path: '/a' } }), [notMounted]);
  assert.deepEqual(errorsOf({ csi, storageClassName: '!' }).at(-1), notMounted, 'after the spec');
  assert.deepEqual(create(kind, spec({ csi, mountOptions: ['ro'] })).errors, []);
  const stored = create(kind, spec({ csi })).object;
  assert.deepEqual(update(kind, stored, { ...spec({ csi }), metadata: mountOptions }).errors, [notMounted]);
});

test('PersistentVolume: warnings of what is on its way out', () => {
  const { csi: _, ...others } = spec({}).spec as Record<string, unknown>;
  const annotations = { 'volume.beta.orch.io/mount-options': 'ro' };
  const sent = {
    metadata: { annotations },
    spec: { ...others, storageos: { volumeName: 'v' }, rbd: { monitors: ['m'], image: 'i' } },
  };
  assert.deepEqual(kind.strategy.warnings?.(read(kind, sent), undefined), [
    'metadata.annotations[volume.beta.orch.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
    'spec.storageOS: deprecated in v1.22, non-functional in v1.25+',
    'spec.rbd: deprecated in v1.28, non-functional in v1.31+',
  ]);
});

test('PersistentVolume: columns', () => {
  const sent = {
    ...spec({
      accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
      claimRef: { namespace: 'n', name: 'c' },
      storageClassName: 'sc',
      persistentVolumeReclaimPolicy: 'Retain',
      volumeMode: 'Block',
    }),
    status: { phase: 'Failed', reason: 'R' },
  };
  const shown = {
    Name: 'one',
    Capacity: '1Gi',
    'Access Modes': 'RWO,RWX',
    'Reclaim Policy': 'Retain',
    Status: 'Failed',
    Claim: 'n/c',
    StorageClass: 'sc',
    VolumeAttributesClass: '<unset>',
    Reason: 'R',
    Age: '<unknown>',
    '*VolumeMode': 'Block',
  };
  assert.deepEqual(row(kind, sent), shown);
  assert.equal(
    row(kind, { ...sent, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })['Status'],
    'Terminating',
  );
});
