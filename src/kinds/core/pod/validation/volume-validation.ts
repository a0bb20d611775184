import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
import { isDnsSubdomain } from '../../../../meta/formats.ts';
import { parseQuantity } from '../../../../meta/quantity.ts';
import { validateTemplateMetadata } from '../../../meta/embedded-metadata-validation.ts';
import { validateClaimSpec } from '../../claim-spec-errors.ts';
import { validateDriverName } from '../../driver-name.ts';
import { partitionRange } from '../volumes/cloud-volumes.ts';
import { fileModeRange, type ProjectedVolumeSource } from '../volumes/projected-volumes.ts';
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
  // The published path of its errors is that of a former name.
  gcePersistentDisk: ({ gcePersistentDisk: disk }, path) =>
    disk ? validateGceDisk(disk, path.replace(/[^.]*$/, 'persistentDisk')) : [],
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
  nfs: ({ nfs: { path: at = '' } = {} }, path) =>
    at.startsWith('/') ? [] : [invalid(`${path}.path`, at, 'must be an absolute path')],
  cinder: ({ cinder }, path) =>
    cinder?.secretRef && !cinder.secretRef.name ? [required(`${path}.secretRef.name`)] : [],
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
  csi: ({ csi }, path) => [
    ...validateDriverName(csi?.driver ?? '', `${path}.driver`),
    ...(csi?.nodePublishSecretRef ? validatePublishSecret(csi.nodePublishSecretRef, path) : []),
  ],
  ephemeral: ({ ephemeral }, path) => validateClaimTemplate(ephemeral, `${path}.volumeClaimTemplate`),
};

export function validateGceDisk(
  { pdName, partition = 0 }: NonNullable<Volume['gcePersistentDisk']>,
  path: string,
): FieldError[] {
  return [
    ...(pdName ? [] : [required(`${path}.pdName`)]),
    ...(partition < 0 || partition > 255 ? [invalid(`${path}.partition`, partition, partitionRange)] : []),
  ];
}

function validateSizeLimit(limit: string | undefined, field: string): FieldError[] {
  const quantity = limit === undefined ? undefined : parseQuantity(limit);
  return quantity && quantity.nanos < 0n ? [forbidden(field, 'SizeLimit field must be a valid resource quantity')] : [];
}

interface PathItem {
  readonly path?: string;
}

const validateItems = (items: readonly PathItem[] = [], path: string): FieldError[] =>
  errorsOfEach(items, (item, index) => validateFilePath(item, `${path}[${index}].path`));

const validateNamedPath = (item: PathItem, field: string): FieldError[] =>
  item.path ? validateFilePath(item, field) : [required(field)];

const validateFilePath = ({ path = '' }: PathItem, field: string): FieldError[] => failing(isFilePath, field, path);

type DownwardFile = NonNullable<NonNullable<Volume['downwardAPI']>['items']>[number];

/** As in kube-apiserver, these errors name the volume, not the file. */
const validateFiles = (files: readonly DownwardFile[] = [], path: string): FieldError[] =>
  errorsOfEach(files, (file) => validateFile(file, path));

function validateFile(file: DownwardFile, path: string): FieldError[] {
  const { fieldRef, resourceFieldRef, mode = 0 } = file;
  const errors = validateNamedPath(file, `${path}.path`);
  if (fieldRef) {
    errors.push(...validateFieldSelector(fieldRef, `${path}.fieldRef`, fileFields));
    if (resourceFieldRef) {
      errors.push(invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously'));
    }
  } else if (resourceFieldRef) {
    errors.push(...validateResourceSelector(resourceFieldRef, `${path}.resourceFieldRef`, 'named'));
  } else errors.push(required(path, 'one of fieldRef and resourceFieldRef is required'));
  return mode < 0 || mode > 0o777 ? [...errors, invalid(`${path}.mode`, mode, fileModeRange)] : errors;
}

type Projection = NonNullable<ProjectedVolumeSource['sources']>[number];

/** All sources are projected into one directory, so file paths must be unique across them. */
function validateProjected({ sources = [] }: ProjectedVolumeSource, path: string): FieldError[] {
  const paths = new Set<string>();
  return errorsOfEach(sources, (source, index) => {
    const at = `${path}.sources[${index}]`;
    return [
      ...validateProjection(source, at, path),
      ...errorsOfEach(pathsOf(source), ({ file, owner }) => {
        if (paths.has(file)) return [invalid(path, owner, 'conflicting duplicate paths')];
        paths.add(file);
        return [];
      }),
      ...(Object.keys(source).length > 1 ? [forbidden(at, 'may not specify more than 1 volume type per source')] : []),
    ];
  });
}

/** Files of a source, each with what an error shows of it. */
function pathsOf(source: Projection): readonly { readonly file: string; readonly owner: string }[] {
  const { secret, configMap, downwardAPI, clusterTrustBundle } = source;
  const files = (items: readonly PathItem[] = [], owner?: string) =>
    items.flatMap(({ path: file = '' }) => (file === '' ? [] : [{ file, owner: owner ?? file }]));
  return [
    ...files(secret?.items, secret?.name ?? ''),
    ...files(configMap?.items, configMap?.name ?? ''),
    ...files(downwardAPI?.items),
    ...files(clusterTrustBundle ? [clusterTrustBundle] : []),
  ];
}

/** Errors of the path of a token name the volume (`volumePath`), as published. */
function validateProjection(source: Projection, path: string, volumePath: string): FieldError[] {
  const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle } = source;
  const errors: FieldError[] = [];
  for (const [name, reference] of Object.entries({ secret, configMap })) {
    if (!reference) continue;
    if (!reference.name) errors.push(required(`${path}.${name}.name`));
    errors.push(...validateItems(reference.items, `${path}.${name}.items`));
  }
  if (downwardAPI) errors.push(...validateFiles(downwardAPI.items, `${path}.downwardAPI`));
  if (serviceAccountToken)
    errors.push(...validateToken(serviceAccountToken, `${path}.serviceAccountToken`, volumePath));
  if (clusterTrustBundle) errors.push(...validateTrustBundle(clusterTrustBundle, `${path}.clusterTrustBundle`));
  return errors;
}

const tokenSecondsMin = 600;
const tokenSecondsMax = 2 ** 32;

function validateToken(
  token: NonNullable<Projection['serviceAccountToken']>,
  path: string,
  volumePath: string,
): FieldError[] {
  const { expirationSeconds: seconds = 3600 } = token;
  const errors: FieldError[] = [];
  const field = `${path}.expirationSeconds`;
  if (seconds < tokenSecondsMin)
    errors.push(invalid(field, seconds, 'may not specify a duration less than 10 minutes'));
  if (seconds > tokenSecondsMax) {
    errors.push(invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds'));
  }
  return [...errors, ...validateNamedPath(token, `${volumePath}.path`)];
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
    if (name === undefined || (field === 'iqn' && name === '') || qualifiedTarget.test(name)) continue;
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

/** An invalid name is told without the field that holds it, as published. */
const validatePublishSecret = ({ name = '' }: { readonly name?: string }, path: string): FieldError[] =>
  name === '' ? [required(`${path}.nodePublishSecretRef.name`)] : failing(isDnsSubdomain, `${path}.name`, name);

function validateClaimTemplate(ephemeral: Volume['ephemeral'], path: string): FieldError[] {
  const template = ephemeral?.volumeClaimTemplate;
  if (!template) return [required(path)];
  return [
    ...validateTemplateMetadata(template.metadata ?? {}, `${path}.metadata`),
    ...validateClaimSpec(template.spec ?? {}, `${path}.spec`),
  ];
}

function validateClaimName(podName: string, volumeName: string, path: string): FieldError[] {
  const claimName = `${podName}-${volumeName}`;
  return isDnsSubdomain(claimName).map((problem) =>
    invalid(`${path}.name`, volumeName, `PVC name "${claimName}": ${problem}`),
  );
}
