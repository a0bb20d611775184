import { profileAnnotations } from '../../../dialect/profile-annotations.ts';
import {
  type CheckedPod,
  containersOf,
  containersWith,
  namedContainers,
  namedSetters,
  type PodCheck,
  type PodFinding,
  plural,
  quoted,
  settersOf,
  sorted,
} from './pod-check.ts';

/** Level `baseline`: what is known to break out of a pod. */

const allowedProfiles: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);

export const isProfileAllowed = ({ type = '' }: { readonly type?: string }): boolean => allowedProfiles.has(type);

export const appArmorProfile: PodCheck = (pod) => {
  const values = new Set<string>();
  const setters = settersOf(pod, ({ appArmorProfile: profile }) => {
    if (!profile || isProfileAllowed(profile)) return false;
    values.add(profile.type ?? '');
    return true;
  });
  const annotations = appArmorAnnotations(pod);
  const bad = [...sorted(values), ...annotations];
  if (bad.length === 0) return undefined;
  const named = namedSetters(setters);
  const who = [
    ...(named === '' ? [] : [named]),
    ...(annotations.length > 0 ? [plural('annotation', annotations.length)] : []),
  ];
  return {
    reason: plural('forbidden AppArmor profile', bad.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(bad)}`,
  };
};

/** The annotations that were used before the field was. */
function appArmorAnnotations({ annotations, domain }: CheckedPod): readonly string[] {
  const prefix = profileAnnotations({ domain }).appArmorOf('');
  return Object.entries(annotations)
    .filter(([key, value]) => key.startsWith(prefix) && !isAppArmorValueAllowed(value))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
}

const isAppArmorValueAllowed = (value: string): boolean =>
  value === '' || value === 'runtime/default' || value.startsWith('localhost/');

const defaultCapabilities: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

export const addedCapabilities: PodCheck = (pod) => {
  const detail = detailOfAdded(pod, (capability) => defaultCapabilities.has(capability));
  return detail === undefined ? undefined : { reason: 'non-default capabilities', detail };
};

/** Says which containers add which capabilities that are not allowed. */
export function detailOfAdded(pod: CheckedPod, isAllowed: (capability: string) => boolean): string | undefined {
  const values = new Set<string>();
  const names = containersWith(pod, ({ capabilities }) => {
    const bad = (capabilities?.add ?? []).filter((capability) => !isAllowed(capability));
    for (const capability of bad) values.add(capability);
    return bad.length > 0;
  });
  if (names.length === 0) return undefined;
  return `${namedContainers(names)} must not include ${quoted(sorted(values))} in securityContext.capabilities.add`;
}

export const hostNamespaces: PodCheck = ({ spec }) => {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((name) => spec[name]);
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((name) => `${name}=true`).join(', ') };
};

export const hostPathVolumes: PodCheck = ({ spec }) => {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name);
  if (names.length === 0) return undefined;
  return { reason: 'hostPath volumes', detail: `${plural('volume', names.length)} ${quoted(names)}` };
};

export const hostPorts: PodCheck = (pod) => {
  const ports = new Set<string>();
  const names: string[] = [];
  for (const { name = '', ports: all = [] } of containersOf(pod)) {
    const used = all.flatMap(({ hostPort }) => (hostPort ? [String(hostPort)] : []));
    for (const port of used) ports.add(port);
    if (used.length > 0) names.push(name);
  }
  if (names.length === 0) return undefined;
  const uses = names.length === 1 ? 'uses' : 'use';
  const list = sorted(ports).join(', ');
  return { reason: 'hostPort', detail: `${namedContainers(names)} ${uses} ${plural('hostPort', ports.size)} ${list}` };
};

export const privileged: PodCheck = (pod) => {
  const names = containersWith(pod, (context) => context.privileged === true);
  if (names.length === 0) return undefined;
  return { reason: 'privileged', detail: `${namedContainers(names)} must not set securityContext.privileged=true` };
};

export const procMount: PodCheck = (pod) => {
  const values = new Set<string>();
  const names = containersWith(pod, ({ procMount: mount }) => {
    if (mount === undefined || mount === 'Default') return false;
    values.add(mount);
    return true;
  });
  if (names.length === 0) return undefined;
  const set = quoted(sorted(values));
  return { reason: 'procMount', detail: `${namedContainers(names)} must not set securityContext.procMount to ${set}` };
};

const firstLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t'];

/** `more`: types that later releases allow too. */
export const seLinuxOptions = (more: readonly string[] = []): PodCheck => {
  const allowed: ReadonlySet<string> = new Set([...firstLinuxTypes, ...more]);
  return (pod) => {
    const types = new Set<string>();
    let [setsUser, setsRole] = [false, false];
    const setters = settersOf(pod, ({ seLinuxOptions: options }) => {
      if (!options) return false;
      const { type = '', user = '', role = '' } = options;
      if (!allowed.has(type)) types.add(type);
      setsUser ||= user !== '';
      setsRole ||= role !== '';
      return !allowed.has(type) || user !== '' || role !== '';
    });
    const named = namedSetters(setters);
    if (named === '') return undefined;
    const problems = [
      ...(types.size > 0 ? [`${plural('type', types.size)} ${quoted(sorted(types))}`] : []),
      ...(setsUser ? ['user may not be set'] : []),
      ...(setsRole ? ['role may not be set'] : []),
    ];
    const detail = `${named} set forbidden securityContext.seLinuxOptions: ${problems.join('; ')}`;
    return { reason: 'seLinuxOptions', detail };
  };
};

/** Before release 1.19 profiles were annotations. */
export const seccompAnnotations: PodCheck = (pod) => {
  const { annotations, domain } = pod;
  const { seccompOfPod, seccompOf } = profileAnnotations({ domain });
  const keys = [seccompOfPod, ...containersOf(pod).map(({ name }) => seccompOf(name))];
  const bad = keys.flatMap((key) => {
    const value = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    return value === undefined || isSeccompValueAllowed(value) ? [] : [`${key}=${JSON.stringify(value)}`];
  });
  const list = sorted(bad);
  if (list.length === 0) return undefined;
  return { reason: 'seccompProfile', detail: `forbidden ${plural('annotation', list.length)} ${list.join(', ')}` };
};

const isSeccompValueAllowed = (value: string): boolean =>
  value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');

export const seccompProfile: PodCheck = (pod) => {
  const values = new Set<string>();
  const setters = settersOf(pod, ({ seccompProfile: profile }) => {
    if (!profile || isProfileAllowed(profile)) return false;
    values.add(profile.type ?? '');
    return true;
  });
  const named = namedSetters(setters);
  if (named === '') return undefined;
  const detail = `${named} must not set securityContext.seccompProfile.type to ${quoted(sorted(values))}`;
  return { reason: 'seccompProfile', detail };
};

const firstSysctls = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
];

/** `more`: parameters that later releases allow too. */
export const sysctls = (more: readonly string[] = []): PodCheck => {
  const allowed: ReadonlySet<string> = new Set([...firstSysctls, ...more]);
  return ({ spec }) => {
    const names = (spec.securityContext?.sysctls ?? []).map(({ name = '' }) => name);
    const bad = names.filter((name) => !allowed.has(name));
    return bad.length === 0 ? undefined : { reason: 'forbidden sysctls', detail: bad.join(', ') };
  };
};

export const windowsHostProcess: PodCheck = (pod): PodFinding | undefined => {
  const named = namedSetters(settersOf(pod, ({ windowsOptions }) => windowsOptions?.hostProcess === true));
  if (named === '') return undefined;
  return { reason: 'hostProcess', detail: `${named} must not set securityContext.windowsOptions.hostProcess=true` };
};
