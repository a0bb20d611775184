import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { volumeAttachment } from './volume-attachment.ts';

const kind = volumeAttachment(orch);
const least = { attacher: 'a.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } };
const spec = (fields: Sent = {}): Sent => ({ spec: { ...least, ...fields } });
const csi = { driver: 'd.example.com', volumeHandle: 'h' };
const own = (fields: Sent): Sent =>
  spec({ source: { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi, ...fields } } });
const at = 'spec.source.inlineVolumeSpec';
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
const outside = 'may not be specified in the context of inline volumes';

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'the least', sent: spec(), errors: [] },
  {
    why: 'a volume of a pod',
    sent: own({ persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }),
    errors: [],
  },
  {
    why: 'nobody who attaches',
    sent: spec({ attacher: '' }),
    errors: [
      'spec.attacher: Required value',
      'spec.attacher: Required value',
      `spec.attacher: Invalid value: "": ${subdomain}`,
    ],
  },
  {
    why: 'somebody with a long name',
    sent: spec({ attacher: 'a'.repeat(64) }),
    errors: ['spec.attacher: Too long: may not be more than 63 bytes'],
  },
  { why: 'no node', sent: spec({ nodeName: '' }), errors: [`spec.nodeName: Invalid value: "": ${subdomain}`] },
  { why: 'no volume', sent: spec({ source: {} }), errors: [`spec.source: Required value: ${one}`] },
  {
    why: 'two volumes',
    sent: spec({ source: { persistentVolumeName: 'pv', inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], csi } } }),
    errors: [`spec.source: Forbidden: ${one}`],
  },
  {
    why: 'a volume without a name',
    sent: spec({ source: { persistentVolumeName: '' } }),
    errors: [
      'spec.source.persistentVolumeName: Required value: must specify non empty persistentVolumeName',
      `spec.source.persistentVolumeName: Invalid value: "": ${subdomain}`,
    ],
  },
  {
    why: 'a volume with no name of one',
    sent: spec({ source: { persistentVolumeName: 'A' } }),
    errors: [`spec.source.persistentVolumeName: Invalid value: "A": ${subdomain}`],
  },
  {
    why: 'what a volume of a pod has not',
    sent: own({
      claimRef: { name: 'c' },
      capacity: { storage: '1' },
      nodeAffinity: {},
      storageClassName: 'sc',
      persistentVolumeReclaimPolicy: 'Delete',
      volumeMode: 'Block',
    }),
    errors: [
      `${at}.claimRef: Forbidden: ${outside}`,
      `${at}.capacity: Forbidden: ${outside}`,
      `${at}.persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes`,
      `${at}.nodeAffinity: Forbidden: ${outside}`,
      `${at}.storageClassName: Forbidden: ${outside}`,
      `${at}.volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes`,
    ],
  },
  { why: 'no access', sent: own({ accessModes: [] }), errors: [`${at}.accessModes: Required value`] },
  {
    why: 'an unknown access',
    sent: own({ accessModes: ['x'] }),
    errors: [
      `${at}.accessModes: Unsupported value: "x": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"`,
    ],
  },
  {
    why: 'access of one pod and others',
    sent: own({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }),
    errors: [`${at}.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes`],
  },
  {
    why: 'no volume',
    sent: own({ csi: null }),
    errors: [
      `${at}.csi: Required value: has to be specified in the context of inline volumes`,
      `${at}: Required value: must specify a volume type`,
    ],
  },
  {
    why: 'a volume of another kind',
    sent: own({ csi: null, nfs: { server: 's', path: '/p' } }),
    errors: [`${at}.csi: Required value: has to be specified in the context of inline volumes`],
  },
  {
    why: 'a volume of two kinds',
    sent: own({ nfs: { server: 's', path: '/p' } }),
    errors: [`${at}.csi: Forbidden: may not specify more than 1 volume type`],
  },
  {
    why: 'a driver without a handle',
    sent: own({ csi: { driver: 'd' } }),
    errors: [`${at}.csi.volumeHandle: Required value`],
  },
  {
    why: 'a driver with no name of one',
    sent: own({ csi: { ...csi, driver: 'a_b' } }),
    errors: [`${at}.csi.driver: Invalid value: "a_b": ${subdomain}`],
  },
  ...['controllerPublishSecretRef', 'controllerExpandSecretRef', 'nodePublishSecretRef', 'nodeExpandSecretRef'].map(
    (name) => ({
      why: `${name} without a name`,
      sent: own({ csi: { ...csi, [name]: {} } }),
      errors: [`${at}.csi.${name}.name: Required value`, `${at}.csi.${name}.namespace: Required value`],
    }),
  ),
];

for (const { why, sent, errors } of rows) {
  test(`VolumeAttachment: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

test('VolumeAttachment: the spec cannot change', () => {
  assert.deepEqual(update(kind, spec(), spec()).errors, []);
  const changed = { ...least, nodeName: 'o' };
  assert.deepEqual(update(kind, spec(), { spec: changed }).errors, [
    'spec: Invalid value: storage.VolumeAttachmentSpec{Attacher:"a.example.com", Source:storage.VolumeAttachmentSource{PersistentVolumeName:(*string)(0xc000000000), InlineVolumeSpec:(*core.PersistentVolumeSpec)(nil)}, NodeName:"o"}: field is immutable',
  ]);
});

const states: readonly { readonly why: string; readonly status: Sent; readonly errors: readonly string[] }[] = [
  { why: 'attached', status: { attached: true, attachmentMetadata: { a: 'b' } }, errors: [] },
  { why: 'the longest message', status: { attachError: { message: 'x'.repeat(1024) } }, errors: [] },
  {
    why: 'long messages',
    status: { attachError: { message: 'x'.repeat(1025) }, detachError: { message: 'x'.repeat(1025) } },
    errors: [
      'status.attachError.message: Too long: may not be more than 262144 bytes',
      'status.detachError.message: Too long: may not be more than 262144 bytes',
    ],
  },
  {
    why: 'long metadata',
    status: { attachmentMetadata: { a: 'x'.repeat(256 * 1024) } },
    errors: ['status.attachmentMetadata: Too long: may not be more than 262144 bytes'],
  },
];

for (const { why, status, errors } of states) {
  test(`VolumeAttachment: status: ${why}`, () =>
    assert.deepEqual(update(kind, spec(), { ...spec(), status }, 'status').errors, errors));
}

test('VolumeAttachment: columns', () => {
  const shown = { Name: 'one', Attacher: 'a.example.com', PV: 'pv', Node: 'n', Attached: false, Age: '<unknown>' };
  assert.deepEqual(row(kind, spec()), shown);
  assert.deepEqual(row(kind, { ...own({}), status: { attached: true } }), { ...shown, PV: '', Attached: true });
});
