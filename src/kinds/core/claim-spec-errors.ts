import { type FieldError, invalid, notSupported, required } from '../../meta/field-error.ts';
import { isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import { parseQuantity } from '../../meta/quantity.ts';
import { equalValues } from '../../schema/equal-values.ts';
import type { Infer } from '../../schema/schema.ts';
import { validateAccessModes } from './access-modes.ts';
import { failing } from './pod/validation/field-checks.ts';
import type { persistentVolumeClaimSpec } from './pod/volumes/claim-volumes.ts';

type Spec = Infer<typeof persistentVolumeClaimSpec>;
type Source = NonNullable<Spec['dataSourceRef']>;

function validateSource(source: Source, path: string): FieldError[] {
  const { name = '', kind = '', apiGroup = '', namespace = '' } = source;
  return [
    ...(name === '' ? [required(`${path}.name`)] : []),
    ...(kind === '' ? [required(`${path}.kind`)] : []),
    ...(apiGroup === '' && kind !== 'PersistentVolumeClaim' ? [invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")] : []),
    ...(apiGroup === '' ? [] : failing(isDnsSubdomain, `${path}.apiGroup`, apiGroup)),
    ...(namespace === '' ? [] : failing(isDnsLabel, `${path}.namespace`, namespace)),
  ];
}

function validateSources({ dataSource, dataSourceRef }: Spec, path: string): FieldError[] {
  const errors = [...(dataSource ? validateSource(dataSource, `${path}.dataSource`) : []), ...(dataSourceRef ? validateSource(dataSourceRef, `${path}.dataSourceRef`) : [])];
  if (!dataSource || !dataSourceRef) return errors;
  if (dataSourceRef.namespace) return [...errors, invalid(path, `${path}.dataSource`, 'may not be specified when dataSourceRef.namespace is specified')];
  const { namespace: _none, ...ref } = dataSourceRef;
  return equalValues(ref, dataSource) ? errors : [...errors, invalid(path, `${path}.dataSource`, 'must match dataSourceRef')];
}

const volumeModes = ['Block', 'Filesystem'];

/** The spec of a claim, or of one that is made for a pod. */
export function validateClaimSpec(spec: Spec, path: string): FieldError[] {
  const { volumeMode } = spec;
  const storage = spec.resources?.requests?.['storage'];
  return [
    ...validateAccessModes(spec.accessModes ?? [], `${path}.accessModes`, 'at least 1 access mode is required'),
    ...(storage === undefined ? [required(`${path}.resources[storage]`)] : []),
    ...(storage !== undefined && nanosOf(storage) <= 0n ? [invalid(`${path}.resources[storage]`, storage, 'must be greater than zero')] : []),
    ...(spec.storageClassName ? failing(isDnsSubdomain, `${path}.storageClassName`, spec.storageClassName) : []),
    ...(volumeMode === undefined || volumeModes.includes(volumeMode) ? [] : [notSupported(`${path}.volumeMode`, volumeMode, volumeModes)]),
    ...validateSources(spec, path),
  ];
}

export const nanosOf = (amount: string): bigint => parseQuantity(amount)?.nanos ?? 0n;
