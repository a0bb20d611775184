import {
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../../../meta/field-error.ts';
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
    const repeated = paths.has(mountPath);
    paths.add(mountPath);
    return [
      ...(name === '' ? [required(`${at}.name`)] : []),
      ...(volumes.has(name) ? [] : [notFound(`${at}.name`, name)]),
      ...(mountPath === '' ? [required(`${at}.mountPath`)] : []),
      ...(repeated ? [invalid(`${at}.mountPath`, mountPath, 'must be unique')] : []),
      ...(deviceNames.has(name) ? [invalid(`${at}.name`, name, 'must not already exist in volumeDevices')] : []),
      ...(devicePaths.has(mountPath)
        ? [invalid(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices')]
        : []),
      ...validateSubPaths(mount, volumes.get(name), { path, at }),
      ...validatePropagation(mount, container, `${path}.mountPropagation`),
      ...validateRecursiveReadOnly(mount, `${path}.recursiveReadOnly`),
    ];
  });
}

/** As published, errors of most fields name the list (`path`) and not the mount (`at`). */
function validateSubPaths(
  { subPath, subPathExpr }: VolumeMount,
  volume: Volume | undefined,
  { path, at }: { readonly path: string; readonly at: string },
): FieldError[] {
  const both = 'subPathExpr and subPath are mutually exclusive';
  return [
    ...(subPath === undefined ? [] : failing(isDescendingPath, `${path}.subPath`, subPath)),
    ...(subPath !== undefined && subPathExpr !== undefined ? [invalid(`${at}.subPathExpr`, subPathExpr, both)] : []),
    ...(subPathExpr === undefined ? [] : failing(isDescendingPath, `${path}.subPathExpr`, subPathExpr)),
    ...(volume?.image ? Object.entries({ subPath, subPathExpr }) : []).flatMap(([field, value]) =>
      value === undefined ? [] : [invalid(`${at}.${field}`, value, 'not allowed in image volume sources')],
    ),
  ];
}

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

function validatePropagation(
  { mountPropagation: mode }: VolumeMount,
  container: Container,
  path: string,
): FieldError[] {
  if (mode === undefined) return [];
  if (!propagations.includes(mode)) return [notSupported(path, mode, propagations)];
  return mode === 'Bidirectional' && container.securityContext?.privileged !== true
    ? [forbidden(path, 'Bidirectional mount propagation is available only to privileged containers')]
    : [];
}

const recursiveModes = ['Disabled', 'Enabled', 'IfPossible'];

function validateRecursiveReadOnly(mount: VolumeMount, path: string): FieldError[] {
  const { recursiveReadOnly: mode, readOnly = false, mountPropagation = 'None' } = mount;
  if (mode === undefined || mode === 'Disabled') return [];
  if (!recursiveModes.includes(mode)) return [notSupported(path, mode, recursiveModes)];
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
    const errors: FieldError[] = [];
    if (name === '') errors.push(required(`${at}.name`));
    if (names.has(name)) errors.push(invalid(`${at}.name`, name, 'must be unique'));
    errors.push(...validateDeviceVolume(name, volumes, `${at}.name`));
    if (devicePath === '') errors.push(required(`${at}.devicePath`));
    if (paths.has(devicePath)) errors.push(invalid(`${at}.devicePath`, devicePath, 'must be unique'));
    if (hasNoBacksteps(devicePath).length > 0) {
      errors.push(invalid(`${at}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (mountNames.has(name)) errors.push(invalid(`${at}.name`, name, 'must not already exist in volumeMounts'));
    if (mountPaths.has(devicePath)) {
      errors.push(invalid(`${at}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'));
    }
    if (name !== '') names.add(name);
    return errors;
  });
}

function validateDeviceVolume(name: string, volumes: VolumesByName, field: string): FieldError[] {
  const volume = volumes.get(name);
  if (!volume) return [notFound(field, name)];
  if (volume.persistentVolumeClaim || volume.ephemeral) return [];
  return [invalid(field, name, 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode')];
}
