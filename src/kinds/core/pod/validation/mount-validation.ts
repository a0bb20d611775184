import { errorsOfEach, type FieldError, forbidden, invalid } from '../../../../meta/field-error.ts';
import type { Container } from '../container/container.ts';
import type { VolumeDevice, VolumeMount } from '../container/volume-mount.ts';
import type { Volume } from '../volumes/volume.ts';
import { failing, hasNoBacksteps, isDescendingPath, notFound } from './field-checks.ts';

/** Volumes of a pod by name. */
export type VolumesByName = ReadonlyMap<string, Volume>;

/** Mounts of one container: each must refer to a volume and have a unique path. */
export function validateMounts(container: Container, volumes: VolumesByName, path: string): FieldError[] {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const paths = new Set<string>();
  const deviceNames = new Set(volumeDevices.map((device) => device.name));
  const devicePaths = new Set(volumeDevices.map(({ devicePath }) => devicePath));
  return errorsOfEach(volumeMounts, (mount, index) => {
    const at = `${path}[${index}]`;
    const { name = '', mountPath = '' } = mount;
    const errors = validateMount(mount, container, volumes.get(name), at);
    if (name !== '' && !volumes.has(name)) errors.push(notFound(`${at}.name`, name));
    if (mountPath !== '' && paths.has(mountPath)) errors.push(invalid(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (deviceNames.has(name)) {
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeDevices'));
    }
    if (devicePaths.has(mountPath)) {
      errors.push(invalid(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices'));
    }
    return errors;
  });
}

function validateMount(
  mount: VolumeMount,
  container: Container,
  volume: Volume | undefined,
  path: string,
): FieldError[] {
  const { subPath, subPathExpr, mountPropagation } = mount;
  const errors: FieldError[] = [];
  for (const [field, value] of Object.entries({ subPath, subPathExpr })) {
    if (value === undefined) continue;
    errors.push(...failing(isDescendingPath, `${path}.${field}`, value));
    if (volume?.image) errors.push(invalid(`${path}.${field}`, value, 'not allowed in image volume sources'));
  }
  if (subPath !== undefined && subPathExpr !== undefined) {
    errors.push(invalid(`${path}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'));
  }
  if (mountPropagation === 'Bidirectional' && container.securityContext?.privileged !== true) {
    const rule = 'Bidirectional mount propagation is available only to privileged containers';
    errors.push(forbidden(`${path}.mountPropagation`, rule));
  }
  return [...errors, ...validateRecursiveReadOnly(mount, `${path}.recursiveReadOnly`)];
}

function validateRecursiveReadOnly(mount: VolumeMount, path: string): FieldError[] {
  const { recursiveReadOnly: mode, readOnly = false, mountPropagation = 'None' } = mount;
  if (mode !== 'Enabled' && mode !== 'IfPossible') return [];
  return [
    ...(readOnly ? [] : [forbidden(path, 'may only be specified when readOnly is true')]),
    ...(mountPropagation === 'None'
      ? []
      : [forbidden(path, 'may only be specified when mountPropagation is None or not specified')]),
  ];
}

/** Devices of one container: each must refer to a claim volume and have a unique path. */
export function validateDevices(
  { volumeDevices = [], volumeMounts = [] }: Container,
  volumes: VolumesByName,
  path: string,
): FieldError[] {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mountNames = new Set(volumeMounts.map((mount) => mount.name));
  const mountPaths = new Set(volumeMounts.map(({ mountPath }) => mountPath));
  return errorsOfEach(volumeDevices, ({ name = '', devicePath = '' }: VolumeDevice, index) => {
    const at = `${path}[${index}]`;
    const errors = name === '' ? [] : validateDeviceVolume(name, volumes, `${at}.name`);
    if (names.has(name)) errors.push(invalid(`${at}.name`, name, 'must be unique'));
    if (paths.has(devicePath)) errors.push(invalid(`${at}.devicePath`, devicePath, 'must be unique'));
    names.add(name);
    paths.add(devicePath);
    errors.push(...failing(hasNoBacksteps, `${at}.devicePath`, devicePath));
    if (mountNames.has(name)) {
      errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeMounts'));
    }
    if (mountPaths.has(devicePath)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'));
    }
    return errors;
  });
}

function validateDeviceVolume(name: string, volumes: VolumesByName, field: string): FieldError[] {
  const volume = volumes.get(name);
  if (!volume) return [notFound(field, name)];
  if (volume.persistentVolumeClaim || volume.ephemeral) return [];
  return [invalid(field, name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode')];
}
