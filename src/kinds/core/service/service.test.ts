import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../../dialect/orch.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { createLater, filled, read, type Sent, update, updateLater } from '../../strategy-fixture.ts';
import { service } from './service.ts';

const kind = service(orch);
const annotated = (annotations: Readonly<Record<string, string>>): Sent => ({ metadata: { annotations } });
const port = { port: 80 };
const balancer = { type: 'LoadBalancer', ports: [port] };
const clientIp = { sessionAffinity: 'ClientIP', ports: [port] };
const made = (spec: Sent, others: Sent = {}) => createLater(kind, filled(kind, { ...others, spec }));

const longLabel = /^spec\.ports\[0\]\.name: Invalid value: "A": a lowercase RFC 1123 label/;
const addressText = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const cidrText = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
const onlyBalancer = "Forbidden: may only be used when `type` is 'LoadBalancer'";
const unset = 'Forbidden: may not be set for ExternalName services';
const hints = 'service.orch.io/topology-aware-hints';
const mode = 'service.orch.io/topology-mode';
const ranges = 'service.beta.orch.io/load-balancer-source-ranges';

const rows: readonly (readonly [why: string, spec: Sent, errors: readonly (string | RegExp)[], others?: Sent])[] = [
  ['the least', { ports: [port] }, []],
  ['no ports', {}, ['spec.ports: Required value']],
  ['headless without ports', { clusterIP: 'None' }, []],
  [
    'hints and a mode that differ',
    { ports: [port] },
    [`metadata.annotations[${mode}]: Invalid value: "a": must match annotations[${hints}] when both are specified`],
    annotated({ [hints]: 'b', [mode]: 'a' }),
  ],
  ['hints and a mode that agree', { ports: [port] }, [], annotated({ [hints]: 'a', [mode]: 'a' })],
  [
    'an unknown type',
    { type: 'x', ports: [port] },
    ['spec.type: Unsupported value: "x": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'],
  ],
  [
    'the port of agents',
    { type: 'LoadBalancer', ports: [{ port: 10250 }] },
    ['spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by node-agent'],
  ],
  ...['LoadBalancer', 'NodePort'].map((type): [string, Sent, string[]] => [
    `headless ${type}`,
    { type, clusterIP: 'None', ports: [port] },
    [`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for ${type} services`],
  ]),
  ['an external name', { type: 'ExternalName', externalName: 'a.b.' }, []],
  ['no external name', { type: 'ExternalName' }, ['spec.externalName: Required value']],
  [
    'a bad external name',
    { type: 'ExternalName', externalName: '_' },
    [/^spec\.externalName: Invalid value: "_": a lowercase RFC 1123 subdomain/],
  ],
  [
    'an external name with addresses',
    {
      type: 'ExternalName',
      externalName: 'a',
      clusterIP: '10.0.0.1',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
    },
    [`spec.clusterIPs: ${unset}`, `spec.ipFamilies: ${unset}`, `spec.ipFamilyPolicy: ${unset}`],
  ],
  [
    'ports without names',
    { ports: [port, { port: 81 }] },
    ['spec.ports[0].name: Required value', 'spec.ports[1].name: Required value'],
  ],
  [
    'names twice',
    {
      ports: [
        { ...port, name: 'a' },
        { port: 81, name: 'a' },
      ],
    },
    ['spec.ports[1].name: Duplicate value: "a"'],
  ],
  ['a bad name', { ports: [{ ...port, name: 'A' }] }, [longLabel]],
  [
    'bad numbers',
    { ports: [{ port: 0, targetPort: 70000 }] },
    [
      'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
  ],
  [
    'a bad name of a target',
    { ports: [{ ...port, targetPort: 'a--b' }] },
    ['spec.ports[0].targetPort: Invalid value: "a--b": must not contain consecutive hyphens'],
  ],
  [
    'an unknown protocol',
    { ports: [{ ...port, protocol: 'x' }] },
    ['spec.ports[0].protocol: Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"'],
  ],
  ['an application with a domain', { ports: [{ ...port, appProtocol: 'a.io/b' }] }, []],
  [
    'a bad application',
    { ports: [{ ...port, appProtocol: 'a.io/b/c' }] },
    [/^spec\.ports\[0\]\.appProtocol: Invalid value: "a\.io\/b\/c"/],
  ],
  ['a bad selector', { ports: [port], selector: { a: '-' } }, [/^spec\.selector: Invalid value: "-": a valid label/]],
  [
    'an unknown affinity',
    { ports: [port], sessionAffinity: 'x' },
    ['spec.sessionAffinity: Unsupported value: "x": supported values: "ClientIP", "None"'],
  ],
  ['affinity of a day', { ...clientIp, sessionAffinityConfig: { clientIP: { timeoutSeconds: 86400 } } }, []],
  ...[0, 86401].map((timeoutSeconds): [string, Sent, string[]] => [
    `affinity of ${timeoutSeconds} s`,
    { ...clientIp, sessionAffinityConfig: { clientIP: { timeoutSeconds } } },
    [
      `spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: ${timeoutSeconds}: must be greater than 0 and less than 86400`,
    ],
  ]),
  [
    'addresses without the first',
    { ports: [port], clusterIPs: ['10.0.0.1'] },
    ['spec.clusterIPs: Invalid value: []string{"10.0.0.1"}: must be empty when `clusterIP` is not specified'],
  ],
  [
    'another first address',
    { ports: [port], clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.1'] },
    ['spec.clusterIPs: Invalid value: []string{"10.0.0.1"}: first value must match `clusterIP`'],
  ],
  ['a bad address', { ports: [port], clusterIP: 'x' }, [`spec.clusterIPs[0]: Invalid value: "x": ${addressText}`]],
  [
    'None and another',
    { ports: [port], clusterIP: 'None', clusterIPs: ['None', '::1'] },
    [`spec.clusterIPs: Invalid value: []string{"None", "::1"}: 'None' must be the first and only value`],
  ],
  [
    'three addresses',
    { ports: [port], clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1', '10.0.0.2'] },
    ['spec.clusterIPs: Invalid value: []string{"10.0.0.1", "fd00::1", "10.0.0.2"}: may only hold up to 2 values'],
  ],
  [
    'two of one family',
    { ports: [port], clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] },
    [
      'spec.clusterIPs: Invalid value: []string{"10.0.0.1", "10.0.0.2"}: may specify no more than one IP for each IP family',
    ],
  ],
  [
    'families that do not fit',
    { ports: [port], clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilies: ['IPv6', 'IPv4'] },
    [
      'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
      'spec.clusterIPs[1]: Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[1]`',
    ],
  ],
  [
    'unknown families',
    { ports: [port], ipFamilies: ['x', 'x'], ipFamilyPolicy: 'y' },
    [
      'spec.ipFamilies[0]: Unsupported value: "x": supported values: "IPv4", "IPv6"',
      'spec.ipFamilies[1]: Unsupported value: "x": supported values: "IPv4", "IPv6"',
      'spec.ipFamilies[1]: Duplicate value: "x"',
      'spec.ipFamilyPolicy: Unsupported value: "y": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
  ],
  [
    'external addresses',
    { ports: [port], externalIPs: ['x', '127.0.0.1', '192.0.2.1'] },
    [
      `spec.externalIPs[0]: Invalid value: "x": ${addressText}`,
      'spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  ],
  [
    'a port of nodes without their type',
    { ports: [{ ...port, nodePort: 30000 }] },
    ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  ],
  [
    'ports twice',
    {
      type: 'NodePort',
      ports: [
        { ...port, name: 'a', nodePort: 30000 },
        { ...port, name: 'b', nodePort: 30000 },
        { ...port, name: 'c', nodePort: 30000, protocol: 'UDP' },
      ],
    },
    [
      'spec.ports[1].nodePort: Duplicate value: 30000',
      'spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
    ],
  ],
  [
    'sources of a service without a balancer',
    { ports: [port], loadBalancerSourceRanges: [' 10.0.0.0/8 ', 'x'] },
    [
      `spec.LoadBalancerSourceRanges: ${onlyBalancer}`,
      `spec.LoadBalancerSourceRanges[1]: Invalid value: "x": ${cidrText}`,
    ],
  ],
  [
    'sources in an annotation',
    balancer,
    [`metadata.annotations[${ranges}]: Invalid value: "y": ${cidrText}`],
    annotated({ [ranges]: '10.0.0.0/8, y' }),
  ],
  [
    'the annotation of a service without a balancer',
    { ports: [port] },
    [`metadata.annotations[${ranges}]: ${onlyBalancer}`],
    annotated({ [ranges]: '' }),
  ],
  [
    'fields of a balancer',
    { ports: [port], allocateLoadBalancerNodePorts: false, loadBalancerClass: 'a' },
    [`spec.allocateLoadBalancerNodePorts: ${onlyBalancer}`, `spec.loadBalancerClass: ${onlyBalancer}`],
  ],
  ['a bad class', { ...balancer, loadBalancerClass: '_' }, [/^spec\.loadBalancerClass: Invalid value: "_": name part/]],
  [
    'unknown traffic from outside',
    { ...balancer, externalTrafficPolicy: 'x' },
    ['spec.externalTrafficPolicy: Unsupported value: "x": supported values: "Cluster", "Local"'],
  ],
  [
    'unknown traffic from outside that cannot come',
    { ports: [port], externalTrafficPolicy: 'x' },
    ['spec.externalTrafficPolicy: Invalid value: "x": may only be set for externally-accessible services'],
  ],
  [
    'health checks at what is no port',
    { ...balancer, externalTrafficPolicy: 'Local', healthCheckNodePort: -1 },
    ['spec.healthCheckNodePort: Invalid value: -1: must be between 1 and 65535, inclusive'],
  ],
  [
    'traffic from outside that cannot come',
    { ports: [port], externalTrafficPolicy: 'Local', healthCheckNodePort: 3 },
    [
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      "spec.healthCheckNodePort: Invalid value: 3: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
  ],
  [
    'an unknown policy',
    {
      type: 'NodePort',
      ports: [port],
      externalTrafficPolicy: 'x',
      internalTrafficPolicy: 'y',
      trafficDistribution: 'z',
    },
    [
      'spec.externalTrafficPolicy: Unsupported value: "x": supported values: "Cluster", "Local"',
      'spec.internalTrafficPolicy: Unsupported value: "y": supported values: "Cluster", "Local"',
      'spec.trafficDistribution: Unsupported value: "z": supported values: "PreferClose"',
    ],
  ],
  ['traffic to what is near', { ports: [port], trafficDistribution: 'PreferClose' }, []],
];

function expectErrors(found: readonly string[], errors: readonly (string | RegExp)[]): void {
  assert.equal(found.length, errors.length, found.join('\n'));
  for (const [index, each] of errors.entries()) {
    if (typeof each === 'string') assert.ok(found.includes(each), `${each}\nnot in\n${found.join('\n')}`);
    else assert.match(found[index] ?? '', each);
  }
}

for (const [why, spec, errors, others] of rows) {
  test(`Service: ${why}`, async () => expectErrors((await made(spec, others)).errors, errors));
}

const stored = (spec: Sent): ApiObject => read(kind, filled(kind, { spec }));
const twoFamilies = { ipFamilies: ['IPv4', 'IPv6'], clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] };
const plain = {
  ports: [port],
  clusterIP: '10.0.0.1',
  clusterIPs: ['10.0.0.1'],
  ipFamilies: ['IPv4'],
  ipFamilyPolicy: 'SingleStack',
};
const local = { ...plain, ...balancer, externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 };

const changes: readonly (readonly [why: string, old: Sent, spec: Sent, errors: readonly string[]])[] = [
  ['nothing', plain, plain, []],
  [
    'the address',
    plain,
    { ...plain, clusterIP: '10.0.0.2' },
    ['spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2"}: may not change once set'],
  ],
  [
    'the family',
    plain,
    { ...plain, ipFamilies: ['IPv6'] },
    ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
  ],
  [
    'headless to an address',
    { ...plain, clusterIP: 'None', clusterIPs: ['None'] },
    plain,
    ['spec.clusterIPs[0]: Invalid value: []string{"10.0.0.1"}: may not change once set'],
  ],
  [
    'the class of a balancer',
    { ...plain, ...balancer, loadBalancerClass: 'a' },
    { ...plain, ...balancer, loadBalancerClass: 'b' },
    ['spec.loadBalancerClass: Invalid value: "b": may not change once set'],
  ],
  [
    'the class of a balancer to none',
    { ...plain, ...balancer, loadBalancerClass: 'a' },
    { ...plain, ...balancer },
    ['spec.loadBalancerClass: Invalid value: "null": may not change once set'],
  ],
  [
    'the port of health checks',
    local,
    { ...local, healthCheckNodePort: 30002 },
    ['spec.healthCheckNodePort: Forbidden: field is immutable'],
  ],
  [
    'two families to one without a word',
    { ...plain, ...twoFamilies, ipFamilyPolicy: 'PreferDualStack' },
    { ...plain, ipFamilyPolicy: 'PreferDualStack' },
    [
      `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be 'SingleStack' to release the secondary cluster IP`,
      `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be 'SingleStack' to release the secondary IP family`,
    ],
  ],
  ['two families to one', { ...plain, ...twoFamilies, ipFamilyPolicy: 'PreferDualStack' }, plain, []],
  ['to an external name', plain, { type: 'ExternalName', externalName: 'a' }, []],
];

for (const [why, old, spec, errors] of changes) {
  test(`Service: an update changes ${why}`, async () =>
    expectErrors((await updateLater(kind, stored(old), filled(kind, { spec }))).errors, errors));
}

test('Service: what an update may not change, whoever filled it in', () => {
  const changed = (spec: Sent) => update(kind, stored({ ...plain, ...twoFamilies }), filled(kind, { spec })).errors;
  const single = { ...plain, ipFamilyPolicy: 'PreferDualStack' };
  expectErrors(changed(single), [
    `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary clusterIP`,
    `spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be set to 'SingleStack' when releasing the secondary ipFamily`,
  ]);
  expectErrors(changed({ ports: [port] }), [
    'spec.clusterIPs[0]: Invalid value: []string(nil): primary clusterIP can not be unset',
    'spec.ipFamilies[0]: Invalid value: []core.IPFamily(nil): primary ipFamily can not be unset',
  ]);
  const turned = { ...plain, ipFamilies: ['IPv6', 'IPv4'], clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.0.0.1'] };
  expectErrors(changed(turned), [
    'spec.clusterIPs[0]: Invalid value: []string{"fd00::1", "10.0.0.1"}: may not change once set',
    'spec.clusterIPs[1]: Invalid value: []string{"fd00::1", "10.0.0.1"}: may not change once set',
    ...[0, 1].map(() => 'spec.ipFamilies[0]: Invalid value: []core.IPFamily{"IPv6", "IPv4"}: may not change once set'),
  ]);
});

const node = { ...plain, type: 'NodePort' };
const kept: readonly (readonly [why: string, old: Sent, spec: Sent, result: Sent])[] = [
  ['the address stays', plain, { ports: [port] }, { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] }],
  [
    'a new address replaces the list',
    { ...plain, type: 'ExternalName' },
    { ...plain, clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.1'] },
    { clusterIPs: ['10.0.0.9'] },
  ],
  [
    'ports of nodes stay by name',
    { ...node, ports: [{ ...port, name: 'a', nodePort: 30001 }] },
    {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 81 },
        { name: 'b', port: 82 },
      ],
    },
    {
      ports: [
        { name: 'a', protocol: 'TCP', port: 81, targetPort: 81, nodePort: 30001 },
        { name: 'b', protocol: 'TCP', port: 82, targetPort: 82, nodePort: 30099 },
      ],
    },
  ],
  [
    'unless another port has the number',
    { ...node, ports: [{ ...port, name: 'a', nodePort: 30001 }] },
    {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 81 },
        { name: 'b', port: 82, nodePort: 30001 },
      ],
    },
    {
      ports: [
        { name: 'a', protocol: 'TCP', port: 81, targetPort: 81, nodePort: 30099 },
        { name: 'b', protocol: 'TCP', port: 82, targetPort: 82, nodePort: 30001 },
      ],
    },
  ],
  ['the port of health checks stays', local, { ...local, healthCheckNodePort: 0 }, { healthCheckNodePort: 30001 }],
  [
    'an external name has no address',
    plain,
    { ...plain, type: 'ExternalName', externalName: 'a' },
    { clusterIP: undefined, clusterIPs: undefined, ipFamilies: undefined, ipFamilyPolicy: undefined },
  ],
  [
    'an old client makes an external name',
    plain,
    { type: 'ExternalName', externalName: 'a', clusterIP: '10.0.0.1', ports: [port] },
    { clusterIP: undefined, clusterIPs: undefined },
  ],
  [
    'a cluster address has no ports of nodes',
    { ...node, ports: [{ ...port, nodePort: 30001 }], externalTrafficPolicy: 'Cluster' },
    { ...plain, ports: [{ ...port, nodePort: 30001 }], externalTrafficPolicy: 'Cluster' },
    { ports: [{ protocol: 'TCP', port: 80, targetPort: 80 }], externalTrafficPolicy: undefined },
  ],
  [
    'what a balancer had goes',
    { ...local, loadBalancerClass: 'a', allocateLoadBalancerNodePorts: true },
    { ...local, type: 'ClusterIP', loadBalancerClass: 'a', allocateLoadBalancerNodePorts: true },
    {
      loadBalancerClass: undefined,
      allocateLoadBalancerNodePorts: undefined,
      healthCheckNodePort: undefined,
      externalTrafficPolicy: undefined,
    },
  ],
];

for (const [why, old, spec, result] of kept) {
  test(`Service: ${why}`, async () => {
    const found = (await updateLater(kind, stored(old), filled(kind, { spec }))).object['spec'] as Sent;
    assert.deepEqual(Object.fromEntries(Object.keys(result).map((name) => [name, found[name]])), result);
  });
}

test('Service: without a balancer its state goes', async () => {
  const old = stored({ ...plain, ...balancer });
  old['status'] = { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' }] } };
  assert.deepEqual(
    (await updateLater(kind, old, filled(kind, { spec: { ...plain, ...balancer } }))).object['status'],
    old['status'],
  );
  assert.deepEqual((await updateLater(kind, old, filled(kind, { spec: plain }))).object['status'], {
    loadBalancer: {},
  });
});

const defaults: readonly (readonly [spec: Sent, result: Sent])[] = [
  [
    { ports: [port] },
    {
      ports: [{ protocol: 'TCP', port: 80, targetPort: 80 }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
      internalTrafficPolicy: 'Cluster',
    },
  ],
  [
    { type: 'ExternalName', externalName: 'a' },
    { type: 'ExternalName', externalName: 'a', sessionAffinity: 'None' },
  ],
  [
    { type: 'ExternalName', externalName: 'a', internalTrafficPolicy: 'Cluster' },
    { type: 'ExternalName', externalName: 'a', sessionAffinity: 'None' },
  ],
  [
    { type: 'ExternalName', externalName: 'a', internalTrafficPolicy: '' },
    { type: 'ExternalName', externalName: 'a', internalTrafficPolicy: '', sessionAffinity: 'None' },
  ],
  [
    { type: 'LoadBalancer' },
    {
      type: 'LoadBalancer',
      sessionAffinity: 'None',
      allocateLoadBalancerNodePorts: true,
      externalTrafficPolicy: 'Cluster',
      internalTrafficPolicy: 'Cluster',
    },
  ],
  [
    { type: 'NodePort' },
    { type: 'NodePort', sessionAffinity: 'None', externalTrafficPolicy: 'Cluster', internalTrafficPolicy: 'Cluster' },
  ],
  [
    { externalIPs: ['192.0.2.1'] },
    {
      externalIPs: ['192.0.2.1'],
      type: 'ClusterIP',
      sessionAffinity: 'None',
      externalTrafficPolicy: 'Cluster',
      internalTrafficPolicy: 'Cluster',
    },
  ],
  [
    { sessionAffinity: 'ClientIP' },
    {
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
      type: 'ClusterIP',
      internalTrafficPolicy: 'Cluster',
    },
  ],
  [
    { sessionAffinity: 'None', sessionAffinityConfig: {} },
    { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' },
  ],
];

for (const [spec, result] of defaults) {
  test(`Service: defaults of ${JSON.stringify(spec)}`, () => {
    const object = read(kind, filled(kind, { spec }));
    kind.strategy.default?.(object, undefined as never);
    assert.deepEqual(object['spec'], result);
  });
}

const isVirtual = { ip: '192.0.2.1', ipMode: 'VIP' };
const statuses: readonly (readonly [
  why: string,
  spec: Sent,
  ingress: readonly Sent[],
  errors: readonly (string | RegExp)[],
])[] = [
  ['a place', { ...plain, ...balancer }, [isVirtual, { hostname: 'a.b' }], []],
  ['a mode by default', { ...plain, ...balancer }, [{ ip: '192.0.2.1' }], []],
  [
    'no balancer',
    plain,
    [isVirtual],
    ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
  ],
  [
    'bad values',
    { ...plain, ...balancer },
    [
      { ip: 'x', ipMode: 'y' },
      { ipMode: 'VIP', hostname: '192.0.2.1' },
    ],
    [
      `status.loadBalancer.ingress[0].ip: Invalid value: "x": ${addressText}`,
      'status.loadBalancer.ingress[0].ipMode: Unsupported value: "y": supported values: "Proxy", "VIP"',
      'status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set',
      'status.loadBalancer.ingress[1].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address',
    ],
  ],
];

for (const [why, spec, ingress, errors] of statuses) {
  test(`Service: a status with ${why}`, () => {
    const sent = { ...filled(kind, { spec }), status: { loadBalancer: { ingress } } };
    expectErrors(update(kind, stored(spec), sent, 'status').errors, errors);
  });
}
