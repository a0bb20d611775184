import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podTemplateText } from './pod-template-text.ts';

/** Names of the fields of a struct in a text, without those of structs within it. */
function fieldsOf(struct: string, text: string): string {
  const start = text.search(new RegExp(`(?<!\\])${struct}\\{`)) + struct.length + 1;
  let [depth, names] = [0, ''];
  for (let at = start; depth >= 0 && at < text.length; at++) {
    if (depth === 0) names += text[at];
    if (text[at] === '{') depth++;
    if (text[at] === '}') depth--;
  }
  return [...names.matchAll(/(\w+):/g)].map(([, name]) => name).join(' ');
}

const template = podTemplateText({
  spec: {
    containers: [{ name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    ephemeralContainers: [{ name: 'e' }],
    volumes: [{ name: 'v', emptyDir: {} }],
  },
});

const container =
  'Name Image Command Args WorkingDir Ports EnvFrom Env Resources ResizePolicy RestartPolicy VolumeMounts VolumeDevices LivenessProbe ReadinessProbe StartupProbe Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext Stdin StdinOnce TTY';

const structs: readonly (readonly [struct: string, fields: string])[] = [
  ['core.PodTemplateSpec', 'ObjectMeta Spec'],
  [
    'core.PodSpec',
    'Volumes InitContainers Containers EphemeralContainers RestartPolicy TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName AutomountServiceAccountToken NodeName SecurityContext ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN Affinity SchedulerName Tolerations HostAliases PriorityClassName Priority PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName Overhead EnableServiceLinks TopologySpreadConstraints OS SchedulingGates ResourceClaims Resources',
  ],
  ['core.Volume', 'Name VolumeSource'],
  [
    'core.VolumeSource',
    'HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS ISCSI Glusterfs PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile ConfigMap VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image',
  ],
  ['core.Container', container],
  ['core.EphemeralContainer', 'EphemeralContainerCommon TargetContainerName'],
  ['core.EphemeralContainerCommon', container],
  ['core.VolumeMount', 'Name ReadOnly RecursiveReadOnly MountPath SubPath MountPropagation SubPathExpr'],
];

for (const [struct, fields] of structs) {
  test(`a template in an error shows ${struct} as Go has it`, () => assert.equal(fieldsOf(struct, template), fields));
}

test('pointers to named strings show their type', () => {
  const types = [...template.matchAll(/(\w+):\(\*core\.(\w+(?:Policy|Mode))\)\(nil\)/g)].map(
    ([, field, type]) => `${field} ${type}`,
  );
  assert.deepEqual([...new Set(types)].sort(), [
    'MountPropagation MountPropagationMode',
    'PreemptionPolicy PreemptionPolicy',
    'RecursiveReadOnly RecursiveReadOnlyMode',
    'RestartPolicy ContainerRestartPolicy',
  ]);
});
