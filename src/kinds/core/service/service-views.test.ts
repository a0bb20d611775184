import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../../dialect/orch.ts';
import { read, row, type Sent } from '../../strategy-fixture.ts';
import { service } from './service.ts';

const kind = service(orch);
const hints = 'service.orch.io/topology-aware-hints';
const mode = 'service.orch.io/topology-mode';

const warned: readonly (readonly [spec: Sent, warnings: readonly string[], others?: Sent])[] = [
  [{ clusterIP: 'None', clusterIPs: ['None'] }, []],
  [
    { clusterIP: '10.0.0.01', clusterIPs: ['10.0.0.01', 'FD00::1'] },
    [
      'spec.clusterIPs[0]: IP address was accepted, but will be invalid in a future orch release: ParseAddr("10.0.0.01"): IPv4 field has octet with leading zero',
      'spec.clusterIPs[1]: IPv6 address "FD00::1" is not in RFC 5952 canonical format ("fd00::1"), which may cause controller apply-loops',
    ],
  ],
  [
    {
      externalIPs: ['::ffff:1.2.3.4', '::ffff:102:304'],
      loadBalancerIP: 'x',
      loadBalancerSourceRanges: ['2001:db8:0:0::/64', ' 10.0.0.0/8'],
    },
    [
      'spec.externalIPs[1]: IPv6 address "::ffff:102:304" is not in RFC 5952 canonical format ("::ffff:1.2.3.4"), which may cause controller apply-loops',
      'spec.loadBalancerIP: IP address was accepted, but will be invalid in a future orch release: ParseAddr("x"): unable to parse IP',
      'spec.loadBalancerSourceRanges[0]: IPv6 prefix "2001:db8:0:0::/64" is not in RFC 5952 canonical format ("2001:db8::/64"), which may cause controller apply-loops',
      'spec.loadBalancerSourceRanges[1]: IP prefix was accepted, but will be invalid in a future orch release: netip.ParsePrefix(" 10.0.0.0/8"): ParseAddr(" 10.0.0.0"): unexpected character (at " 10.0.0.0")',
    ],
  ],
  [
    { type: 'ExternalName', externalName: 'a', externalIPs: ['192.0.2.1'] },
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
  [{ externalName: 'a' }, ['spec.externalName is ignored when spec.type is not "ExternalName"']],
  [
    {},
    [`annotation ${hints} is deprecated, please use ${mode} instead`],
    { metadata: { annotations: { [hints]: 'Auto' } } },
  ],
];

for (const [spec, warnings, others] of warned) {
  test(`Service: warnings about ${JSON.stringify(spec)}`, () => {
    assert.deepEqual(kind.strategy.warnings?.(read(kind, { ...others, spec }), undefined), warnings);
  });
}

const ingressOf = (...ingress: Sent[]): Sent => ({ status: { loadBalancer: { ingress } } });
const cells: readonly (readonly [sent: Sent, cells: Sent])[] = [
  [
    {
      spec: {
        type: 'ClusterIP',
        clusterIPs: ['10.0.0.1'],
        ports: [{ port: 80, protocol: 'TCP' }],
        selector: { b: '1', a: '2' },
      },
    },
    {
      Type: 'ClusterIP',
      'Cluster-IP': '10.0.0.1',
      'External-IP': '<none>',
      'Port(s)': '80/TCP',
      '*Selector': 'a=2,b=1',
    },
  ],
  [
    {
      spec: {
        type: 'NodePort',
        externalIPs: ['a', 'b'],
        ports: [
          { port: 80, protocol: 'TCP', nodePort: 3 },
          { port: 53, protocol: 'UDP' },
        ],
      },
    },
    {
      Type: 'NodePort',
      'Cluster-IP': '<none>',
      'External-IP': 'a,b',
      'Port(s)': '80:3/TCP,53/UDP',
      '*Selector': '<none>',
    },
  ],
  [{ spec: { type: 'LoadBalancer' } }, { 'External-IP': '<pending>', 'Port(s)': '<none>' }],
  [
    { spec: { type: 'LoadBalancer', externalIPs: ['z'] }, ...ingressOf({ ip: 'b' }, { hostname: 'a' }, { ip: 'b' }) },
    { 'External-IP': 'a,b,z' },
  ],
  [{ spec: { type: 'ExternalName', externalName: 'x.y' } }, { 'External-IP': 'x.y' }],
];

for (const [sent, shown] of cells) {
  test(`Service: columns ${JSON.stringify(shown)}`, () => {
    const found = row(kind, sent);
    assert.deepEqual(Object.fromEntries(Object.keys(shown).map((name) => [name, found[name]])), shown);
  });
}
