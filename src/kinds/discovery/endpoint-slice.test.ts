import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { endpointSlice } from './endpoint-slice.ts';

const kind = endpointSlice(orch);
const endpoint = { addresses: ['192.0.2.1'] };
const addressed = (addressType: string, ...addresses: string[]): Sent => ({ addressType, endpoints: [{ addresses }] });
const withEndpoint = (sent: Sent): Sent => ({ addressType: 'IPv4', endpoints: [{ ...endpoint, ...sent }] });
const withPorts = (...ports: Sent[]): Sent => ({
  addressType: 'IPv4',
  endpoints: [],
  ports: ports.map((port) => ({ name: '', protocol: 'TCP', ...port })),
});
const at = 'endpoints[0].addresses[0]: Invalid value';
const many = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => of(index));

const rows: readonly [why: string, sent: Sent, errors: readonly (string | RegExp)[]][] = [
  ['nothing to go to', { addressType: 'IPv4', endpoints: [] }, []],
  ['no type', { endpoints: [] }, ['addressType: Required value']],
  [
    'another type',
    addressed('IP', 'a'),
    ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'],
  ],
  ['IPv4', addressed('IPv4', '192.0.2.1', '192.0.2.1'), []],
  ['IPv6', addressed('IPv6', '2001:db8::1'), []],
  ['IPv6 as IPv4', addressed('IPv4', '2001:db8::1'), [`${at}: "2001:db8::1": must be a valid IPv4 address`]],
  ['IPv4 as IPv6', addressed('IPv6', '192.0.2.1'), [`${at}: "192.0.2.1": must be a valid IPv6 address`]],
  [
    'no address',
    addressed('IPv4', 'a'),
    [`${at}: "a": must be a valid IPv4 address`, `${at}: "a": must be a valid IP address`],
  ],
  ['unspecified', addressed('IPv4', '0.0.0.0'), [`${at}: "0.0.0.0": may not be unspecified (0.0.0.0)`]],
  ['loopback', addressed('IPv6', '::1'), [`${at}: "::1": may not be in the loopback range (127.0.0.0/8, ::1/128)`]],
  [
    'link-local',
    addressed('IPv4', '169.254.0.1'),
    [`${at}: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)`],
  ],
  [
    'multicast',
    addressed('IPv6', 'ff02::1'),
    [`${at}: "ff02::1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)`],
  ],
  ['names', addressed('FQDN', 'a.example', 'a.example.'), []],
  ['an empty name', addressed('FQDN', ''), ['endpoints[0].addresses[0]: Required value']],
  [
    'a name of one label',
    addressed('FQDN', 'a'),
    [`${at}: "a": should be a domain with at least two segments separated by dots`],
  ],
  [
    'a bad name',
    addressed('FQDN', 'A.b.'),
    [/^endpoints\[0\]\.addresses\[0\]: Invalid value: "A\.b": a lowercase RFC 1123 subdomain/],
  ],
  [
    'a long label',
    addressed('FQDN', `${'a'.repeat(64)}.b`),
    [`${at}: "${'a'.repeat(64)}": must be no more than 63 characters`],
  ],
  ['no addresses', addressed('IPv4'), ['endpoints[0].addresses: Required value: must contain at least 1 address']],
  [
    '101 addresses',
    addressed('IPv4', ...many(101, (index) => `192.0.2.${index}`)),
    ['endpoints[0].addresses: Too many: 101: must have at most 100 items'],
  ],
  [
    '1001 endpoints',
    { addressType: 'IPv4', endpoints: many(1001, () => ({ addresses: [] })) },
    ['endpoints: Too many: 1001: must have at most 1000 items'],
  ],
  [
    'all of an endpoint',
    withEndpoint({
      nodeName: 'n',
      hostname: 'h',
      zone: 'z',
      conditions: { ready: true, serving: false, terminating: true },
      hints: { forZones: [{ name: 'z' }] },
    }),
    [],
  ],
  [
    'a bad node',
    withEndpoint({ nodeName: 'A' }),
    [/^endpoints\[0\]\.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain/],
  ],
  [
    'a bad host name',
    withEndpoint({ hostname: 'a.b' }),
    ['endpoints[0].hostname: Invalid value: "a.b": must not contain dots'],
  ],
  [
    'zones twice, and a bad one',
    withEndpoint({ hints: { forZones: [{ name: 'z' }, { name: 'z' }, { name: '-' }] } }),
    [
      'endpoints[0].hints.forZones[1].name: Duplicate value: "z"',
      /^endpoints\[0\]\.hints\.forZones\[2\]\.name: Invalid value: "-": a valid label must be/,
    ],
  ],
  [
    '9 zones',
    withEndpoint({ hints: { forZones: many(9, () => ({ name: 'z' })) } }),
    ['endpoints[0].hints.forZones: Too many: 9: must have at most 8 items'],
  ],
  ['ports', withPorts({}, { name: 'a', port: 0, appProtocol: 'x.io/a' }), []],
  [
    'ports of one name',
    withPorts({ name: 'a' }, { name: 'a' }, {}, {}),
    ['ports[1].name: Duplicate value: "a"', 'ports[3].name: Duplicate value: ""'],
  ],
  ['a bad port name', withPorts({ name: 'A' }), [/^ports\[0\]\.name: Invalid value: "A": a lowercase RFC 1123 label/]],
  [
    'another protocol',
    withPorts({ protocol: 'ICMP' }),
    ['ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
  ],
  [
    'a bad application',
    withPorts({ appProtocol: 'a b' }),
    [/^ports\[0\]\.appProtocol: Invalid value: "a b": name part/],
  ],
  [
    '20001 ports',
    withPorts(...many(20_001, (index) => ({ name: `${index}` }))),
    ['ports: Too many: 20001: must have at most 20000 items'],
  ],
];

for (const [why, sent, errors] of rows) {
  test(`EndpointSlice: ${why}`, () => {
    for (const found of [
      create(kind, sent).errors,
      update(kind, { addressType: sent['addressType'] ?? '', endpoints: [] }, sent).errors,
    ]) {
      assert.equal(found.length, errors.length, found.join('\n'));
      for (const [index, each] of errors.entries()) {
        if (typeof each === 'string') assert.equal(found[index], each);
        else assert.match(found[index] ?? '', each);
      }
    }
  });
}

test('EndpointSlice: the type of addresses stays', () => {
  const errors = ['addressType: Invalid value: "FQDN": field is immutable'];
  assert.deepEqual(update(kind, addressed('IPv4', '192.0.2.1'), addressed('FQDN', 'a.example')).errors, errors);
});

test('EndpointSlice: the topology of an earlier version is dropped', () => {
  const sent = withEndpoint({ deprecatedTopology: { a: 'b' } });
  const stored = [{ ...endpoint, conditions: {} }];
  assert.deepEqual(create(kind, sent).object['endpoints'], stored);
  assert.deepEqual(update(kind, withEndpoint({}), sent).object['endpoints'], stored);
});

const cells: readonly [sent: Sent, ports: string, endpoints: string][] = [
  [{ endpoints: [] }, '<unset>', '<unset>'],
  [
    {
      endpoints: [endpoint, { addresses: ['192.0.2.2', '192.0.2.3', '192.0.2.4'] }],
      ports: [{ port: 80 }, { name: 'a' }, {}],
    },
    '80,a,*',
    '192.0.2.1,192.0.2.2,192.0.2.3 + 1 more...',
  ],
  [{ endpoints: [endpoint], ports: many(5, (index) => ({ port: index })) }, '0,1,2 + 2 more...', '192.0.2.1'],
];

for (const [sent, ports, endpoints] of cells) {
  test(`EndpointSlice: columns ${ports} ${endpoints}`, () => {
    assert.deepEqual(row(kind, { addressType: 'IPv4', ...sent }), {
      Name: 'one',
      AddressType: 'IPv4',
      Ports: ports,
      Endpoints: endpoints,
      Age: '<unknown>',
    });
  });
}
