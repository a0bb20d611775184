import { boolean, type Infer, int32, list, optional, required, string, struct } from '../../../schema/schema.ts';
import { containerResizePolicy, resourceRequirements } from './container-resources.ts';
import { envFromSource, envVar } from './env.ts';
import { lifecycle } from './lifecycle.ts';
import { probe } from './probe.ts';
import { securityContext } from './security-context.ts';
import { volumeDevice, volumeMount } from './volume-mount.ts';

export const containerPort = struct('api.core.v1.ContainerPort', 'A network port of a container.', {
  name: optional(1, string(), 'Name of the port, unique in the pod, that services can refer to.'),
  hostPort: optional(2, int32({ minimum: 1, maximum: 65535 }), 'Port of the node that leads to this one.'),
  containerPort: required(3, int32({ minimum: 1, maximum: 65535 }), 'Port number in the pod, from 1 to 65535.'),
  protocol: optional(4, string({ enum: ['TCP', 'UDP', 'SCTP'] }), 'Transport protocol of the port.', {
    default: 'TCP',
  }),
  hostIP: optional(5, string(), 'Address of the node that the host port is bound to.'),
});

export const container = struct('api.core.v1.Container', 'A program from an image that runs inside a pod.', {
  name: required(
    1,
    string({ format: 'dnsLabel' }),
    'Name of the container, a DNS label that is unique in the pod and never changes.',
  ),
  image: optional(2, string(), 'Image to run.'),
  command: optional(3, list(string()), "Program and its first arguments, in place of the image's entry point."),
  args: optional(4, list(string()), 'Arguments of the program, in place of those of the image.'),
  workingDir: optional(5, string(), 'Directory in which the program starts, in place of that of the image.'),
  ports: optional(
    6,
    list(containerPort, {
      patchStrategy: 'merge',
      patchMergeKey: 'containerPort',
      mapKeys: ['containerPort', 'protocol'],
      unique: { by: ['name'] },
    }),
    'Ports that the container listens on; a port left out here is reachable all the same.',
  ),
  envFrom: optional(19, list(envFromSource), 'Config maps and secrets whose entries become environment variables.'),
  env: optional(
    7,
    list(envVar, { patchStrategy: 'merge', patchMergeKey: 'name', duplicatesAllowed: true }),
    'Environment variables; they win over those of `envFrom`.',
  ),
  resources: optional(8, resourceRequirements, 'Computing resources that the container needs and may use.', {
    presence: 'always',
  }),
  resizePolicy: optional(
    23,
    list(containerResizePolicy, { unique: { by: ['resourceName'], at: 'element' } }),
    'Whether a change of a resource restarts the container.',
  ),
  restartPolicy: optional(
    24,
    string({ enum: ['Always'] }),
    'Restart rule of this container; `Always`, on an init container, makes it run beside the main ones.',
    { presence: 'explicit' },
  ),
  volumeMounts: optional(
    9,
    list(volumeMount, { patchStrategy: 'merge', patchMergeKey: 'mountPath', duplicatesAllowed: true }),
    "Volumes of the pod that appear in the container's file system.",
  ),
  volumeDevices: optional(
    21,
    list(volumeDevice, { patchStrategy: 'merge', patchMergeKey: 'devicePath', duplicatesAllowed: true }),
    'Block devices of the pod that appear in the container.',
  ),
  livenessProbe: optional(10, probe, 'Check that restarts the container when it fails.', { presence: 'explicit' }),
  readinessProbe: optional(11, probe, 'Check that takes the pod out of its services while it fails.', {
    presence: 'explicit',
  }),
  startupProbe: optional(22, probe, 'Check that holds back the other checks until the container has started up.', {
    presence: 'explicit',
  }),
  lifecycle: optional(12, lifecycle, 'Actions to run after the container started and before it is stopped.', {
    presence: 'explicit',
  }),
  terminationMessagePath: optional(13, string(), 'File in the container whose text becomes the message of its end.', {
    default: '/dev/termination-log',
  }),
  terminationMessagePolicy: optional(
    20,
    string({ enum: ['File', 'FallbackToLogsOnError'] }),
    'Whether the message of the end may come from the log when the file is empty.',
    { default: 'File' },
  ),
  imagePullPolicy: optional(
    14,
    string({ enum: ['Always', 'Never', 'IfNotPresent'] }),
    'When the image is fetched; `Always` for the tag `latest`, otherwise `IfNotPresent`, unless set.',
  ),
  securityContext: optional(
    15,
    securityContext,
    'Security settings of the container, which win over those of the pod.',
    { presence: 'explicit' },
  ),
  stdin: optional(16, boolean(), 'Keep an input stream open for the container.'),
  stdinOnce: optional(17, boolean(), 'Close the input stream after the first client has left.'),
  tty: optional(18, boolean(), 'Give the container a terminal; needs `stdin`.'),
});

export type Container = Infer<typeof container>;

export type ContainerPort = Infer<typeof containerPort>;
