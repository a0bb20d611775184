import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFieldError } from '../../../../meta/field-error.ts';
import {
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
  volumes,
} from '../pod-fixture.ts';

const c = 'spec.containers[0]';

const named =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const spreadPath = 'spec.topologySpreadConstraints[0]';
const hard = 'requiredDuringSchedulingIgnoredDuringExecution';
const windows = (options: Sent): Sent => secure({ windowsOptions: options });
const user = `${c}.securityContext.windowsOptions.runAsUserName: Invalid value`;
const projected = (...sources: Sent[]): Sent => volumes({ name: 'p', projected: { sources } });
const template = (metadata: Sent, spec: Sent = {}): Sent =>
  volumes({
    name: 'e',
    ephemeral: {
      volumeClaimTemplate: {
        metadata,
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
      },
    },
  });
const ephemeral = 'spec.volumes[0].ephemeral.volumeClaimTemplate';

/** Invalid pods, and all that kube-apiserver says of each, in its order. */
const said: readonly (readonly [Sent, ...string[]])[] = [
  [
    containerWith({ resources: { requests: { memory: '2Gi' }, limits: { memory: '1024Mi' } } }),
    `${c}.resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi`,
  ],
  [
    containerWith({
      ports: [
        { name: 'a', containerPort: 0 },
        { name: 'a', containerPort: 70000, hostPort: 70000, protocol: 'X' },
      ],
    }),
    `${c}.ports[0].containerPort: Required value`,
    `${c}.ports[1].name: Duplicate value: "a"`,
    `${c}.ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
    `${c}.ports[1].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
    `${c}.ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
  ],
  [
    podWith({ topologySpreadConstraints: [{}] }),
    `${spreadPath}.maxSkew: Invalid value: 0: must be greater than zero`,
    `${spreadPath}.topologyKey: Required value: can not be empty`,
    `${spreadPath}.whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`,
  ],
  [
    spread({ minDomains: -1, whenUnsatisfiable: 'ScheduleAnyway', nodeTaintsPolicy: 'X', matchLabelKeys: ['a b'] }),
    `${spreadPath}.minDomains: Invalid value: -1: must be greater than zero`,
    `${spreadPath}.minDomains: Invalid value: -1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway`,
    `${spreadPath}.nodeTaintsPolicy: Unsupported value: "X": supported values: "Honor", "Ignore"`,
    `${spreadPath}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
    `${spreadPath}.matchLabelKeys[0]: Invalid value: "a b": ${named}`,
  ],
  [
    podWith({
      topologySpreadConstraints: [1, 2].map((maxSkew) => ({
        ...{ maxSkew, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway' },
      })),
    }),
    `${spreadPath}.{topologyKey, whenUnsatisfiable}: Duplicate value: "{a, ScheduleAnyway}"`,
  ],
  [
    podWith({ schedulingGates: [{ name: 'a' }, { name: 'a' }, { name: 'a b' }] }),
    'spec.schedulingGates[1]: Duplicate value: "a"',
    `spec.schedulingGates[2]: Invalid value: "a b": ${named}`,
  ],
  [
    podWith({ readinessGates: [{}] }),
    'spec.readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
    `spec.readinessGates[0].conditionType: Invalid value: "": ${named}`,
  ],
  [
    nodeTerm({ matchExpressions: [{ key: 'a', operator: 'X' }], matchFields: [{ key: 'metadata.name' }] }),
    `spec.affinity.nodeAffinity.${hard}.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`,
    `spec.affinity.nodeAffinity.${hard}.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "": not a valid selector operator`,
  ],
  [
    podWith({ affinity: { nodeAffinity: { [hard]: {} } } }),
    `spec.affinity.nodeAffinity.${hard}.nodeSelectorTerms: Required value: must have at least one node selector term`,
  ],
  [
    podWith({
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ preference: {} }] } },
    }),
    'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100',
  ],
  [
    podWith({ tolerations: [{ operator: 'X', effect: 'Y', tolerationSeconds: 1 }] }),
    'spec.tolerations[0].operator: Invalid value: "X": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    `spec.tolerations[0].effect: Invalid value: "Y": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
    'spec.tolerations[0].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
    'spec.tolerations[0].effect: Unsupported value: "Y": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
  ],
  [podWith({ os: {} }), 'spec.os.name: Required value: cannot be empty'],
  [podWith({ os: { name: 'beos' } }), 'spec.os: Unsupported value: "beos": supported values: "linux", "windows"'],
  [
    env({ name: 'A', value: 'b', valueFrom: {} }),
    `${c}.env[0].valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\` or \`secretKeyRef\``,
  ],
  [
    env({ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.other' } } }),
    `${c}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.other": error converting fieldPath: field label not supported: spec.other`,
  ],
  [
    env({ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '3' } } }),
    `${c}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
  ],
  [
    env({ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.ephemeral-storage', divisor: '3' } } }),
    `${c}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.ephemeral-storage": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource`,
  ],
  [
    probe({ httpGet: { scheme: 'X', httpHeaders: [{}] }, terminationGracePeriodSeconds: 0 }),
    `${c}.livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
    `${c}.livenessProbe.httpGet.scheme: Unsupported value: "X": supported values: "HTTP", "HTTPS"`,
    `${c}.livenessProbe.httpGet.httpHeaders: Invalid value: "": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
    `${c}.livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
  ],
  [
    probe({ exec: { command: ['a'] }, grpc: { port: -1 } }),
    `${c}.livenessProbe.grpc: Forbidden: may not specify more than 1 handler type`,
  ],
  [
    mounted({ mountPropagation: 'X', recursiveReadOnly: 'Y' }),
    `${c}.volumeMounts.mountPropagation: Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"`,
    `${c}.volumeMounts.recursiveReadOnly: Unsupported value: "Y": supported values: "Disabled", "Enabled", "IfPossible"`,
  ],
  [
    containerWith({ volumeMounts: [{}] }),
    `${c}.volumeMounts[0].name: Required value`,
    `${c}.volumeMounts[0].name: Not found: ""`,
    `${c}.volumeMounts[0].mountPath: Required value`,
  ],
  [
    secure({ seccompProfile: { localhostProfile: 'a' } }),
    `${c}.securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set`,
    `${c}.securityContext.seccompProfile.localhostProfile: Invalid value: core.SeccompProfile{Type:"", LocalhostProfile:(*string)(0xc000000000)}: can only be set when seccomp type is Localhost`,
  ],
  [
    secure({ appArmorProfile: { localhostProfile: 'a' } }),
    `${c}.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set`,
  ],
  [
    podWith({ securityContext: { sysctls: [{ name: 'A', value: '' }] } }),
    'spec.securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
  ],
  [
    windows({ gmsaCredentialSpec: '', runAsUserName: '' }),
    `${c}.securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
    `${user}: "": runAsUserName cannot be an empty string`,
  ],
  [windows({ runAsUserName: 'a\u0001' }), `${user}: "a\\u0001": runAsUserName cannot contain control characters`],
  [
    windows({ runAsUserName: 'a\\b\\c' }),
    `${user}: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash`,
  ],
  [
    windows({ runAsUserName: '?\\b' }),
    `${user}: "?\\\\b": runAsUserName's Domain doesn't match the NetBios nor the DNS format`,
  ],
  [windows({ runAsUserName: '..' }), `${user}: "..": runAsUserName's User cannot contain only periods and spaces`],
  [
    windows({ runAsUserName: 'a/b' }),
    `${user}: "a/b": runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`,
  ],
  [
    windows({ runAsUserName: 'x'.repeat(105) }),
    `${user}: "${'x'.repeat(105)}": runAsUserName's User length must not be longer than 104 characters`,
  ],
  [
    podWith({
      securityContext: { windowsOptions: { hostProcess: true } },
      containers: [
        { name: 'a', image: 'i', securityContext: { windowsOptions: { hostProcess: false } } },
        { name: 'b', image: 'i' },
      ],
    }),
    'spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true',
    'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers',
    'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers',
  ],
  [
    podWith({ initContainers: [{ name: 'i', image: 'a', restartPolicy: 'X', lifecycle: { postStart: {} } }] }),
    'spec.initContainers[0].restartPolicy: Unsupported value: "X": supported values: "Always"',
    'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
  ],
  [
    projected(
      { configMap: { name: 'a', items: [{ key: 'k', path: 'p' }] } },
      { secret: { name: 'b', items: [{ key: 'k', path: 'p' }] } },
      { downwardAPI: { items: [{ mode: -1 }] }, serviceAccountToken: { expirationSeconds: 1 } },
    ),
    'spec.volumes[0].projected: Invalid value: "b": conflicting duplicate paths',
    'spec.volumes[0].projected.sources[2].downwardAPI.path: Required value',
    'spec.volumes[0].projected.sources[2].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required',
    'spec.volumes[0].projected.sources[2].downwardAPI.mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive',
    'spec.volumes[0].projected.sources[2].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
    'spec.volumes[0].projected.path: Required value',
    'spec.volumes[0].projected.sources[2]: Forbidden: may not specify more than 1 volume type per source',
    'spec.volumes[0].projected.sources[2].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set',
  ],
  [
    volumes({ name: 'g', gcePersistentDisk: { partition: -1 } }),
    'spec.volumes[0].persistentDisk.pdName: Required value',
    'spec.volumes[0].persistentDisk.partition: Invalid value: -1: must be between 1 and 255, inclusive',
  ],
  [
    template({ uid: 'u' }, { dataSource: {} }),
    `${ephemeral}.metadata.uID: Forbidden: cannot be set`,
    `${ephemeral}.spec.dataSource.name: Required value`,
    `${ephemeral}.spec.dataSource.kind: Required value`,
    `${ephemeral}.spec.dataSource: Invalid value: "": must be 'PersistentVolumeClaim' when referencing the default apiGroup`,
  ],
];

for (const [sent, ...texts] of said) {
  test(`said of a pod: ${texts[0]}`, () => {
    const { errors } = created(sent);
    assert.deepEqual(
      errors.map((error) => `${error.field}: ${describeFieldError(error)}`),
      texts,
    );
  });
}
