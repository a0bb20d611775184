import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { kubernetes } from '../../../dialect/kubernetes.ts';
import { orch } from '../../../dialect/orch.ts';
import type { PodSpec } from './pod-spec.ts';
import { podWarnings } from './pod-warnings.ts';

/** Published texts, of a pod and of a template, in the dialect of kube-apiserver. */

interface Given {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

const container = { name: 'c', image: 'i' };
const warningsOf = ({ annotations = {}, spec = {} }: Given, path = ''): readonly string[] =>
  podWarnings(
    { metadata: { annotations }, spec: { containers: [container], ...spec } as unknown as PodSpec },
    { path, dialect: kubernetes },
  );
const withPorts = (...ports: object[][]): Given => ({
  spec: {
    containers: ports.map((each, index) => ({
      name: `c${index}`,
      ports: each.map((port) => ({ protocol: 'TCP', containerPort: 80, ...port })),
    })),
  },
});
const withPreference = (expression: object): Given => ({
  spec: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
        preferredDuringSchedulingIgnoredDuringExecution: [{ preference: { matchExpressions: [expression] } }],
      },
    },
  },
});
const withClaim = (resources: object): Given => ({
  spec: { volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: { resources } } } }] },
});
const securityContext = (fields: object) => ({ spec: { securityContext: fields } });
const profile = { type: 'RuntimeDefault' };

const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const ofPod = 'seccomp.security.alpha.kubernetes.io/pod';
const ofContainer = 'container.seccomp.security.alpha.kubernetes.io/c';
const appArmor = 'container.apparmor.security.beta.kubernetes.io/c';

/** Texts without the place of the template. */
const rows: readonly (readonly [what: string, given: Given, texts: readonly string[]])[] = [
  ['nothing', {}, []],
  [
    'a selector with former labels',
    {
      spec: {
        nodeSelector: {
          'kubernetes.io/os': 'linux',
          'beta.kubernetes.io/os': 'linux',
          'beta.kubernetes.io/arch': 'amd64',
          'failure-domain.beta.kubernetes.io/region': 'r',
        },
      },
    },
    [
      'spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      'spec.nodeSelector[failure-domain.beta.kubernetes.io/region]: deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    ],
  ],
  [
    'affinity for nodes with former labels',
    withPreference({ key: 'beta.kubernetes.io/instance-type', operator: 'Exists' }),
    [
      'required DuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]',
      'preferred DuringSchedulingIgnoredDuringExecution[0].preference',
    ].map(
      (place) =>
        `spec.affinity.nodeAffinity.${place.replace(' ', '')}.matchExpressions[0].key: beta.kubernetes.io/instance-type is deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
    ),
  ],
  ['affinity for nodes with other labels', withPreference({ key: 'zone', operator: 'Exists' }), []],
  [
    'spreading by a former label',
    { spec: { topologySpreadConstraints: [{ topologyKey: 'failure-domain.beta.kubernetes.io/zone' }] } },
    [
      'spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
      'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
    ],
  ],
  [
    'annotations that do nothing',
    {
      annotations: {
        'scheduler.alpha.kubernetes.io/critical-pod': '',
        'security.alpha.kubernetes.io/sysctls': 'a=1',
        'security.alpha.kubernetes.io/unsafe-sysctls': 'b=1',
      },
    },
    [
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
      'metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
      'metadata.annotations[security.alpha.kubernetes.io/unsafe-sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
    ],
  ],
  [
    'annotations with seccomp profiles',
    { annotations: { [ofPod]: 'runtime/default', [ofContainer]: 'runtime/default', [`${ofContainer}x`]: '' } },
    [`metadata.annotations[${ofPod}]: ${seccomp}`, `metadata.annotations[${ofContainer}]: ${seccomp}`],
  ],
  [
    'that of a pod, beside the field',
    { annotations: { [ofPod]: 'x', [ofContainer]: 'x' }, ...securityContext({ seccompProfile: profile }) },
    [`metadata.annotations[${ofContainer}]: ${seccomp}`],
  ],
  [
    'that of a container, beside the field',
    {
      annotations: { [ofContainer]: 'x' },
      spec: { containers: [{ ...container, securityContext: { seccompProfile: profile } }] },
    },
    [],
  ],
  [
    'storage of a claim in parts of bytes',
    withClaim({ requests: { storage: '1500m' }, limits: { storage: '2500m' } }),
    [
      'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
    ],
  ],
  ['storage of a claim in bytes', withClaim({ requests: { storage: '1Gi' } }), []],
  [
    'amounts in parts of bytes, by their names',
    {
      spec: {
        containers: [
          {
            ...container,
            resources: {
              limits: { memory: '1m', 'ephemeral-storage': '2m' },
              requests: { memory: '3m', 'ephemeral-storage': '4m' },
            },
          },
        ],
      },
    },
    [
      'spec.containers[0].resources.limits[memory]: fractional byte value "1m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "3m" is invalid, must be an integer',
      'spec.containers[0].resources.limits[ephemeral-storage]: fractional byte value "2m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[ephemeral-storage]: fractional byte value "4m" is invalid, must be an integer',
    ],
  ],
  [
    'an address of the node without a port',
    withPorts([{ name: 'http', hostIP: '10.0.0.1' }]),
    [
      'spec.containers[0].ports[0]: hostIP set without hostPort: {Name:http HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}',
    ],
  ],
  [
    'the same port twice',
    withPorts([{ name: 'a' }, { name: 'b' }]),
    ['spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]'],
  ],
  [
    'the same port in two containers',
    withPorts([{}], [{}]),
    ['spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]'],
  ],
  ['the same port with another protocol', withPorts([{}, { protocol: 'UDP' }]), []],
  ['the same port at two ports of the node', withPorts([{ hostPort: 80 }, { hostPort: 81 }]), []],
  [
    'the same port, once at a port of the node',
    withPorts([{ hostPort: 80 }, {}]),
    ['spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]'],
  ],
  [
    'the same port of the node, once of one of its addresses',
    withPorts([{ hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80 }]),
    ['spec.containers[0].ports[1]: dangerously ambiguous port definition with spec.containers[0].ports[0]'],
  ],
  [
    'the same port of two addresses of the node',
    withPorts([
      { hostPort: 80, hostIP: '10.0.0.1' },
      { hostPort: 80, hostIP: '10.0.0.2' },
    ]),
    [],
  ],
  [
    'ports of all kinds of containers',
    {
      spec: {
        containers: [{ name: 'c', ports: [{ containerPort: 1 }] }],
        initContainers: [{ ports: [{ containerPort: 1 }] }],
      },
    },
    ['spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]'],
  ],
];

for (const [what, given, texts] of rows) {
  test(`warnings about a pod: ${what}`, () => {
    assert.deepEqual(warningsOf(given), texts);
    const inTemplate = texts.map((text) => text.replace(/(^|with )(spec|metadata)\./g, '$1spec.template.$2.'));
    assert.deepEqual(warningsOf(given, 'spec.template'), inTemplate);
  });
}

const former = `metadata.annotations[${appArmor}]: deprecated since v1.30; use the "appArmorProfile" field instead`;

test('warnings about a pod: AppArmor profiles of templates in annotations', () => {
  const annotations = { [appArmor]: 'unconfined' };
  assert.deepEqual(warningsOf({ annotations }, 'template'), [`template.${former}`]);
  assert.deepEqual(warningsOf({ annotations, ...securityContext({ appArmorProfile: profile }) }, 'template'), []);
  assert.deepEqual(warningsOf({ annotations }), [], 'a pod is told when it is prepared');
});

test('warnings about a pod: keys have the domain of the dialect', () => {
  const given = { spec: { containers: [], nodeSelector: { 'beta.orch.io/os': 'x', 'beta.kubernetes.io/os': 'x' } } };
  assert.deepEqual(podWarnings(given, { path: '', dialect: orch }), [
    'spec.nodeSelector[beta.orch.io/os]: deprecated since v1.14; use "orch.io/os" instead',
  ]);
});

test('warnings about a pod: there is an end to those about ports', () => {
  const ports = Array.from({ length: 2_000 }, () => ({}));
  const { length } = warningsOf(withPorts(ports));
  assert.ok(length >= limits.warningsMax && length <= 2 * limits.warningsMax, String(length));
});
