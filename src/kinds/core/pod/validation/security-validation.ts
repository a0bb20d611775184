import {
  errorsOfEach,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../../../meta/field-error.ts';
import { shownAsGo } from '../../../../schema/go-text.ts';
import { type PodSecurityContext, type SecurityContext, seccompProfile } from '../container/security-context.ts';
import type { PodSpec } from '../pod-spec.ts';
import { failing, isDescendingPath } from './field-checks.ts';
import { validateWindowsOptions } from './windows-validation.ts';

const sysctlLengthMax = 253;
const sysctlWord = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
/** As errors show it; checked word by word, in linear time. */
const sysctlPattern = '^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';
const profilePathBytesMax = 4095;

/** The schema checks ID ranges and enums. */
export function validatePodSecurity(spec: PodSpec, path: string): FieldError[] {
  const { securityContext = {}, shareProcessNamespace, hostPID } = spec;
  const { sysctls = [], seccompProfile: seccomp, windowsOptions, appArmorProfile } = securityContext;
  const rule = 'ShareProcessNamespace and HostPID cannot both be enabled';
  return [
    ...(shareProcessNamespace && hostPID ? [invalid(`${path}.shareProcessNamespace`, true, rule)] : []),
    ...validateSysctls(sysctls, `${path}.sysctls`),
    ...validateSeccomp(seccomp, `${path}.seccompProfile`),
    ...(windowsOptions ? validateWindowsOptions(windowsOptions, `${path}.windowsOptions`) : []),
    ...validateAppArmor(appArmorProfile, `${path}.appArmorProfile`),
  ];
}

function validateSysctls(sysctls: NonNullable<PodSecurityContext['sysctls']>, path: string): FieldError[] {
  return errorsOfEach(sysctls, ({ name = '' }, index) => {
    const field = `${path}[${index}].name`;
    if (name === '') return [];
    if (name.length > sysctlLengthMax || !name.split(/[./]/).every((segment) => sysctlWord.test(segment))) {
      const rule = `must have at most ${sysctlLengthMax} characters and match regex ${sysctlPattern}`;
      return [invalid(field, name, rule)];
    }
    return [];
  });
}

/** `hostUsers` is false if the pod has its own user namespace. */
export function validateContainerSecurity(
  context: SecurityContext,
  path: string,
  { hostUsers }: { readonly hostUsers: boolean },
): FieldError[] {
  const { privileged, allowPrivilegeEscalation, capabilities, procMount } = context;
  const { seccompProfile: seccomp, appArmorProfile, windowsOptions } = context;
  const errors: FieldError[] = [];
  if (procMount === 'Unmasked' && hostUsers) {
    errors.push(invalid(`${path}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`'));
  }
  errors.push(...validateSeccomp(seccomp, `${path}.seccompProfile`));
  if (allowPrivilegeEscalation === false) {
    const field = `${path}.allowPrivilegeEscalation`;
    if (privileged)
      errors.push(invalid(field, false, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'));
    if (capabilities?.add?.includes('CAP_SYS_ADMIN')) {
      const rule = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
      errors.push(invalid(field, false, rule));
    }
  }
  return [
    ...errors,
    ...(windowsOptions ? validateWindowsOptions(windowsOptions, `${path}.windowsOptions`) : []),
    ...validateAppArmor(appArmorProfile, `${path}.appArmorProfile`),
  ];
}

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

/** `name` is that of the field that holds the profile. */
function validateProfileType(type: string, field: string, name: string): FieldError[] {
  if (type === '') return [required(field, `type is required when ${name} is set`)];
  return profileTypes.includes(type) ? [] : [notSupported(field, type, profileTypes)];
}

function validateSeccomp(profile: SecurityContext['seccompProfile'], path: string): FieldError[] {
  if (!profile) return [];
  const { type = '', localhostProfile } = profile;
  const field = `${path}.localhostProfile`;
  if (type !== 'Localhost') {
    const misplaced = invalid(field, profile, 'can only be set when seccomp type is Localhost');
    return [
      ...validateProfileType(type, `${path}.type`, 'seccompProfile'),
      ...(localhostProfile === undefined ? [] : [shownAsGo(misplaced, seccompProfile)]),
    ];
  }
  if (localhostProfile === undefined) return [required(field, 'must be set when seccomp type is Localhost')];
  return failing(isDescendingPath, field, localhostProfile);
}

function validateAppArmor(profile: SecurityContext['appArmorProfile'], path: string): FieldError[] {
  if (!profile) return [];
  const { type = '', localhostProfile } = profile;
  const field = `${path}.localhostProfile`;
  const typeErrors = validateProfileType(type, `${path}.type`, 'appArmorProfile');
  if (typeErrors.length > 0) return typeErrors;
  if (type !== 'Localhost') {
    return localhostProfile === undefined
      ? []
      : [invalid(field, localhostProfile, 'can only be set when AppArmor type is Localhost')];
  }
  if (!localhostProfile) return [required(field, 'must be set when AppArmor type is Localhost')];
  return [
    ...(localhostProfile.trim() === localhostProfile
      ? []
      : [invalid(field, localhostProfile, 'must not be padded with whitespace')]),
    ...(Buffer.byteLength(localhostProfile) > profilePathBytesMax ? [tooLong(field, profilePathBytesMax)] : []),
  ];
}

/** A pod with its own user namespace may not share other namespaces of the host. */
export function validateHostUsers({ hostUsers, hostNetwork, hostPID, hostIPC }: PodSpec, path: string): FieldError[] {
  if (hostUsers !== false) return [];
  return Object.entries({ hostNetwork, hostPID, hostIPC })
    .filter(([, shared]) => shared)
    .map(([name]) => forbidden(`${path}.${name}`, 'when `hostUsers` is false'));
}
