import { errorsOfEach, type FieldError, forbidden, invalid, required, tooLong } from '../../../../meta/field-error.ts';
import type { PodSecurityContext, SecurityContext } from '../container/security-context.ts';
import type { PodSpec } from '../pod-spec.ts';
import { failing, isDescendingPath } from './field-checks.ts';

const sysctlLengthMax = 253;
const sysctlName = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const profilePathBytesMax = 4095;

/** The schema checks ID ranges and enums. */
export function validatePodSecurity(spec: PodSpec, path: string): FieldError[] {
  const { securityContext = {}, shareProcessNamespace, hostPID } = spec;
  const errors = [
    ...validateSysctls(securityContext.sysctls ?? [], `${path}.sysctls`),
    ...validateSeccomp(securityContext.seccompProfile, `${path}.seccompProfile`),
    ...validateAppArmor(securityContext.appArmorProfile, `${path}.appArmorProfile`),
  ];
  if (shareProcessNamespace && hostPID) {
    const rule = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.push(invalid(`${path}.shareProcessNamespace`, true, rule));
  }
  return errors;
}

function validateSysctls(sysctls: NonNullable<PodSecurityContext['sysctls']>, path: string): FieldError[] {
  return errorsOfEach(sysctls, ({ name = '' }, index) => {
    const field = `${path}[${index}].name`;
    if (name === '') return [];
    if (name.length > sysctlLengthMax || !name.split(/[./]/).every((segment) => sysctlName.test(segment))) {
      const rule = `must have at most ${sysctlLengthMax} characters and be lower case words joined by '.' or '/'`;
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
  const errors = [
    ...validateSeccomp(context.seccompProfile, `${path}.seccompProfile`),
    ...validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`),
  ];
  if (procMount === 'Unmasked' && hostUsers) {
    errors.push(invalid(`${path}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`'));
  }
  if (allowPrivilegeEscalation !== false) return errors;
  const field = `${path}.allowPrivilegeEscalation`;
  if (privileged)
    errors.push(invalid(field, false, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'));
  if (capabilities?.add?.includes('CAP_SYS_ADMIN')) {
    const rule = 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN';
    errors.push(invalid(field, false, rule));
  }
  return errors;
}

function validateSeccomp(profile: SecurityContext['seccompProfile'], path: string): FieldError[] {
  if (!profile) return [];
  const { type, localhostProfile } = profile;
  const field = `${path}.localhostProfile`;
  if (type !== 'Localhost') {
    return localhostProfile === undefined
      ? []
      : [invalid(field, localhostProfile, 'can only be set when seccomp type is Localhost')];
  }
  if (localhostProfile === undefined) return [required(field, 'must be set when seccomp type is Localhost')];
  return failing(isDescendingPath, field, localhostProfile);
}

function validateAppArmor(profile: SecurityContext['appArmorProfile'], path: string): FieldError[] {
  if (!profile) return [];
  const { type, localhostProfile } = profile;
  const field = `${path}.localhostProfile`;
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
