import assert from 'node:assert/strict';
import * as net from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { isIP, isIPv4, isIPv6 } from './ip-version.ts';

/** Node.js is the reference. */
function assertSame(text: string): void {
  assert.equal(isIP(text), net.isIP(text), JSON.stringify(text));
  assert.equal(isIPv4(text), net.isIPv4(text), JSON.stringify(text));
  assert.equal(isIPv6(text), net.isIPv6(text), JSON.stringify(text));
}

const texts = [
  ...[
    '',
    '0.0.0.0',
    '127.0.0.1',
    '255.255.255.255',
    '256.0.0.1',
    '01.2.3.4',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.4 ',
    '1..2.3',
  ],
  ...['::', '::1', '1::', ':1', '1:', ':', ':::', '1::2::3', '1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9'],
  ...['::2:3:4:5:6:7:8', '1:2:3:4:5:6:7::', '1:2:3:4::5:6:7:8', '::1:2:3:4:5:6:7:8', '12345::', 'g::', 'ABCD:ef01::'],
  ...['::1.2.3.4', '::ffff:1.2.3.4', '1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:7:1.2.3.4', '1:2:3:4:5::1.2.3.4', '1.2.3.4::'],
  ...[
    '1.2.3.4::1',
    '::1.2.3',
    '::01.2.3.4',
    '1::2:1.2.3.4',
    '::1.2.3.4:5',
    'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255',
  ],
  ...[
    'fe80::1%eth0',
    'fe80::1%',
    'fe80::1%a%b',
    '::%1',
    '1.2.3.4%eth0',
    'fe80::1%a_b',
    'fe80::1%::',
    '::1\n',
    '::1%a\n',
  ],
  ...['localhost', '1234', 'a.b.c.d', '0000::', '00000::', '1:2:3:4:5:6::8', '1:2:3:4:5:6:7:', ':2:3:4:5:6:7:8'],
];

test('addresses are those of Node.js', () => {
  for (const text of texts) assertSame(text);
});

test('so is whatever resembles one', () => {
  const piece = fc.constantFrom(
    '0',
    '1',
    '25',
    '255',
    '256',
    'f',
    'ffff',
    'A',
    ':',
    ':',
    ':',
    '::',
    '.',
    '.',
    '%',
    '1.2.3.4',
    'z',
    '-',
    '00',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 18 }), (pieces) => assertSame(pieces.join(''))),
    { numRuns: 5_000 },
  );
  fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string()), assertSame));
});
