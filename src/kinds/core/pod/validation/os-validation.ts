import { type FieldError, forbidden, notSupported, required } from '../../../../meta/field-error.ts';
import type { PodSpec } from '../pod-spec.ts';

const podFields = ['hostUsers', 'hostPID', 'hostIPC', 'shareProcessNamespace'] as const;
const podSecurityFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const;
const containerSecurityFields = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

/** Forbids settings that are specific to the other operating system. */
export function validateOs(spec: PodSpec, path: string): FieldError[] {
  switch (spec.os?.name) {
    case undefined:
      return [];
    case '':
      return [required(`${path}.os.name`, 'cannot be empty')];
    case 'linux':
      return forbidEach(spec, path, {
        pod: [],
        podSecurity: ['windowsOptions'],
        containerSecurity: ['windowsOptions'],
      })('windows options cannot be set for a linux pod');
    case 'windows':
      return forbidEach(spec, path, {
        pod: podFields,
        podSecurity: podSecurityFields,
        containerSecurity: containerSecurityFields,
      })('cannot be set for a windows pod');
    default:
      return [notSupported(`${path}.os`, spec.os?.name, ['linux', 'windows'])];
  }
}

interface Foreign {
  readonly pod: readonly string[];
  readonly podSecurity: readonly string[];
  readonly containerSecurity: readonly string[];
}

const forbidEach =
  (spec: PodSpec, path: string, foreign: Foreign) =>
  (detail: string): FieldError[] =>
    [
      ...set(spec, foreign.pod, path),
      ...set(spec.securityContext, foreign.podSecurity, `${path}.securityContext`),
      ...(['containers', 'initContainers', 'ephemeralContainers'] as const).flatMap((list) =>
        (spec[list] ?? []).flatMap(({ securityContext }, index) =>
          set(securityContext, foreign.containerSecurity, `${path}.${list}[${index}].securityContext`),
        ),
      ),
    ].map((field) => forbidden(field, detail));

const set = (object: Readonly<Record<string, unknown>> | undefined, names: readonly string[], path: string): string[] =>
  names.filter((name) => object?.[name] !== undefined).map((name) => `${path}.${name}`);
