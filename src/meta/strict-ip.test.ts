import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressNumber, addressText } from './ip-number.ts';
import { strictAddress, strictPrefix } from './strict-ip.ts';

const addresses: readonly (readonly [text: string, result: string])[] = [
  ['10.9.8.7', '10.9.8.7'],
  ['0.0.0.0', '0.0.0.0'],
  ['01.2.3.4', 'ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero'],
  ['1.2.3.256', 'ParseAddr("1.2.3.256"): IPv4 field has value >255'],
  ['1.2.3', 'ParseAddr("1.2.3"): IPv4 address too short'],
  ['1.2.3.4.5', 'ParseAddr("1.2.3.4.5"): IPv4 address too long'],
  ['1..2.3', 'ParseAddr("1..2.3"): IPv4 field must have at least one digit (at ".2.3")'],
  ['1.2.3.', 'ParseAddr("1.2.3."): IPv4 field must have at least one digit (at ".")'],
  ['1.2.3.x', 'ParseAddr("1.2.3.x"): unexpected character (at "x")'],
  ['x', 'ParseAddr("x"): unable to parse IP'],
  ['', 'ParseAddr(""): unable to parse IP'],
  ['%eth0', 'ParseAddr("%eth0"): missing IPv6 address'],
  ['::', '::'],
  ['::1', '::1'],
  ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['1:2:3:4:5:6:0:0', '1:2:3:4:5:6::'],
  ['::ffff:102:304', '::ffff:1.2.3.4'],
  ['::1.2.3.4', '::102:304'],
  ['fe80::1%eth0', 'fe80::1%eth0'],
];

for (const [text, result] of addresses) {
  test(`strict address: ${text}`, () => {
    const found = strictAddress(text);
    assert.equal('problem' in found ? found.problem : found.canonical, result);
  });
}

const prefixes: readonly (readonly [text: string, result: string])[] = [
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['2001:DB8::/32', '2001:db8::/32'],
  ['10.0.0.0', 'netip.ParsePrefix("10.0.0.0"): no \'/\''],
  ['10.0.0.0/33', 'netip.ParsePrefix("10.0.0.0/33"): prefix length out of range'],
  ['10.0.0.0/08', 'netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08"'],
  ['10.0.0.0/', 'netip.ParsePrefix("10.0.0.0/"): bad bits after slash: ""'],
  ['x/8', 'netip.ParsePrefix("x/8"): ParseAddr("x"): unable to parse IP'],
  ['fe80::%a/8', 'netip.ParsePrefix("fe80::%a/8"): IPv6 zones cannot be present in a prefix'],
];

for (const [text, result] of prefixes) {
  test(`strict prefix: ${text}`, () => {
    const found = strictPrefix(text);
    assert.equal('problem' in found ? found.problem : found.canonical, result);
  });
}

test('addresses are numbers', () => {
  assert.equal(addressNumber('10.0.0.7'), 0x0a00_0007n);
  assert.equal(addressText(0x0a00_0007n, 'ipv4'), '10.0.0.7');
  for (const text of ['fd00::7', '::', '1:2:3:4:5:6:7:8', '::ffff:10.0.0.7'])
    assert.equal(addressText(addressNumber(text), 'ipv6'), text);
});
