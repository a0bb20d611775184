import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
import { isDnsSubdomain } from '../../../../meta/formats.ts';
import { parseQuantity } from '../../../../meta/quantity.ts';
import { validateAccessModes } from '../../access-modes.ts';
import type { ProjectedVolumeSource } from '../volumes/projected-volumes.ts';
import { type Volume, volumeSources } from '../volumes/volume.ts';
import { failing, hasNoBacksteps, isDescendingPath, isFilePath } from './field-checks.ts';
import { validateAzureDisk, validateQuobyte, validateScaleIO, validateStorageOS } from './former-sources.ts';
import { fileFields, validateFieldSelector, validateResourceSelector } from './selector-validation.ts';

/** `podName` is used for the names of ephemeral volume claims; '' if unknown. */
export const validateVolumes = (volumes: readonly Volume[], path: string, podName: string): FieldError[] =>
  errorsOfEach(volumes, (volume, index) => {
    const at = `${path}[${index}]`;
    const { name = '', ephemeral } = volume;
    const named = ephemeral && podName !== '' && name !== '';
    return [...validateSource(volume, at), ...(named ? validateClaimName(podName, name, at) : [])];
  });

/** Images that are mounted. A template may leave them out. */
export const validateImageVolumes = (volumes: readonly Volume[], path: string): FieldError[] =>
  errorsOfEach(volumes, ({ image }, index) =>
    image && !image.reference ? [required(`${path}[${index}].image.reference`)] : [],
  );

/** Validates the first source. The schema requires exactly one, and checks required fields and ranges. */
function validateSource(volume: Volume, path: string): FieldError[] {
  const [first] = volumeSources(volume);
  return (first && checks[first]?.(volume, `${path}.${first}`)) ?? [];
}

type SourceName = ReturnType<typeof volumeSources>[number];

/** Rules of volume sources that the schema cannot express. */
const checks: Readonly<Partial<Record<SourceName, (volume: Volume, path: string) => FieldError[]>>> = {
  hostPath: ({ hostPath }, path) => (hostPath?.path ? failing(hasNoBacksteps, `${path}.path`, hostPath.path) : []),
  emptyDir: ({ emptyDir }, path) => validateSizeLimit(emptyDir?.sizeLimit, `${path}.sizeLimit`),
  gitRepo: ({ gitRepo }, path) => failing(isDescendingPath, `${path}.directory`, gitRepo?.directory ?? ''),
  secret: ({ secret }, path) => [
    ...(secret?.secretName ? [] : [required(`${path}.secretName`)]),
    ...validateItems(secret?.items, `${path}.items`),
  ],
  configMap: ({ configMap }, path) => [
    ...(configMap?.name ? [] : [required(`${path}.name`)]),
    ...validateItems(configMap?.items, `${path}.items`),
  ],
  downwardAPI: ({ downwardAPI }, path) => validateFiles(downwardAPI?.items, path),
  projected: ({ projected }, path) => (projected ? validateProjected(projected, path) : []),
  nfs: ({ nfs }, path) =>
    nfs?.path && !nfs.path.startsWith('/') ? [invalid(`${path}.path`, nfs.path, 'must be an absolute path')] : [],
  iscsi: ({ iscsi }, path) =>
    iscsi ? validateIscsi(iscsi, path, 'must be valid format starting with iqn, eui, or naa') : [],
  fc: ({ fc }, path) => (fc ? validateFibreChannel(fc, path) : []),
  azureDisk: ({ azureDisk }, path) => (azureDisk ? validateAzureDisk(azureDisk, path) : []),
  quobyte: ({ quobyte }, path) => (quobyte ? validateQuobyte(quobyte, path) : []),
  scaleIO: ({ scaleIO }, path) => (scaleIO ? validateScaleIO(scaleIO, path) : []),
  storageos: ({ storageos }, path) => [
    ...(storageos ? validateStorageOS(storageos, path) : []),
    ...(storageos?.secretRef && !storageos.secretRef.name ? [required(`${path}.secretRef.name`)] : []),
  ],
  flocker: ({ flocker }, path) => (flocker ? validateFlocker(flocker, path) : []),
  csi: ({ csi }, path) =>
    csi?.nodePublishSecretRef && !csi.nodePublishSecretRef.name ? [required(`${path}.nodePublishSecretRef.name`)] : [],
  ephemeral: ({ ephemeral }, path) => validateClaimTemplate(ephemeral, `${path}.volumeClaimTemplate`),
};

function validateSizeLimit(limit: string | undefined, field: string): FieldError[] {
  const quantity = limit === undefined ? undefined : parseQuantity(limit);
  return quantity && quantity.nanos < 0n ? [forbidden(field, 'SizeLimit field must be a valid resource quantity')] : [];
}

interface PathItem {
  readonly path?: string;
}

const validateItems = (items: readonly PathItem[] = [], path: string): FieldError[] =>
  errorsOfEach(items, (item, index) => validateFilePath(item, `${path}[${index}].path`));

const validateFilePath = ({ path = '' }: PathItem, field: string): FieldError[] => failing(isFilePath, field, path);

type DownwardFile = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];

/** As in kube-apiserver, these errors name the volume, not the file. */
const validateFiles = (files: readonly DownwardFile[] = [], path: string): FieldError[] =>
  errorsOfEach(files, (file) => validateFile(file, path));

function validateFile(file: DownwardFile, path: string): FieldError[] {
  const { fieldRef, resourceFieldRef } = file;
  const errors = validateFilePath(file, `${path}.path`);
  if (fieldRef) {
    errors.push(...validateFieldSelector(fieldRef, `${path}.fieldRef`, fileFields));
    if (resourceFieldRef) {
      errors.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    }
  } else if (resourceFieldRef) {
    errors.push(...validateResourceSelector(resourceFieldRef, `${path}.resourceFieldRef`, 'named'));
  } else errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  return errors;
}

type Projection = NonNullable<ProjectedVolumeSource['sources']>[number];

/** All sources are projected into one directory, so file paths must be unique across them. */
function validateProjected({ sources = [] }: ProjectedVolumeSource, path: string): FieldError[] {
  const paths = new Set<string>();
  return errorsOfEach(sources, (source, index) => [
    ...validateProjection(source, `${path}.sources[${index}]`),
    ...errorsOfEach(pathsOf(source), (file) => {
      if (paths.has(file)) return [invalid(path, file, 'conflicting duplicate paths')];
      paths.add(file);
      return [];
    }),
  ]);
}

const pathsOf = ({ secret, configMap, downwardAPI, clusterTrustBundle }: Projection): readonly string[] =>
  [
    ...(secret?.items ?? []),
    ...(configMap?.items ?? []),
    ...(downwardAPI?.items ?? []),
    ...(clusterTrustBundle ? [clusterTrustBundle] : []),
  ]
    .map(({ path }: PathItem) => path ?? '')
    .filter((path) => path !== '');

function validateProjection(source: Projection, path: string): FieldError[] {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  const errors: FieldError[] = [];
  for (const [name, reference] of Object.entries({ secret, configMap })) {
    if (!reference) continue;
    if (!reference.name) errors.push(required(`${path}.${name}.name`));
    errors.push(...validateItems(reference.items, `${path}.${name}.items`));
  }
  if (downwardAPI) errors.push(...validateFiles(downwardAPI.items, `${path}.downwardAPI`));
  if (serviceAccountToken) errors.push(...validateToken(serviceAccountToken, `${path}.serviceAccountToken`));
  if (clusterTrustBundle) errors.push(...validateTrustBundle(clusterTrustBundle, `${path}.clusterTrustBundle`));
  return errors;
}

const tokenSecondsMin = 600;
const tokenSecondsMax = 2 ** 32;

function validateToken(token: NonNullable<Projection['serviceAccountToken']>, path: string): FieldError[] {
  const { expirationSeconds: seconds = 3600 } = token;
  const errors = validateFilePath(token, `${path}.path`);
  const field = `${path}.expirationSeconds`;
  if (seconds < tokenSecondsMin)
    errors.push(invalid(field, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > tokenSecondsMax) {
    errors.push(invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  return errors;
}

function validateTrustBundle(bundle: NonNullable<Projection['clusterTrustBundle']>, path: string): FieldError[] {
  const { name, signerName, labelSelector } = bundle;
  const errors = validateFilePath(bundle, `${path}.path`);
  if (name !== undefined && signerName !== undefined) {
    return [...errors, invalid(path, bundle, 'only one of name and signerName may be used')];
  }
  if (name !== undefined) {
    if (name === '') errors.push(required(`${path}.name`, 'must be a valid object name'));
    if (labelSelector) {
      errors.push(invalid(`${path}.labelSelector`, labelSelector, 'labelSelector must be unset if name is specified'));
    }
    return errors;
  }
  if (signerName === undefined) return [...errors, required(path, 'either name or signerName must be specified')];
  if (signerName === '') errors.push(required(`${path}.signerName`, 'must be a valid signer name'));
  return errors;
}

const qualifiedTarget = /^(?:iqn|eui|naa)/;

export function validateIscsi(
  iscsi: Pick<NonNullable<Volume['iscsi']>, 'iqn' | 'initiatorName'>,
  path: string,
  rule: string,
): FieldError[] {
  const { iqn, initiatorName } = iscsi;
  const errors: FieldError[] = [];
  for (const [field, name] of Object.entries({ iqn, initiatorname: initiatorName })) {
    if (!name || qualifiedTarget.test(name)) continue;
    errors.push(invalid(`${path}.${field}`, name, rule));
  }
  return errors;
}

export function validateFibreChannel(fc: NonNullable<Volume['fc']>, path: string): FieldError[] {
  const { targetWWNs = [], wwids = [] } = fc;
  const field = `${path}.targetWWNs`;
  if (targetWWNs.length === 0 && wwids.length === 0) {
    return [required(field, 'must specify either targetWWNs or wwids, but not both')];
  }
  if (targetWWNs.length === 0) return [];
  return wwids.length > 0
    ? [invalid(field, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously')]
    : [];
}

export function validateFlocker(
  { datasetName, datasetUUID }: NonNullable<Volume['flocker']>,
  path: string,
): FieldError[] {
  if (!datasetName && !datasetUUID) return [required(path, 'one of datasetName and datasetUUID is required')];
  if (datasetName && datasetUUID) {
    return [invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously')];
  }
  return datasetName?.includes('/') ? [invalid(`${path}.datasetName`, datasetName, "must not contain '/'")] : [];
}

function validateClaimTemplate(ephemeral: Volume['ephemeral'], path: string): FieldError[] {
  const template = ephemeral?.volumeClaimTemplate;
  if (!template) return [required(path)];
  const { accessModes = [], resources } = template.spec ?? {};
  return [
    ...validateAccessModes(accessModes, `${path}.spec.accessModes`, 'at least 1 access mode is required'),
    ...(resources?.requests?.['storage'] === undefined ? [required(`${path}.spec.resources[storage]`)] : []),
  ];
}

function validateClaimName(podName: string, volumeName: string, path: string): FieldError[] {
  const claimName = `${podName}-${volumeName}`;
  return isDnsSubdomain(claimName).map((problem) =>
    invalid(`${path}.name`, volumeName, `PVC name "${claimName}": ${problem}`),
  );
}
