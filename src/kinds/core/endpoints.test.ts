import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { endpoints } from './endpoints.ts';

const kind = endpoints(orch);
const ip = '192.0.2.1';
const addressText = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

const subsets: readonly [why: string, subset: Sent, errors: readonly (string | RegExp)[]][] = [
  ['one address', { addresses: [{ ip }] }, []],
  ['one that is not ready', { notReadyAddresses: [{ ip: '2001:db8::1' }] }, []],
  ['none', { ports: [] }, ['subsets[1]: Required value: must specify `addresses` or `notReadyAddresses`']],
  ...(['addresses', 'notReadyAddresses'] as const).flatMap((name): [string, Sent, (string | RegExp)[]][] => [
    [
      `${name}: not an address`,
      { [name]: [{ ip }, { ip: 'a' }] },
      [
        `subsets[1].${name}[1].ip: Invalid value: "a": ${addressText}`,
        `subsets[1].${name}[1].ip: Invalid value: "a": must be a valid IP address`,
      ],
    ],
    [
      `${name}: loopback`,
      { [name]: [{ ip: '127.0.0.1' }] },
      [`subsets[1].${name}[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`],
    ],
    [
      `${name}: a bad host name`,
      { [name]: [{ ip, hostname: 'a.b' }] },
      [`subsets[1].${name}[0].hostname: Invalid value: "a.b": must not contain dots`],
    ],
    [
      `${name}: a bad node`,
      { [name]: [{ ip, nodeName: 'A' }] },
      [new RegExp(`^subsets\\[1\\]\\.${name}\\[0\\]\\.nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain`)],
    ],
  ]),
  ['a port', { addresses: [{ ip }], ports: [{ port: 80, protocol: 'SCTP', appProtocol: 'x.io/http' }] }, []],
  [
    'a bad port',
    { addresses: [{ ip }], ports: [{ port: 0, protocol: 'TCP' }] },
    ['subsets[1].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
  ],
  [
    'another protocol',
    { addresses: [{ ip }], ports: [{ port: 1, protocol: 'ICMP' }] },
    ['subsets[1].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
  ],
  [
    'several ports',
    {
      addresses: [{ ip }],
      ports: [
        { port: 1, protocol: 'TCP' },
        { name: 'a_', port: 2, protocol: 'TCP' },
      ],
    },
    [
      'subsets[1].ports[0].name: Required value',
      /^subsets\[1\]\.ports\[1\]\.name: Invalid value: "a_": a lowercase RFC 1123 label/,
    ],
  ],
  [
    'a bad application',
    { addresses: [{ ip }], ports: [{ port: 1, protocol: 'TCP', appProtocol: '/' }] },
    [
      /appProtocol: Invalid value: "\/": prefix part must be non-empty$/,
      /appProtocol: Invalid value: "\/": name part/,
      /appProtocol: Invalid value: "\/": name part/,
    ],
  ],
];

for (const [why, subset, errors] of subsets) {
  test(`Endpoints: ${why}`, () => {
    const sent = { subsets: [{ addresses: [{ ip }] }, subset] };
    for (const found of [create(kind, sent).errors, update(kind, {}, sent).errors]) {
      assert.equal(found.length, errors.length, found.join('\n'));
      for (const [index, each] of errors.entries()) {
        if (typeof each === 'string') assert.equal(found[index], each);
        else assert.match(found[index] ?? '', each);
      }
    }
  });
}

const addressesOf = (count: number) => Array.from({ length: count }, (_, index) => ({ ip: `192.0.2.${index + 1}` }));
const cells: readonly [sent: Sent, cell: string][] = [
  [{}, '<none>'],
  [{ subsets: [{ notReadyAddresses: [{ ip }], ports: [{ port: 80 }] }] }, ''],
  [{ subsets: [{ addresses: addressesOf(3) }] }, '192.0.2.1,192.0.2.2,192.0.2.3'],
  [
    { subsets: [{ addresses: addressesOf(2), ports: [{ port: 1 }, { port: 2 }] }] },
    '192.0.2.1:1,192.0.2.2:1,192.0.2.1:2 + 1 more...',
  ],
  [{ subsets: [{ addresses: [{ ip: '2001:db8::1' }], ports: [{ port: 443 }] }] }, '[2001:db8::1]:443'],
];

for (const [sent, cell] of cells)
  test(`Endpoints: column ${cell}`, () =>
    assert.deepEqual(row(kind, sent), { Name: 'one', Endpoints: cell, Age: '<unknown>' }));
