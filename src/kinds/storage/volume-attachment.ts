import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, required, tooLong } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { goText } from '../../schema/go-text.ts';
import { always, bool, type Infer, map, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn } from '../columns.ts';
import { validateDriverName } from '../core/driver-name.ts';
import { persistentVolumeSpec } from '../core/persistent-volume/persistent-volume-spec.ts';
import { validateInlineSpec } from '../core/persistent-volume/spec-validation.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const volumeAttachmentSource = struct('api.storage.v1.VolumeAttachmentSource', 'The volume; exactly one is set.', {
  persistentVolumeName: ptr(1, string(), 'Name of a persistent volume.'),
  inlineVolumeSpec: ptr(2, persistentVolumeSpec, "A pod's own volume.", { keepsGatedFields: true }),
});

const volumeAttachmentSpec = struct('api.storage.v1.VolumeAttachmentSpec', 'Which volume is to be attached, where, and by whom.', {
  attacher: always(1, string(), 'Name of the driver that attaches the volume.'),
  source: always(2, volumeAttachmentSource, 'The volume.', { documented: 'required' }),
  nodeName: always(3, string(), 'Node that the volume is attached to.'),
});

const volumeError = struct('api.storage.v1.VolumeError', 'What went wrong with a volume.', {
  time: always(1, time(), 'When it went wrong.', { documented: 'optional' }),
  message: opt(2, string(), 'What went wrong; it may be logged.'),
});

const volumeAttachmentStatus = struct('api.storage.v1.VolumeAttachmentStatus', 'Whether the volume is attached.', {
  attached: always(1, bool(), 'True once the volume is attached.'),
  attachmentMetadata: opt(2, map(string()), 'What those who mount the volume have to know.'),
  attachError: ptr(3, volumeError, 'What went wrong last when it was attached.'),
  detachError: ptr(4, volumeError, 'What went wrong last when it was detached.'),
});

const schema = kindSchema('api.storage.v1.VolumeAttachment', 'Wants a volume to be attached to a node, and detached when it goes.', {
  spec: always(2, volumeAttachmentSpec, 'Which volume is to be attached, where, and by whom.', { documented: 'required' }),
  status: always(3, volumeAttachmentStatus, 'Whether the volume is attached.'),
});

type Spec = Infer<typeof volumeAttachmentSpec>;
type Status = Infer<typeof volumeAttachmentStatus>;

const specOf = (object: ApiObject): Spec => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};

const one = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

function validateSource({ source = {} }: Spec, path: string): FieldError[] {
  const { persistentVolumeName, inlineVolumeSpec } = source;
  if (persistentVolumeName === undefined) return inlineVolumeSpec ? validateInlineSpec(inlineVolumeSpec, `${path}.inlineVolumeSpec`) : [required(path, one)];
  if (inlineVolumeSpec) return [forbidden(path, one)];
  return persistentVolumeName === '' ? [required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName')] : [];
}

const validateSpec = (spec: Spec): FieldError[] => [
  ...(spec.attacher ? [] : [required('spec.attacher')]),
  ...validateSource(spec, 'spec.source'),
  ...failing(isDnsSubdomain, 'spec.nodeName', spec.nodeName ?? ''),
];

function validateCreate(object: ApiObject): FieldError[] {
  const spec = specOf(object);
  const { persistentVolumeName } = spec.source ?? {};
  return [
    ...validateSpec(spec),
    ...validateDriverName(spec.attacher ?? '', 'spec.attacher'),
    ...(persistentVolumeName === undefined ? [] : failing(isDnsSubdomain, 'spec.source.persistentVolumeName', persistentVolumeName)),
  ];
}

/** What is attached where never changes. */
function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const [spec, before] = [specOf(object), specOf(old)];
  return equalValues(spec, before) ? [] : [...validateSpec(spec), { ...invalid('spec', spec, 'field is immutable'), shown: goText(volumeAttachmentSpec, spec) }];
}

function validateStatus(object: ApiObject): FieldError[] {
  const { attachmentMetadata = {}, attachError, detachError } = statusOf(object);
  let size = 0;
  for (const [key, value] of Object.entries(attachmentMetadata)) size += Buffer.byteLength(key) + Buffer.byteLength(value);
  const errors = { attachError, detachError };
  return [
    ...(size > limits.attachmentMetadataBytesMax ? [tooLong('status.attachmentMetadata', limits.attachmentMetadataBytesMax)] : []),
    // The published text names the other limit.
    ...Object.entries(errors).flatMap(([name, error]) =>
      Buffer.byteLength(error?.message ?? '') > limits.volumeErrorBytesMax ? [tooLong(`status.${name}.message`, limits.attachmentMetadataBytesMax)] : [],
    ),
  ];
}

export const volumeAttachment = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('storage'),
    kind: 'VolumeAttachment',
    scope: 'Cluster',
    schema,
    columns: [
      nameColumn,
      column('Attacher', 'Name of the driver that attaches the volume.', '.spec.attacher', { format: 'name' }),
      column('PV', 'Name of the persistent volume.', '.spec.source.persistentVolumeName'),
      column('Node', 'Node that the volume is attached to.', '.spec.nodeName'),
      column('Attached', 'Whether the volume is attached.', '.status.attached', { type: 'boolean', absent: false }),
      ageColumn,
    ],
    strategy: { validateCreate, validateUpdate },
    subresources: [{ type: 'view', name: 'status', verbs: ['get', 'update', 'patch'], fields: ['status'], resetFields: [['spec'], ['metadata']], validateUpdate: validateStatus }],
    deleteReturnsObject: true,
    unconditionalUpdate: false,
  });
