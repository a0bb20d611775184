import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { validateObjectMeta } from '../meta/metadata-validation.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { ipAddress } from './ip-address.ts';
import { serviceCidr } from './service-cidr.ts';

const ranges = serviceCidr(orch);
const address = ipAddress(orch);

const rangeRows: readonly (readonly [cidrs: readonly string[], errors: readonly string[]])[] = [
  [['10.0.0.0/24'], []],
  [['2001:db8::/64', '10.0.0.0/24'], []],
  [[], ['spec.cidrs: Required value: at least one CIDR required']],
  [
    ['10.0.0.0/24', '10.1.0.0/24', '10.2.0.0/24'],
    [
      'spec.cidrs: Invalid value: networking.ServiceCIDRSpec{CIDRs:[]string{"10.0.0.0/24", "10.1.0.0/24", "10.2.0.0/24"}}: may only hold up to 2 values',
    ],
  ],
  [
    ['10.0.0.0/24', '10.1.0.0/24'],
    [
      'spec.cidrs: Invalid value: networking.ServiceCIDRSpec{CIDRs:[]string{"10.0.0.0/24", "10.1.0.0/24"}}: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  ],
  [['x'], ['spec.cidrs[0]: Invalid value: "x": netip.ParsePrefix("x"): no \'/\'']],
  [
    ['10.0.0.1/24'],
    ['spec.cidrs[0]: Invalid value: "10.0.0.1/24": wrong CIDR format, IP doesn\'t match network IP address'],
  ],
  [['2001:DB8::/64'], ['spec.cidrs[0]: Invalid value: "2001:DB8::/64": CIDR not in RFC 5952 canonical format']],
];

for (const [cidrs, errors] of rangeRows) {
  test(`ServiceCIDR: ${cidrs.join(' ')}`, () => assert.deepEqual(create(ranges, { spec: { cidrs } }).errors, errors));
}

test('ServiceCIDR: the ranges cannot change', () => {
  const [old, sent] = [{ spec: { cidrs: ['10.0.0.0/24'] } }, { spec: { cidrs: ['10.1.0.0/24'] } }];
  assert.deepEqual(update(ranges, old, old).errors, []);
  assert.deepEqual(update(ranges, old, sent).errors, [
    'spec.cidrs: Invalid value: []string{"10.1.0.0/24"}: field is immutable',
  ]);
});

test('ServiceCIDR: columns', () => {
  const sent = { spec: { cidrs: ['10.0.0.0/24', 'fd00::/64'] } };
  assert.deepEqual(row(ranges, sent), { Name: 'one', CIDRs: '10.0.0.0/24,fd00::/64', Age: '<unknown>' });
});

const parent = { resource: 'services', namespace: 'n', name: 's' };
const addressRows: readonly (readonly [why: string, parentRef: Sent | undefined, errors: readonly string[]])[] = [
  ['a service', parent, []],
  ['nobody', undefined, ['spec.parentRef: Required value']],
  ['nothing', {}, ['spec.parentRef.resource: Required value', 'spec.parentRef.name: Required value']],
  [
    'bad names',
    { ...parent, resource: '.', name: '..', namespace: 'a/b' },
    [
      'spec.parentRef.resource: Invalid value: ".": may not be \'.\'',
      'spec.parentRef.name: Invalid value: "..": may not be \'..\'',
      'spec.parentRef.namespace: Invalid value: "a/b": may not contain \'/\'',
    ],
  ],
];

for (const [why, parentRef, errors] of addressRows) {
  test(`IPAddress of ${why}`, () =>
    assert.deepEqual(create(address, { spec: parentRef ? { parentRef } : {} }).errors, errors));
}

test('IPAddress: whose it is cannot change', () => {
  const sent = { spec: { parentRef: { ...parent, name: 't' } } };
  assert.deepEqual(update(address, { spec: { parentRef: parent } }, sent).errors, [
    'spec.parentRef: Invalid value: networking.ParentReference{Group:"", Resource:"services", Namespace:"n", Name:"t"}: field is immutable',
  ]);
});

for (const [name, problem] of [
  ['10.0.0.1', undefined],
  ['2001:db8::1', undefined],
  ['2001:DB8::1', 'must be a canonical format IP address'],
  ['10.0.0.01', 'ParseAddr("10.0.0.01"): IPv4 field has octet with leading zero'],
  ['a', 'ParseAddr("a"): unable to parse IP'],
] as const) {
  test(`IPAddress: the name ${name}`, () => {
    const found = validateObjectMeta(address, read(address, { metadata: { name } })).map(({ detail }) => detail);
    assert.deepEqual(found, problem === undefined ? [] : [problem]);
  });
}

test('IPAddress: columns', () => {
  assert.deepEqual(row(address, { spec: { parentRef: parent } }), { Name: 'one', ParentRef: 'services/n/s' });
  assert.deepEqual(row(address, { spec: { parentRef: { group: 'X.io', resource: 'Gates', name: 'g' } } }), {
    Name: 'one',
    ParentRef: 'gates.x.io/g',
  });
  assert.deepEqual(row(address, {}), { Name: 'one', ParentRef: '<none>' });
});
