import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { networkPolicy } from './network-policy.ts';

const kind = networkPolicy(orch);
const podSelector = { matchLabels: { app: 'x' } };
const cidrText = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

/** A rule in either direction; `PATH` in errors is its place. */
const rules: readonly [
  why: string,
  rule: { readonly ports?: readonly Sent[]; readonly peers?: readonly Sent[] },
  errors: readonly string[],
][] = [
  ['anything', {}, []],
  ['ports', { ports: [{ port: 80 }, { port: 'http' }, {}, { port: 1, endPort: 1 }] }, []],
  [
    'another protocol',
    { ports: [{ protocol: 'ICMP' }] },
    ['PATH.ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"'],
  ],
  [
    'a bad port',
    { ports: [{ port: 0 }] },
    ['PATH.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
  ],
  [
    'a bad port name',
    { ports: [{ port: '80' }] },
    ['PATH.ports[0].port: Invalid value: "80": must contain at least one letter (a-z)'],
  ],
  [
    'a range without a start',
    { ports: [{ endPort: 80 }] },
    ['PATH.ports[0].endPort: Invalid value: 80: may not be specified when `port` is not specified'],
  ],
  [
    'a range from a name',
    { ports: [{ port: 'a', endPort: 80 }] },
    ['PATH.ports[0].endPort: Invalid value: 80: may not be specified when `port` is non-numeric'],
  ],
  [
    'a range that ends before it starts',
    { ports: [{ port: 80, endPort: 79 }] },
    ['PATH.ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`'],
  ],
  [
    'a range too far',
    { ports: [{ port: 80, endPort: 65536 }] },
    ['PATH.ports[0].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive'],
  ],
  ['selectors', { peers: [{ podSelector: {}, namespaceSelector: {} }] }, []],
  ['no peer', { peers: [{}] }, ['PATH.PEERS[0]: Required value: must specify a peer']],
  [
    'a block and pods',
    { peers: [{ podSelector: {}, ipBlock: { cidr: '192.0.2.0/24' } }] },
    ['PATH.PEERS[0]: Forbidden: may not specify both ipBlock and another peer'],
  ],
  ['no range', { peers: [{ ipBlock: {} }] }, ['PATH.PEERS[0].ipBlock.cidr: Required value']],
  [
    'a bad range',
    { peers: [{ ipBlock: { cidr: '192.0.2.0', except: ['x'] } }] },
    [`PATH.PEERS[0].ipBlock.cidr: Invalid value: "192.0.2.0": ${cidrText}`],
  ],
  [
    'holes',
    {
      peers: [
        { ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.128/25', '192.0.2.1/32'] } },
        { ipBlock: { cidr: '2001:db8::/64', except: ['2001:db8::/65'] } },
      ],
    },
    [],
  ],
  [
    'a bad hole',
    { peers: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['a'] } }] },
    [`PATH.PEERS[0].ipBlock.except[0]: Invalid value: "a": ${cidrText}`],
  ],
  [
    'holes that are none',
    {
      peers: [
        {
          ipBlock: {
            cidr: '192.0.2.0/24',
            except: ['192.0.2.0/24', '198.51.100.0/25', '192.0.0.0/16', '2001:db8::/65'],
          },
        },
      ],
    },
    ['192.0.2.0/24', '198.51.100.0/25', '192.0.0.0/16', '2001:db8::/65'].map(
      (each, index) =>
        `PATH.PEERS[0].ipBlock.except[${index}]: Invalid value: "${each}": must be a strict subset of \`cidr\``,
    ),
  ],
  [
    'a bad selector',
    { peers: [{ podSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }] },
    ['PATH.PEERS[0].podSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator'],
  ],
];

for (const [why, { ports = [], peers = [] }, errors] of rules) {
  for (const [direction, name] of [
    ['ingress', 'from'],
    ['egress', 'to'],
  ] as const) {
    test(`NetworkPolicy: ${direction}: ${why}`, () => {
      const spec = { podSelector, [direction]: [{}, { ports, [name]: peers }] };
      const expected = errors.map((each) => each.replace('PATH', `spec.${direction}[1]`).replace('PEERS', name));
      assert.deepEqual(create(kind, { spec }).errors, expected);
      assert.deepEqual(update(kind, { spec: { podSelector } }, { spec }).errors, expected);
    });
  }
}

const types: readonly [spec: Sent, types: readonly string[], errors: readonly string[]][] = [
  [{}, ['Ingress'], []],
  [{ egress: [{}] }, ['Ingress', 'Egress'], []],
  [{ egress: [{}], policyTypes: ['Egress'] }, ['Egress'], []],
  [
    { policyTypes: ['Both'] },
    ['Both'],
    ['spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"'],
  ],
  [
    { policyTypes: ['Ingress', 'Egress', 'Both'] },
    ['Ingress', 'Egress', 'Both'],
    [
      'spec.policyTypes: Invalid value: []networking.PolicyType{"Ingress", "Egress", "Both"}: may not specify more than two policyTypes',
    ],
  ],
];

for (const [spec, expected, errors] of types) {
  test(`NetworkPolicy: types of ${JSON.stringify(spec)}`, () => {
    const created = create(kind, { spec: { podSelector, ...spec } });
    assert.deepEqual(created.errors, errors);
    assert.deepEqual(Object(created.object['spec']).policyTypes, expected);
  });
}

test('NetworkPolicy: columns', () => {
  const cells = { Name: 'one', Age: '<unknown>' };
  assert.deepEqual(row(kind, { spec: { podSelector: {} } }), { ...cells, 'Pod-Selector': '<none>' });
  const matchExpressions = [
    { key: 'b', operator: 'In', values: ['y', 'x'] },
    { key: 'a', operator: 'NotIn', values: ['z'] },
    { key: 'd', operator: 'Exists' },
    { key: 'c', operator: 'DoesNotExist' },
  ];
  assert.deepEqual(row(kind, { spec: { podSelector: { matchLabels: { e: 'f' }, matchExpressions } } }), {
    ...cells,
    'Pod-Selector': 'a notin (z),b in (x,y),!c,d,e=f',
  });
});
