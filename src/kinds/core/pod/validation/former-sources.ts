import { type FieldError, invalid, notSupported, required, toldAfter } from '../../../../meta/field-error.ts';
import { isDnsLabel } from '../../../../meta/formats.ts';
import type { Volume } from '../volumes/volume.ts';
import { failing } from './field-checks.ts';

/** Rules of volume sources that few clusters still have, of pods and of persistent volumes. */

const managedDisk = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const blobDisk = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

/** The address of a disk follows from its kind, and begins as the one that errors show. */
export function validateAzureDisk(
  { kind, diskURI = '' }: NonNullable<Volume['azureDisk']>,
  path: string,
): FieldError[] {
  if (kind === undefined) return [];
  const [start, form] = kind === 'Managed' ? ['/subscriptions/', managedDisk] : ['https://', blobDisk];
  return diskURI.startsWith(start) ? [] : toldAfter(path, [notSupported(`${path}.diskURI`, diskURI, [form])]);
}

const registryRule = 'must be a host:port pair or multiple pairs separated by commas';
const tenantLengthMax = 64;

export function validateQuobyte(
  { registry = '', tenant = '' }: NonNullable<Volume['quobyte']>,
  path: string,
): FieldError[] {
  if (registry === '') return [required(`${path}.registry`, registryRule)];
  if (Buffer.byteLength(tenant) > tenantLengthMax) {
    return [required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters')];
  }
  return registry
    .split(',')
    .flatMap((pair) => (isHostPort(pair) ? [] : [invalid(`${path}.registry`, registry, registryRule)]));
}

/** A colon before the port, and others only within brackets. */
const isHostPort = (pair: string): boolean => /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair);

export const validateScaleIO = ({ volumeName }: { readonly volumeName?: string }, path: string): FieldError[] =>
  volumeName ? [] : [required(`${path}.volumeName`)];

export const validateStorageOS = (
  { volumeName, volumeNamespace }: { readonly volumeName?: string; readonly volumeNamespace?: string },
  path: string,
): FieldError[] => [
  ...(volumeName ? failing(isDnsLabel, `${path}.volumeName`, volumeName) : [required(`${path}.volumeName`)]),
  ...(volumeNamespace ? failing(isDnsLabel, `${path}.volumeNamespace`, volumeNamespace) : []),
];
