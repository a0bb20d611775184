import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStrictSubset, parseIpAddress, specialAddressProblems } from './ip-address.ts';

const families: readonly [text: string, family: string | undefined][] = [
  ['192.0.2.1', 'ipv4'],
  ['192.000.02.1', 'ipv4'],
  ['::ffff:192.0.2.1', 'ipv4'],
  ['::ffff:c000:201', 'ipv4'],
  ['2001:db8::1', 'ipv6'],
  ['::192.0.2.1', 'ipv6'],
  ['fe80::1%eth0', undefined],
  ['192.0.2', undefined],
  ['192.0.2.256', undefined],
  ['a', undefined],
  ['', undefined],
  [`${'0'.repeat(100)}1.0.0.1`, undefined],
];

for (const [text, family] of families)
  test(`IP address: family of ${text}`, () => assert.equal(parseIpAddress(text)?.family, family));

const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
const multicast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
const problems: readonly [text: string, problems: readonly string[]][] = [
  ['192.0.2.1', []],
  ['2001:db8::1', []],
  ['224.0.1.1', []],
  ['ff05::1', []],
  ['0.0.0.0', ['may not be unspecified (0.0.0.0)']],
  ['::', ['may not be unspecified (::)']],
  ['127.1.2.3', [loopback]],
  ['127.01.2.3', [loopback]],
  ['::1', [loopback]],
  ['::ffff:127.0.0.1', [loopback]],
  ['169.254.169.254', [linkLocal]],
  ['fe80::1', [linkLocal]],
  ['febf::1', [linkLocal]],
  ['224.0.0.251', [multicast]],
  ['ff02::fb', [multicast]],
  ['ff12::1', [multicast]],
  ['a', ['must be a valid IP address']],
];

for (const [text, expected] of problems)
  test(`IP address: problems of ${text}`, () => assert.deepEqual(specialAddressProblems(text), expected));

const subsets: readonly [inner: string, outer: string, expected: boolean][] = [
  ['192.0.2.0/25', '192.0.2.0/24', true],
  ['192.0.2.0/24', '192.0.2.0/24', false],
  ['192.0.0.0/16', '192.0.2.0/24', false],
  ['198.51.100.0/25', '192.0.2.0/24', false],
  ['192.0.2.1/32', '0.0.0.0/0', true],
  ['2001:db8:0:1::/64', '2001:db8::/48', true],
  ['2001:db8::/64', '0.0.0.0/0', false],
  ['a', '0.0.0.0/0', false],
];

for (const [inner, outer, expected] of subsets)
  test(`IP address: ${inner} in ${outer}`, () => assert.equal(isStrictSubset(inner, outer), expected));
