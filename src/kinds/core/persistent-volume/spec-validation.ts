import {
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  toldAfter,
} from '../../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain } from '../../../meta/formats.ts';
import { parseQuantity } from '../../../meta/quantity.ts';
import { goText } from '../../../schema/go-text.ts';
import { map, quantity } from '../../../schema/schema.ts';
import { validateAccessModes } from '../access-modes.ts';
import { validateDriverName } from '../driver-name.ts';
import { validateNodeSelector } from '../pod/validation/affinity-validation.ts';
import { failing, hasNoBacksteps } from '../pod/validation/field-checks.ts';
import {
  validateAzureDisk,
  validateQuobyte,
  validateScaleIO,
  validateStorageOS,
} from '../pod/validation/former-sources.ts';
import {
  validateFibreChannel,
  validateFlocker,
  validateGceDisk,
  validateIscsi,
} from '../pod/validation/volume-validation.ts';
import { type PersistentVolumeSpec, type SourceName, sourceNames } from './persistent-volume-spec.ts';

const reclaimPolicies = ['Delete', 'Recycle', 'Retain'];
const volumeModes = ['Block', 'Filesystem'];

/** The spec of a PersistentVolume. The schema refuses a second source, and checks required fields and ranges of the first. */
export function validateVolumeSpec(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const {
    accessModes: modes = [],
    persistentVolumeReclaimPolicy: policy = '',
    storageClassName = '',
    volumeMode,
  } = spec;
  return [
    ...validateAccessModes(modes, `${path}.accessModes`),
    ...validateCapacity(spec.capacity, `${path}.capacity`),
    ...(policy === '' || reclaimPolicies.includes(policy)
      ? []
      : [notSupported(`${path}.persistentVolumeReclaimPolicy`, policy, reclaimPolicies)]),
    ...validateNodeAffinity(spec, `${path}.nodeAffinity`),
    ...validateSource(spec, path),
    ...(firstSource(spec) ? [] : [required(path, noSource)]),
    ...(isRoot(spec.hostPath?.path) && policy === 'Recycle'
      ? [forbidden(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'")]
      : []),
    ...(storageClassName === '' ? [] : failing(isDnsSubdomain, `${path}.storageClassName`, storageClassName)),
    ...(volumeMode === undefined || volumeModes.includes(volumeMode)
      ? []
      : [notSupported(`${path}.volumeMode`, volumeMode, volumeModes)]),
  ];
}

const noSource = 'must specify a volume type';
const outside = 'may not be specified in the context of inline volumes';

/** The spec of a volume that no PersistentVolume stands for: a pod's own, attached for it. */
export function validateInlineSpec(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const { capacity = {}, persistentVolumeReclaimPolicy: policy = '', volumeMode = 'Filesystem' } = spec;
  const unwanted = (name: string, isThere: boolean): FieldError[] =>
    isThere ? [forbidden(`${path}.${name}`, outside)] : [];
  return [
    ...unwanted('claimRef', spec.claimRef !== undefined),
    ...unwanted('capacity', Object.keys(capacity).length > 0),
    ...(spec.csi ? [] : [required(`${path}.csi`, 'has to be specified in the context of inline volumes')]),
    ...validateAccessModes(spec.accessModes ?? [], `${path}.accessModes`),
    ...(policy === '' || policy === 'Retain'
      ? []
      : [forbidden(`${path}.persistentVolumeReclaimPolicy`, 'may only be Retain in the context of inline volumes')]),
    ...unwanted('nodeAffinity', spec.nodeAffinity !== undefined),
    ...validateSource(spec, path),
    ...(firstSource(spec) ? [] : [required(path, noSource)]),
    ...unwanted('storageClassName', Boolean(spec.storageClassName)),
    ...(volumeMode === 'Filesystem'
      ? []
      : [
          forbidden(
            `${path}.volumeMode`,
            'may not specify volumeMode other than Filesystem in the context of inline volumes',
          ),
        ]),
  ];
}

function validateCapacity(capacity: Readonly<Record<string, string>> | undefined, path: string): FieldError[] {
  const names = Object.keys(capacity ?? {});
  return [
    ...(names.length === 0 ? [required(path)] : []),
    ...(names.length === 1 && names[0] === 'storage'
      ? []
      : [{ ...notSupported(path, capacity ?? null, ['storage']), shown: goText(map(quantity()), capacity) }]),
    ...errorsOfEach(Object.entries(capacity ?? {}), ([name, amount]) => validatePositive(amount, `${path}[${name}]`)),
  ];
}

function validatePositive(amount: string, field: string): FieldError[] {
  const nanos = parseQuantity(amount)?.nanos ?? 1n;
  if (nanos > 0n) return [];
  const whole = nanos / 1_000_000_000n;
  return [
    ...(whole < 0n ? [invalid(field, whole, 'must be a valid resource quantity')] : []),
    invalid(field, amount, 'must be greater than zero'),
  ];
}

const isRoot = (path: string | undefined): boolean => path !== undefined && /^\/[./]*$/.test(path);

function validateNodeAffinity({ nodeAffinity }: PersistentVolumeSpec, path: string): FieldError[] {
  if (!nodeAffinity) return [];
  if (!nodeAffinity.required) return [required(`${path}.required`, 'must specify required node constraints')];
  return validateNodeSelector(nodeAffinity.required, `${path}.required`, { labelValues: false });
}

const firstSource = (spec: PersistentVolumeSpec): SourceName | undefined =>
  sourceNames.find((name) => spec[name] !== undefined);

/** The first source alone. */
function validateSource(spec: PersistentVolumeSpec, path: string): FieldError[] {
  const first = firstSource(spec);
  if (!first) return [];
  const at = `${path}.${first}`;
  const isPlaced = first !== 'local' || spec.nodeAffinity !== undefined;
  const errors = [
    ...(checks[first]?.(spec, at) ?? []),
    ...(isPlaced ? [] : [required(`${path}.nodeAffinity`, 'Local volume requires node affinity')]),
  ];
  return errors.flatMap((error) => (error.field.startsWith(at) ? [error] : toldAfter(at, [error])));
}

type SecretReference = NonNullable<NonNullable<PersistentVolumeSpec['csi']>['nodePublishSecretRef']>;

const requireNames = (
  { name, namespace }: { readonly name?: string; readonly namespace?: string },
  path: string,
): FieldError[] => [...(name ? [] : [required(`${path}.name`)]), ...(namespace ? [] : [required(`${path}.namespace`)])];

function validateSecret(secret: SecretReference | undefined, path: string): FieldError[] {
  if (!secret) return [];
  const { name, namespace } = secret;
  return [
    ...(name ? failing(isDnsSubdomain, `${path}.name`, name) : [required(`${path}.name`)]),
    ...(namespace ? failing(isDnsLabel, `${path}.namespace`, namespace) : [required(`${path}.namespace`)]),
  ];
}

/** Secrets of a driver of the container storage interface that are checked, as published. */
const checkedSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function validateEndpointsNamespace(namespace: string | undefined, field: string): FieldError[] {
  if (namespace === undefined) return [];
  return namespace === ''
    ? [invalid(field, '', 'if the endpointnamespace is set, it must be a valid namespace name')]
    : failing(isDnsLabel, field, namespace);
}

/** Rules of sources that the schema cannot express. */
const checks: Readonly<Partial<Record<SourceName, (spec: PersistentVolumeSpec, path: string) => FieldError[]>>> = {
  hostPath: ({ hostPath }, path) => (hostPath?.path ? failing(hasNoBacksteps, `${path}.path`, hostPath.path) : []),
  local: ({ local }, path) => (local?.path ? failing(hasNoBacksteps, `${path}.path`, local.path) : []),
  // The published path of its errors is that of a former name.
  gcePersistentDisk: ({ gcePersistentDisk: disk }, path) =>
    disk ? validateGceDisk(disk, path.replace(/[^.]*$/, 'persistentDisk')) : [],
  nfs: ({ nfs: { path: at = '' } = {} }, path) =>
    at.startsWith('/') ? [] : [invalid(`${path}.path`, at, 'must be an absolute path')],
  iscsi: ({ iscsi }, path) =>
    iscsi
      ? [
          ...validateIscsi(iscsi, path, 'must be valid format'),
          ...(iscsi.secretRef && !iscsi.secretRef.name ? [required(`${path}.secretRef.name`)] : []),
        ]
      : [],
  fc: ({ fc }, path) => (fc ? validateFibreChannel(fc, path) : []),
  flocker: ({ flocker }, path) => (flocker ? validateFlocker(flocker, path) : []),
  cinder: ({ cinder }, path) => (cinder?.secretRef ? requireNames(cinder.secretRef, `${path}.secretRef`) : []),
  glusterfs: ({ glusterfs }, path) =>
    validateEndpointsNamespace(glusterfs?.endpointsNamespace, `${path}.endpointsNamespace`),
  azureFile: ({ azureFile }, path) => (azureFile?.secretNamespace === '' ? [required(`${path}.secretNamespace`)] : []),
  azureDisk: ({ azureDisk }, path) => (azureDisk ? validateAzureDisk(azureDisk, path) : []),
  quobyte: ({ quobyte }, path) => (quobyte ? validateQuobyte(quobyte, path) : []),
  scaleIO: ({ scaleIO }, path) => (scaleIO ? validateScaleIO(scaleIO, path) : []),
  storageos: ({ storageos }, path) => [
    ...(storageos ? validateStorageOS(storageos, path) : []),
    ...(storageos?.secretRef ? requireNames(storageos.secretRef, `${path}.secretRef`) : []),
  ],
  csi: ({ csi }, path) => [
    ...validateDriverName(csi?.driver ?? '', `${path}.driver`),
    ...(csi?.volumeHandle ? [] : [required(`${path}.volumeHandle`)]),
    ...checkedSecrets.flatMap((name) => validateSecret(csi?.[name], `${path}.${name}`)),
  ],
};
