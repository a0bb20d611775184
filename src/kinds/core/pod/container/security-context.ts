import { always, bool, documentedEnum, enumOf, type Infer, int64, list, opt, ptr, req, string, struct, undocumentedEnum } from '../../../../schema/schema.ts';

/** Largest user or group ID. */
export const idMax = 2 ** 31 - 1;

const seLinuxOptions = struct('api.core.v1.SELinuxOptions', 'Labels for SELinux.', {
  user: opt(1, string(), 'SELinux user.'),
  role: opt(2, string(), 'SELinux role.'),
  type: opt(3, string(), 'SELinux type.'),
  level: opt(4, string(), 'SELinux level.'),
});

const windowsSecurityContextOptions = struct('api.core.v1.WindowsSecurityContextOptions', 'Security settings that only Windows containers have.', {
  gmsaCredentialSpecName: ptr(1, string(), 'Name of the managed service account credential to use.'),
  gmsaCredentialSpec: ptr(2, string(), 'Text of the managed service account credential.'),
  runAsUserName: ptr(3, string(), 'Name of the Windows user that runs the program.'),
  hostProcess: ptr(4, bool(), 'Run as a process of the node; the same for all containers of the pod.'),
});

const sysctl = struct('api.core.v1.Sysctl', 'A kernel parameter.', {
  name: req(1, string(), 'Name of the parameter.'),
  value: always(2, string(), 'Value of the parameter.'),
});

export const seccompProfile = struct(
  'api.core.v1.SeccompProfile',
  'Filter for system calls.',
  {
    type: always(1, documentedEnum('Unconfined', 'RuntimeDefault', 'Localhost'), 'Which kind of profile is used.'),
    localhostProfile: ptr(2, string(), 'File of the profile on the node; only and always with type `Localhost`.'),
  },
  { documentedUnion: { discriminator: 'type', fields: ['localhostProfile'] } },
);

const appArmorProfile = struct(
  'api.core.v1.AppArmorProfile',
  'AppArmor profile.',
  {
    type: always(1, documentedEnum('Unconfined', 'RuntimeDefault', 'Localhost'), 'Which kind of profile is used.'),
    localhostProfile: ptr(2, string(), 'Name of the profile on the node; only and always with type `Localhost`.'),
  },
  { documentedUnion: { discriminator: 'type', fields: ['localhostProfile'] } },
);

export const podSecurityContext = struct(
  'api.core.v1.PodSecurityContext',
  'Security settings of a pod, which are also defaults for its containers.',
  {
    seLinuxOptions: ptr(1, seLinuxOptions, 'SELinux labels of all containers.'),
    windowsOptions: ptr(8, windowsSecurityContextOptions, 'Settings for Windows containers.'),
    runAsUser: ptr(2, int64({ minimum: 0, maximum: idMax }), 'User id of the programs.'),
    runAsGroup: ptr(6, int64({ minimum: 0, maximum: idMax }), 'Group id of the programs.'),
    runAsNonRoot: ptr(3, bool(), 'Refuse to start a container that would run as user 0.'),
    supplementalGroups: opt(4, list(int64({ minimum: 0, maximum: idMax })), 'Further group ids of the programs.'),
    supplementalGroupsPolicy: ptr(12, enumOf('Merge', 'Strict'), 'Whether group memberships that the image defines are added.', { gate: 'SupplementalGroupsPolicy' }),
    fsGroup: ptr(5, int64({ minimum: 0, maximum: idMax }), 'Group id that owns the volumes which support it.'),
    sysctls: opt(7, list(sysctl, { unique: { by: ['name'] } }), 'Kernel parameters of the pod.'),
    fsGroupChangePolicy: ptr(9, enumOf('OnRootMismatch', 'Always'), "When the owner of a volume's files is changed to `fsGroup`."),
    seccompProfile: ptr(10, seccompProfile, 'Filter for system calls.'),
    appArmorProfile: ptr(11, appArmorProfile, 'AppArmor profile of the containers.'),
    seLinuxChangePolicy: ptr(13, undocumentedEnum('MountOption', 'Recursive'), 'How SELinux labels get onto the volumes: `Recursive` or `MountOption`.', { gate: 'SELinuxChangePolicy' }),
  },
  { checkedFirst: ['fsGroup', 'runAsUser', 'runAsGroup', 'supplementalGroups', 'sysctls', 'fsGroupChangePolicy', 'seccompProfile', 'windowsOptions', 'appArmorProfile'] },
);

const capabilities = struct('api.core.v1.Capabilities', 'Capabilities that are added and dropped.', {
  add: opt(1, list(string()), 'Capabilities to add.'),
  drop: opt(2, list(string()), 'Capabilities to drop.'),
});

export const securityContext = struct('api.core.v1.SecurityContext', 'Security settings of a container.', {
  capabilities: ptr(1, capabilities, 'Capabilities to add to and drop from those of the container runtime.'),
  privileged: ptr(2, bool(), 'Run with all rights of root on the node.'),
  seLinuxOptions: ptr(3, seLinuxOptions, 'SELinux labels of the container.'),
  windowsOptions: ptr(10, windowsSecurityContextOptions, 'Settings for Windows containers.'),
  runAsUser: ptr(4, int64({ minimum: 0, maximum: idMax }), 'User id of the program.'),
  runAsGroup: ptr(8, int64({ minimum: 0, maximum: idMax }), 'Group id of the program.'),
  runAsNonRoot: ptr(5, bool(), 'Refuse to start the container if it would run as user 0.'),
  readOnlyRootFilesystem: ptr(6, bool(), 'Mount the root file system of the container read-only.'),
  allowPrivilegeEscalation: ptr(7, bool(), 'Whether a program may gain more rights than the one that started it.'),
  procMount: ptr(9, enumOf('Default', 'Unmasked'), 'How the process file system appears in the container.', {
    gate: 'ProcMountType',
    whileOff: { becomes: 'Default' },
  }),
  seccompProfile: ptr(11, seccompProfile, 'Filter for system calls.'),
  appArmorProfile: ptr(12, appArmorProfile, 'AppArmor profile of the container.'),
});

export type WindowsOptions = Infer<typeof windowsSecurityContextOptions>;

export type SecurityContext = Infer<typeof securityContext>;

export type PodSecurityContext = Infer<typeof podSecurityContext>;
