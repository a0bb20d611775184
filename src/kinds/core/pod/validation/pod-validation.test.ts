import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../../base/limits.ts';
import {
  causes,
  containerWith,
  created,
  env,
  mounted,
  nodeTerm,
  podWith,
  probe,
  type Sent,
  secure,
  spread,
  volume,
  volumes,
} from '../pod-fixture.ts';

const c = 'spec.containers[0]';
const resources = (fields: Sent): Sent => containerWith({ resources: fields });
const near = (term: Sent): Sent =>
  podWith({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } });

/** Rule, invalid pod, expected causes. */
const bad: readonly (readonly [string, Sent, ...string[]])[] = [
  ['no container', podWith({ containers: [] }), 'FieldValueRequired spec.containers'],
  ['no spec', { metadata: { name: 'web' } }, 'FieldValueRequired spec.containers'],
  ['container without name', podWith({ containers: [{ image: 'a' }] }), `FieldValueRequired ${c}.name`],
  ['bad container name', podWith({ containers: [{ name: 'A_b', image: 'a' }] }), `FieldValueInvalid ${c}.name`],
  ['no image', podWith({ containers: [{ name: 'app' }] }), `FieldValueRequired ${c}.image`],
  ['image with space', podWith({ containers: [{ name: 'app', image: ' a' }] }), `FieldValueInvalid ${c}.image`],
  [
    'container twice',
    podWith({
      containers: [
        { name: 'app', image: 'a' },
        { name: 'app', image: 'a' },
      ],
    }),
    'FieldValueDuplicate spec.containers[1].name',
  ],
  [
    'init container named as a container',
    podWith({ initContainers: [{ name: 'app', image: 'a' }] }),
    'FieldValueDuplicate spec.initContainers[0].name',
  ],
  [
    'probe on init container',
    podWith({ initContainers: [{ name: 'i', image: 'a', readinessProbe: { exec: { command: ['x'] } } }] }),
    'FieldValueForbidden spec.initContainers[0].readinessProbe',
  ],
  [
    'init container with unknown restart policy',
    podWith({ initContainers: [{ name: 'i', image: 'a', restartPolicy: 'Never' }] }),
    'FieldValueNotSupported spec.initContainers[0].restartPolicy',
  ],
  ['restart policy on container', containerWith({ restartPolicy: 'Always' }), `FieldValueForbidden ${c}.restartPolicy`],
  [
    'ephemeral container on create',
    podWith({ ephemeralContainers: [{ name: 'd', image: 'a' }] }),
    'FieldValueForbidden spec.ephemeralContainers',
  ],
  ['unknown restart policy', podWith({ restartPolicy: 'Maybe' }), 'FieldValueNotSupported spec.restartPolicy'],
  ['unknown DNS policy', podWith({ dnsPolicy: 'x' }), 'FieldValueNotSupported spec.dnsPolicy'],
  ['unknown pull policy', containerWith({ imagePullPolicy: 'x' }), `FieldValueNotSupported ${c}.imagePullPolicy`],

  ['volume without name', volumes({ emptyDir: {} }), 'FieldValueRequired spec.volumes[0].name'],
  ['bad volume name', volumes({ name: 'a.b', emptyDir: {} }), 'FieldValueInvalid spec.volumes[0].name'],
  ['volume twice', volumes(volume, volume), 'FieldValueDuplicate spec.volumes[1].name'],
  ['two sources', volumes({ ...volume, hostPath: { path: '/x' } }), 'FieldValueForbidden spec.volumes[0].hostPath'],
  [
    'host path up',
    volumes({ name: 'h', hostPath: { path: '/a/../b' } }),
    'FieldValueInvalid spec.volumes[0].hostPath.path',
  ],
  [
    'host path of unknown type',
    volumes({ name: 'h', hostPath: { path: '/a', type: 'x' } }),
    'FieldValueNotSupported spec.volumes[0].hostPath.type',
  ],
  [
    'negative size',
    volumes({ name: 'e', emptyDir: { sizeLimit: '-1' } }),
    'FieldValueForbidden spec.volumes[0].emptyDir.sizeLimit',
  ],
  ['secret without name', volumes({ name: 's', secret: {} }), 'FieldValueRequired spec.volumes[0].secret.secretName'],
  [
    'config map without name',
    volumes({ name: 's', configMap: {} }),
    'FieldValueRequired spec.volumes[0].configMap.name',
  ],
  [
    'mode out of range',
    volumes({ name: 's', secret: { secretName: 's', defaultMode: 0o1000 } }),
    'FieldValueInvalid spec.volumes[0].secret.defaultMode',
  ],
  [
    'item out of its directory',
    volumes({ name: 's', secret: { secretName: 's', items: [{ key: 'a', path: '../a' }] } }),
    'FieldValueInvalid spec.volumes[0].secret.items[0].path',
  ],
  [
    'file of nothing',
    volumes({ name: 'd', downwardAPI: { items: [{ path: 'a' }] } }),
    'FieldValueRequired spec.volumes[0].downwardAPI',
  ],
  [
    'file of an unknown field',
    volumes({ name: 'd', downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } }] } }),
    'FieldValueNotSupported spec.volumes[0].downwardAPI.fieldRef.fieldPath',
  ],
  [
    'resource of no container',
    volumes({ name: 'd', downwardAPI: { items: [{ path: 'a', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
    'FieldValueRequired spec.volumes[0].downwardAPI.resourceFieldRef.containerName',
  ],
  [
    'same path twice in a projected volume',
    volumes({
      name: 'p',
      projected: {
        sources: ['a', 'b'].map((name) => ({ secret: { name, items: [{ key: 'k', path: 'same' }] } })),
      },
    }),
    'FieldValueInvalid spec.volumes[0].projected',
  ],
  [
    'token that expires too soon, of no account',
    volumes({ name: 'p', projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 599 } }] } }),
    'FieldValueForbidden spec.volumes[0].projected.sources[0].serviceAccountToken',
    'FieldValueInvalid spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds',
  ],
  [
    'trust bundle by name and signer',
    volumes({
      name: 'p',
      projected: { sources: [{ clusterTrustBundle: { name: 'n', signerName: 's', path: 'ca' } }] },
    }),
    'FieldValueInvalid spec.volumes[0].projected.sources[0].clusterTrustBundle',
  ],
  [
    'relative NFS path',
    volumes({ name: 'n', nfs: { server: 's', path: 'x' } }),
    'FieldValueInvalid spec.volumes[0].nfs.path',
  ],
  ['fibre channel without target', volumes({ name: 'f', fc: {} }), 'FieldValueRequired spec.volumes[0].fc.targetWWNs'],
  [
    'claim template without a size',
    volumes({ name: 'e', ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'] } } } }),
    'FieldValueRequired spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]',
  ],
  [
    'CSI volume without driver',
    volumes({ name: 'c', csi: {} }),
    'FieldValueRequired spec.volumes[0].csi.driver',
    'FieldValueInvalid spec.volumes[0].csi.driver',
  ],

  ['mount of nothing', mounted({ name: 'other' }), `FieldValueNotFound ${c}.volumeMounts[0].name`],
  [
    'mount without path',
    containerWith({ volumeMounts: [{ name: 'data' }] }, { volumes: [volume] }),
    `FieldValueRequired ${c}.volumeMounts[0].mountPath`,
  ],
  [
    'two mounts at one path',
    containerWith(
      {
        volumeMounts: [
          { name: 'data', mountPath: '/a' },
          { name: 'data', mountPath: '/a' },
        ],
      },
      { volumes: [volume] },
    ),
    `FieldValueInvalid ${c}.volumeMounts[1].mountPath`,
  ],
  ['sub path up', mounted({ subPath: '../x' }), `FieldValueInvalid ${c}.volumeMounts.subPath`],
  ['sub path twice', mounted({ subPath: 'a', subPathExpr: 'b' }), `FieldValueInvalid ${c}.volumeMounts[0].subPathExpr`],
  [
    'mounts shown to the node',
    mounted({ mountPropagation: 'Bidirectional' }),
    `FieldValueForbidden ${c}.volumeMounts.mountPropagation`,
  ],
  [
    'recursively read-only, and not read-only',
    mounted({ recursiveReadOnly: 'Enabled' }),
    `FieldValueForbidden ${c}.volumeMounts.recursiveReadOnly`,
  ],
  [
    'device of a directory',
    containerWith({ volumeDevices: [{ name: 'data', devicePath: '/dev/x' }] }, { volumes: [volume] }),
    `FieldValueInvalid ${c}.volumeDevices[0].name`,
  ],

  ['port 0', containerWith({ ports: [{ containerPort: 0 }] }), `FieldValueRequired ${c}.ports[0].containerPort`],
  ['no port', containerWith({ ports: [{ name: 'a' }] }), `FieldValueRequired ${c}.ports[0].containerPort`],
  [
    'host port too large',
    containerWith({ ports: [{ containerPort: 1, hostPort: 65536 }] }),
    `FieldValueInvalid ${c}.ports[0].hostPort`,
  ],
  [
    'unknown protocol',
    containerWith({ ports: [{ containerPort: 1, protocol: 'x' }] }),
    `FieldValueNotSupported ${c}.ports[0].protocol`,
  ],
  [
    'bad port name',
    containerWith({ ports: [{ containerPort: 1, name: '123' }] }),
    `FieldValueInvalid ${c}.ports[0].name`,
  ],
  [
    'port name twice',
    containerWith({
      ports: [
        { containerPort: 1, name: 'a' },
        { containerPort: 2, name: 'a' },
      ],
    }),
    `FieldValueDuplicate ${c}.ports[1].name`,
  ],
  [
    'host port twice',
    containerWith({
      ports: [
        { containerPort: 1, hostPort: 80 },
        { containerPort: 2, hostPort: 80 },
      ],
    }),
    `FieldValueDuplicate ${c}.ports[1].hostPort`,
  ],
  [
    'another port on the network of the node',
    containerWith({ ports: [{ containerPort: 1, hostPort: 80 }] }, { hostNetwork: true }),
    `FieldValueInvalid ${c}.ports[0].hostPort`,
  ],

  ['variable without name', env({ value: 'x' }), `FieldValueRequired ${c}.env[0].name`],
  ['bad variable name', env({ name: 'a=b' }), `FieldValueInvalid ${c}.env[0].name`],
  ['value from nothing', env({ name: 'A', valueFrom: {} }), `FieldValueInvalid ${c}.env[0].valueFrom`],
  [
    'value twice',
    env({ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }),
    `FieldValueInvalid ${c}.env[0].valueFrom`,
  ],
  [
    'two sources of a value',
    env({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' }, secretKeyRef: { name: 's', key: 'k' } } }),
    `FieldValueInvalid ${c}.env[0].valueFrom`,
  ],
  [
    'unknown field',
    env({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }),
    `FieldValueNotSupported ${c}.env[0].valueFrom.fieldRef.fieldPath`,
  ],
  [
    'unknown resource',
    env({ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.gpu' } } }),
    `FieldValueNotSupported ${c}.env[0].valueFrom.resourceFieldRef.resource`,
  ],
  [
    'unknown unit',
    env({ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1m' } } }),
    `FieldValueInvalid ${c}.env[0].valueFrom.resourceFieldRef.divisor`,
  ],
  [
    'bad key',
    env({ name: 'A', valueFrom: { configMapKeyRef: { name: 'm', key: 'a/b' } } }),
    `FieldValueInvalid ${c}.env[0].valueFrom.configMapKeyRef.key`,
  ],
  ['variables from nothing', containerWith({ envFrom: [{}] }), `FieldValueInvalid ${c}.envFrom`],
  [
    'variables from two sources',
    containerWith({ envFrom: [{ secretRef: { name: 's' }, configMapRef: { name: 'c' } }] }),
    `FieldValueInvalid ${c}.envFrom`,
  ],
  [
    'variables of no name',
    containerWith({ envFrom: [{ secretRef: {} }] }),
    `FieldValueRequired ${c}.envFrom[0].secretRef.name`,
  ],

  ['probe without handler', probe({}), `FieldValueRequired ${c}.livenessProbe`],
  [
    'probe with two handlers',
    probe({ exec: { command: ['x'] }, tcpSocket: { port: 1 } }),
    `FieldValueForbidden ${c}.livenessProbe.tcpSocket`,
  ],
  ['probe without command', probe({ exec: {} }), `FieldValueRequired ${c}.livenessProbe.exec.command`],
  ['probe without port', probe({ httpGet: {} }), `FieldValueInvalid ${c}.livenessProbe.httpGet.port`],
  ['probe of port 0', probe({ httpGet: { port: 0 } }), `FieldValueInvalid ${c}.livenessProbe.httpGet.port`],
  [
    'probe of a bad port name',
    probe({ tcpSocket: { port: 'a--b' } }),
    `FieldValueInvalid ${c}.livenessProbe.tcpSocket.port`,
  ],
  [
    'probe with a bad header',
    probe({ httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: '' }] } }),
    `FieldValueInvalid ${c}.livenessProbe.httpGet.httpHeaders`,
  ],
  [
    'probe with unknown scheme',
    probe({ httpGet: { port: 1, scheme: 'FTP' } }),
    `FieldValueNotSupported ${c}.livenessProbe.httpGet.scheme`,
  ],
  [
    'negative delay',
    probe({ grpc: { port: 1 }, initialDelaySeconds: -1 }),
    `FieldValueInvalid ${c}.livenessProbe.initialDelaySeconds`,
  ],
  [
    'two successes to live',
    probe({ grpc: { port: 1 }, successThreshold: 2 }),
    `FieldValueInvalid ${c}.livenessProbe.successThreshold`,
  ],
  [
    'grace period of a readiness probe',
    containerWith({ readinessProbe: { grpc: { port: 1 }, terminationGracePeriodSeconds: 5 } }),
    `FieldValueInvalid ${c}.readinessProbe.terminationGracePeriodSeconds`,
  ],
  [
    'sleep beyond the grace period',
    containerWith({ lifecycle: { preStop: { sleep: { seconds: 31 } } } }),
    `FieldValueInvalid ${c}.lifecycle.preStop.sleep`,
  ],

  [
    'request above limit',
    resources({ requests: { cpu: '2' }, limits: { cpu: '1500m' } }),
    `FieldValueInvalid ${c}.resources.requests`,
  ],
  ['negative amount', resources({ requests: { memory: '-1' } }), `FieldValueInvalid ${c}.resources.requests[memory]`],
  [
    'unknown resource',
    resources({ requests: { disk: '1' } }),
    `FieldValueInvalid ${c}.resources.requests[disk]`,
    `FieldValueInvalid ${c}.resources.requests[disk]`,
  ],
  [
    'part of a device',
    resources({ limits: { 'example.com/gpu': '500m' } }),
    `FieldValueInvalid ${c}.resources.limits[example.com/gpu]`,
    `FieldValueInvalid ${c}.resources.requests[example.com/gpu]`,
  ],
  [
    'fewer devices than the limit',
    resources({ limits: { 'example.com/gpu': '2' }, requests: { 'example.com/gpu': '1' } }),
    `FieldValueInvalid ${c}.resources.requests`,
  ],
  [
    'devices without limit',
    resources({ requests: { 'example.com/gpu': '1' } }),
    `FieldValueRequired ${c}.resources.limits`,
  ],
  ['huge pages alone', resources({ limits: { 'hugepages-2Mi': '4Mi' } }), `FieldValueForbidden ${c}.resources`],
  ['unknown claim', resources({ claims: [{ name: 'x' }] }), `FieldValueNotFound ${c}.resources.claims[0].name`],
  ['negative overhead', podWith({ overhead: { cpu: '-1' } }), 'FieldValueInvalid spec.overhead.limits[cpu]'],
  ['claim from nothing', podWith({ resourceClaims: [{ name: 'a' }] }), 'FieldValueInvalid spec.resourceClaims[0]'],

  ['user id out of range', secure({ runAsUser: -1 }), `FieldValueInvalid ${c}.securityContext.runAsUser`],
  [
    'group id out of range',
    podWith({ securityContext: { fsGroup: 2 ** 31 } }),
    'FieldValueInvalid spec.securityContext.fsGroup',
  ],
  [
    'privileged, and without escalation',
    secure({ privileged: true, allowPrivilegeEscalation: false }),
    `FieldValueInvalid ${c}.securityContext.allowPrivilegeEscalation`,
  ],
  [
    'profile of the node without a file',
    secure({ seccompProfile: { type: 'Localhost' } }),
    `FieldValueRequired ${c}.securityContext.seccompProfile.localhostProfile`,
  ],
  [
    'file of another profile',
    secure({ appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } }),
    `FieldValueInvalid ${c}.securityContext.appArmorProfile.localhostProfile`,
  ],
  [
    'profile without type',
    secure({ seccompProfile: {} }),
    `FieldValueRequired ${c}.securityContext.seccompProfile.type`,
  ],
  [
    'bad sysctl',
    podWith({ securityContext: { sysctls: [{ name: 'A', value: '1' }] } }),
    'FieldValueInvalid spec.securityContext.sysctls[0].name',
  ],
  [
    'shared processes of pod and node',
    podWith({ hostPID: true, shareProcessNamespace: true }),
    'FieldValueInvalid spec.securityContext.shareProcessNamespace',
  ],
  [
    'own users on the network of the node',
    podWith({ hostUsers: false, hostNetwork: true }),
    'FieldValueForbidden spec.hostNetwork',
  ],
  [
    'settings of the other system',
    podWith({ os: { name: 'windows' }, hostPID: true }),
    'FieldValueForbidden spec.hostPID',
  ],
  ['unknown system', podWith({ os: { name: 'beos' } }), 'FieldValueNotSupported spec.os'],

  ['deadline 0', podWith({ activeDeadlineSeconds: 0 }), 'FieldValueInvalid spec.activeDeadlineSeconds'],
  ['bad host name', podWith({ hostname: 'a.b' }), 'FieldValueInvalid spec.hostname'],
  ['bad subdomain', podWith({ subdomain: 'A' }), 'FieldValueInvalid spec.subdomain'],
  ['bad node name', podWith({ nodeName: 'A' }), 'FieldValueInvalid spec.nodeName'],
  ['bad account name', podWith({ serviceAccountName: 'A' }), 'FieldValueInvalid spec.serviceAccountName'],
  ['bad priority class', podWith({ priorityClassName: 'A' }), 'FieldValueInvalid spec.priorityClassName'],
  ['bad runtime class', podWith({ runtimeClassName: 'A' }), 'FieldValueInvalid spec.runtimeClassName'],
  ['unknown preemption', podWith({ preemptionPolicy: 'x' }), 'FieldValueNotSupported spec.preemptionPolicy'],
  ['bad node label', podWith({ nodeSelector: { 'a b': 'x' } }), 'FieldValueInvalid spec.nodeSelector'],

  [
    'toleration of every key, by value',
    podWith({ tolerations: [{ value: 'x' }] }),
    'FieldValueInvalid spec.tolerations[0].operator',
  ],
  [
    'toleration by existence and value',
    podWith({ tolerations: [{ key: 'k', operator: 'Exists', value: 'x' }] }),
    'FieldValueInvalid spec.tolerations[0].operator',
  ],
  [
    'toleration by an unknown operator',
    podWith({ tolerations: [{ key: 'k', operator: 'In' }] }),
    'FieldValueNotSupported spec.tolerations[0].operator',
  ],
  [
    'toleration for a time of another effect',
    podWith({ tolerations: [{ key: 'k', effect: 'NoSchedule', tolerationSeconds: 1 }] }),
    'FieldValueInvalid spec.tolerations[0].effect',
  ],

  [
    'no node term',
    podWith({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
    }),
    'FieldValueRequired spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
  ],
  [
    'node condition without values',
    nodeTerm({ matchExpressions: [{ key: 'k', operator: 'In' }] }),
    'FieldValueRequired spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values',
  ],
  [
    'unknown node field',
    nodeTerm({ matchFields: [{ key: 'spec.x', operator: 'In', values: ['a'] }] }),
    'FieldValueInvalid spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key',
  ],
  [
    'weight 0',
    podWith({
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, preference: {} }] } },
    }),
    'FieldValueInvalid spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight',
  ],
  [
    'near by nothing',
    near({ labelSelector: {} }),
    'FieldValueRequired spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey',
    'FieldValueInvalid spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey',
    'FieldValueInvalid spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey',
  ],
  [
    'near by an unknown operator',
    near({ topologyKey: 'zone', labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] } }),
    'FieldValueInvalid spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator',
  ],
  ['skew 0', spread({ maxSkew: 0 }), 'FieldValueInvalid spec.topologySpreadConstraints[0].maxSkew'],
  [
    'unknown spread',
    spread({ whenUnsatisfiable: 'x' }),
    'FieldValueNotSupported spec.topologySpreadConstraints[0].whenUnsatisfiable',
  ],
  [
    'domains of a soft spread',
    spread({ whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }),
    'FieldValueInvalid spec.topologySpreadConstraints[0].minDomains',
  ],
  [
    'label keys without a selector',
    spread({ matchLabelKeys: ['a'] }),
    'FieldValueForbidden spec.topologySpreadConstraints[0].matchLabelKeys',
  ],

  ['bad host alias', podWith({ hostAliases: [{ ip: 'x' }] }), 'FieldValueInvalid spec.hostAliases[0].ip'],
  ['no DNS settings', podWith({ dnsPolicy: 'None' }), 'FieldValueRequired spec.dnsConfig'],
  [
    'too many name servers',
    podWith({ dnsConfig: { nameservers: ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'] } }),
    'FieldValueInvalid spec.dnsConfig.nameservers',
  ],
  [
    'too many searches',
    podWith({ dnsConfig: { searches: Array(33).fill('a') } }),
    'FieldValueInvalid spec.dnsConfig.searches',
  ],
  ['option without name', podWith({ dnsConfig: { options: [{}] } }), 'FieldValueRequired spec.dnsConfig.options[0]'],
  [
    'gate twice',
    podWith({ schedulingGates: [{ name: 'a' }, { name: 'a' }] }),
    'FieldValueDuplicate spec.schedulingGates[1]',
  ],
  [
    'node in spite of gates',
    podWith({ nodeName: 'n', schedulingGates: [{ name: 'a' }] }),
    'FieldValueForbidden spec.nodeName',
  ],
  [
    'bad readiness gate',
    podWith({ readinessGates: [{ conditionType: 'a b' }] }),
    'FieldValueInvalid spec.readinessGates[0].conditionType',
  ],
];

for (const [rule, sent, ...expected] of bad) {
  test(`refused: ${rule}`, () => {
    assert.deepEqual(causes(created(sent)), [...expected].sort());
  });
}

/** Valid pods close to a rule. */
const good: readonly (readonly [string, Sent])[] = [
  ['the smallest pod', podWith({})],
  ['a negative grace period', podWith({ terminationGracePeriodSeconds: -5 })],
  ['a grace period beyond what numbers hold', podWith({ terminationGracePeriodSeconds: 2n ** 62n })],
  ['a volume without source', volumes({ name: 'v' })],
  [
    'one port for two protocols',
    containerWith({ ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }] }),
  ],
  ['the same port twice', containerWith({ ports: [{ containerPort: 53 }, { containerPort: 53 }] })],
  ['a variable twice', env({ name: 'A', value: '1' }, { name: 'A', value: '2' })],
  ['a variable with dots', env({ name: 'a.b c', value: '1' })],
  ['one label as a variable', env({ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['x.io/a']" } } })],
  ['a pull secret twice', podWith({ imagePullSecrets: [{ name: 'a' }, { name: 'a' }] })],
  [
    'a sidecar with a probe',
    podWith({
      initContainers: [{ name: 's', image: 'a', restartPolicy: 'Always', livenessProbe: { tcpSocket: { port: 1 } } }],
    }),
  ],
  ['ports of the node', containerWith({ ports: [{ containerPort: 80 }] }, { hostNetwork: true })],
  ['devices by limit', resources({ limits: { 'example.com/gpu': 2 } })],
  ['huge pages with memory', resources({ limits: { 'hugepages-2Mi': '4Mi', memory: '1Gi' } })],
  ['every taint tolerated', podWith({ tolerations: [{ operator: 'Exists' }] })],
  ['a file named with dots', volumes({ name: 's', secret: { secretName: 's', items: [{ key: 'a', path: 'a..b' }] } })],
  ['probes with zeros', probe({ grpc: { port: 1 }, timeoutSeconds: 0, periodSeconds: 0 })],
  [
    'a preferred node by a value no label has',
    podWith({
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b c'] }] } },
          ],
        },
      },
    }),
  ],
];

for (const [what, sent] of good) {
  test(`allowed: ${what}`, () => {
    assert.deepEqual(causes(created(sent)), []);
  });
}

test('the number of reported errors is bounded', () => {
  const many = Array.from({ length: limits.podPartsMax / 4 }, (_, index) => index);
  const { errors } = created(
    containerWith(
      {
        env: many.map(() => ({ name: '=' })),
        volumeMounts: many.map((index) => ({ name: `v${index}`, mountPath: '/a' })),
      },
      { tolerations: many.map(() => ({ value: ' ' })), dnsConfig: { searches: many.map(() => '_') } },
    ),
  );
  assert.ok(errors.length > limits.findingsMax && errors.length < 10 * limits.findingsMax, `${errors.length}`);
});
