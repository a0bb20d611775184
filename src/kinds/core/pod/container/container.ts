import { always, bool, documentedEnum, enumInOrder, enumOf, type Infer, int32, list, mergeList, opt, ptr, req, string, struct } from '../../../../schema/schema.ts';
import { containerResizePolicy, resourceRequirements } from './container-resources.ts';
import { envFromSource, envVar } from './env.ts';
import { lifecycle } from './lifecycle.ts';
import { probe } from './probe.ts';
import { securityContext } from './security-context.ts';
import { volumeDevice, volumeMount } from './volume-mount.ts';

const containerPort = struct('api.core.v1.ContainerPort', 'A network port of a container.', {
  name: opt(1, string(), 'Name of the port, unique in the pod, that services can refer to.'),
  hostPort: opt(2, int32(), 'Port of the node that leads to this one.'),
  containerPort: always(3, int32(), 'Port number in the pod, from 1 to 65535.'),
  protocol: opt(4, documentedEnum('TCP', 'UDP', 'SCTP'), 'Transport protocol of the port.', { default: 'TCP' }),
  hostIP: opt(5, string(), 'Address of the node that the host port is bound to.'),
});

/** Parts of a container in the order in which they are checked. */
const checkedFirst = [
  ...['name', 'image', 'terminationMessagePolicy', 'ports', 'env', 'envFrom', 'volumeMounts', 'volumeDevices', 'imagePullPolicy'],
  ...['resources', 'resizePolicy', 'securityContext', 'lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'],
];

export const container = struct(
  'api.core.v1.Container',
  'A program from an image that runs inside a pod.',
  {
    name: req(1, string({ format: 'dnsLabel' }), 'Name of the container, a DNS label that is unique in the pod and never changes.'),
    image: opt(2, string(), 'Image to run.'),
    command: opt(3, list(string()), "Program and its first arguments, in place of the image's entry point."),
    args: opt(4, list(string()), 'Arguments of the program, in place of those of the image.'),
    workingDir: opt(5, string(), 'Directory in which the program starts, in place of that of the image.'),
    ports: opt(
      6,
      mergeList('containerPort', containerPort, { mapKeys: ['containerPort', 'protocol'], duplicatesAllowed: true }),
      'Ports that the container listens on; a port left out here is reachable all the same.',
    ),
    envFrom: opt(19, list(envFromSource), 'Config maps and secrets whose entries become environment variables.'),
    env: opt(7, mergeList('name', envVar, { duplicatesAllowed: true }), 'Environment variables; they win over those of `envFrom`.'),
    resources: always(8, resourceRequirements, 'Computing resources that the container needs and may use.'),
    resizePolicy: opt(23, list(containerResizePolicy, { unique: { by: ['resourceName'], at: 'element' } }), 'Whether a change of a resource restarts the container.', {
      gate: 'InPlacePodVerticalScaling',
    }),
    restartPolicy: ptr(24, string(), 'Restart rule of this container; `Always`, on an init container, makes it run beside the main ones.'),
    volumeMounts: opt(9, mergeList('mountPath', volumeMount, { duplicatesAllowed: true }), "Volumes of the pod that appear in the container's file system."),
    volumeDevices: opt(21, mergeList('devicePath', volumeDevice, { duplicatesAllowed: true }), 'Block devices of the pod that appear in the container.'),
    livenessProbe: ptr(10, probe, 'Check that restarts the container when it fails.'),
    readinessProbe: ptr(11, probe, 'Check that takes the pod out of its services while it fails.'),
    startupProbe: ptr(22, probe, 'Check that holds back the other checks until the container has started up.'),
    lifecycle: ptr(12, lifecycle, 'Actions to run after the container started and before it is stopped.'),
    terminationMessagePath: opt(13, string(), 'File in the container whose text becomes the message of its end.', { default: '/dev/termination-log' }),
    terminationMessagePolicy: opt(20, enumInOrder('File', 'FallbackToLogsOnError'), 'Whether the message of the end may come from the log when the file is empty.', { default: 'File' }),
    imagePullPolicy: opt(14, enumOf('Always', 'Never', 'IfNotPresent'), 'When the image is fetched; `Always` for the tag `latest`, otherwise `IfNotPresent`, unless set.'),
    securityContext: ptr(15, securityContext, 'Security settings of the container, which win over those of the pod.'),
    stdin: opt(16, bool(), 'Keep an input stream open for the container.'),
    stdinOnce: opt(17, bool(), 'Close the input stream after the first client has left.'),
    tty: opt(18, bool(), 'Give the container a terminal; needs `stdin`.'),
  },
  { checkedFirst },
);

export type Container = Infer<typeof container>;

export type ContainerPort = Infer<typeof containerPort>;
