import { boolean, type Infer, int64, list, optional, required, string, struct } from '../../../schema/schema.ts';

/** Largest user or group id. */
const idMax = 2 ** 31 - 1;

const seLinuxOptions = struct('api.core.v1.SELinuxOptions', 'Labels for SELinux.', {
  user: optional(1, string(), 'SELinux user.'),
  role: optional(2, string(), 'SELinux role.'),
  type: optional(3, string(), 'SELinux type.'),
  level: optional(4, string(), 'SELinux level.'),
});

const windowsSecurityContextOptions = struct(
  'api.core.v1.WindowsSecurityContextOptions',
  'Security settings that only Windows containers have.',
  {
    gmsaCredentialSpecName: optional(1, string(), 'Name of the managed service account credential to use.', {
      presence: 'explicit',
    }),
    gmsaCredentialSpec: optional(2, string(), 'Text of the managed service account credential.', {
      presence: 'explicit',
    }),
    runAsUserName: optional(3, string(), 'Name of the Windows user that runs the program.', { presence: 'explicit' }),
    hostProcess: optional(4, boolean(), 'Run as a process of the node; the same for all containers of the pod.', {
      presence: 'explicit',
    }),
  },
);

const sysctl = struct('api.core.v1.Sysctl', 'A kernel parameter.', {
  name: required(1, string(), 'Name of the parameter.'),
  value: optional(2, string(), 'Value of the parameter.', { presence: 'always' }),
});

const seccompProfile = struct('api.core.v1.SeccompProfile', 'Filter for system calls.', {
  type: required(1, string({ enum: ['Unconfined', 'RuntimeDefault', 'Localhost'] }), 'Which kind of profile is used.'),
  localhostProfile: optional(2, string(), 'File of the profile on the node; only and always with type `Localhost`.', {
    presence: 'explicit',
  }),
});

const appArmorProfile = struct('api.core.v1.AppArmorProfile', 'AppArmor profile.', {
  type: required(1, string({ enum: ['Unconfined', 'RuntimeDefault', 'Localhost'] }), 'Which kind of profile is used.'),
  localhostProfile: optional(2, string(), 'Name of the profile on the node; only and always with type `Localhost`.', {
    presence: 'explicit',
  }),
});

export const podSecurityContext = struct(
  'api.core.v1.PodSecurityContext',
  'Security settings of a pod, which are also defaults for its containers.',
  {
    seLinuxOptions: optional(1, seLinuxOptions, 'SELinux labels of all containers.', { presence: 'explicit' }),
    windowsOptions: optional(8, windowsSecurityContextOptions, 'Settings for Windows containers.', {
      presence: 'explicit',
    }),
    runAsUser: optional(2, int64({ minimum: 0, maximum: idMax }), 'User id of the programs.', { presence: 'explicit' }),
    runAsGroup: optional(6, int64({ minimum: 0, maximum: idMax }), 'Group id of the programs.', {
      presence: 'explicit',
    }),
    runAsNonRoot: optional(3, boolean(), 'Refuse to start a container that would run as user 0.', {
      presence: 'explicit',
    }),
    supplementalGroups: optional(4, list(int64({ minimum: 0, maximum: idMax })), 'Further group ids of the programs.'),
    supplementalGroupsPolicy: optional(
      12,
      string({ enum: ['Merge', 'Strict'] }),
      'Whether group memberships that the image defines are added.',
      { presence: 'explicit' },
    ),
    fsGroup: optional(5, int64({ minimum: 0, maximum: idMax }), 'Group id that owns the volumes which support it.', {
      presence: 'explicit',
    }),
    sysctls: optional(7, list(sysctl, { unique: { by: ['name'] } }), 'Kernel parameters of the pod.'),
    fsGroupChangePolicy: optional(
      9,
      string({ enum: ['OnRootMismatch', 'Always'] }),
      "When the owner of a volume's files is changed to `fsGroup`.",
      { presence: 'explicit' },
    ),
    seccompProfile: optional(10, seccompProfile, 'Filter for system calls.', { presence: 'explicit' }),
    appArmorProfile: optional(11, appArmorProfile, 'AppArmor profile of the containers.', { presence: 'explicit' }),
    seLinuxChangePolicy: optional(
      13,
      string({ enum: ['MountOption', 'Recursive'] }),
      'How SELinux labels get onto the volumes: `Recursive` or `MountOption`.',
      { presence: 'explicit' },
    ),
  },
);

const capabilities = struct('api.core.v1.Capabilities', 'Capabilities that are added and dropped.', {
  add: optional(1, list(string()), 'Capabilities to add.'),
  drop: optional(2, list(string()), 'Capabilities to drop.'),
});

export const securityContext = struct('api.core.v1.SecurityContext', 'Security settings of a container.', {
  capabilities: optional(1, capabilities, 'Capabilities to add to and drop from those of the container runtime.', {
    presence: 'explicit',
  }),
  privileged: optional(2, boolean(), 'Run with all rights of root on the node.', { presence: 'explicit' }),
  seLinuxOptions: optional(3, seLinuxOptions, 'SELinux labels of the container.', { presence: 'explicit' }),
  windowsOptions: optional(10, windowsSecurityContextOptions, 'Settings for Windows containers.', {
    presence: 'explicit',
  }),
  runAsUser: optional(4, int64({ minimum: 0, maximum: idMax }), 'User id of the program.', { presence: 'explicit' }),
  runAsGroup: optional(8, int64({ minimum: 0, maximum: idMax }), 'Group id of the program.', { presence: 'explicit' }),
  runAsNonRoot: optional(5, boolean(), 'Refuse to start the container if it would run as user 0.', {
    presence: 'explicit',
  }),
  readOnlyRootFilesystem: optional(6, boolean(), 'Mount the root file system of the container read-only.', {
    presence: 'explicit',
  }),
  allowPrivilegeEscalation: optional(
    7,
    boolean(),
    'Whether a program may gain more rights than the one that started it.',
    { presence: 'explicit' },
  ),
  procMount: optional(
    9,
    string({ enum: ['Default', 'Unmasked'] }),
    'How the process file system appears in the container.',
    { presence: 'explicit' },
  ),
  seccompProfile: optional(11, seccompProfile, 'Filter for system calls.', { presence: 'explicit' }),
  appArmorProfile: optional(12, appArmorProfile, 'AppArmor profile of the container.', { presence: 'explicit' }),
});

export type SecurityContext = Infer<typeof securityContext>;

export type PodSecurityContext = Infer<typeof podSecurityContext>;
