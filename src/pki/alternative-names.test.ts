import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AlternativeName, encodeAlternativeName, nameOfHost } from './alternative-names.ts';

describe('an alternative name', () => {
  for (const [host, hex] of [
    ['localhost', '82096c6f63616c686f7374'],
    ['10.0.0.1', '87040a000001'],
    ['::', '871000000000000000000000000000000000'],
    ['::1', '871000000000000000000000000000000001'],
    ['1::', '871000010000000000000000000000000000'],
    ['fe80::1:2', '8710fe800000000000000000000000010002'],
    ['1:2:3:4:5:6:7:8', '871000010002000300040005000600070008'],
    ['FFFF:2:3:4:5:6:7:abcd', '8710ffff000200030004000500060007abcd'],
    ['::ffff:10.0.0.1', '871000000000000000000000ffff0a000001'],
    ['1:2:3:4:5:6:255.254.1.0', '8710000100020003000400050006fffe0100'],
    ['64:ff9b::192.0.2.33', '87100064ff9b0000000000000000c0000221'],
  ] as const) {
    it(`of the host ${host}`, () => assert.equal(encodeAlternativeName(nameOfHost(host)).toString('hex'), hex));
  }

  for (const [type, value, message] of [
    ['ip', '', /is not an IP address/],
    ['ip', '10.0.0', /is not an IP address/],
    ['ip', '10.0.0.256', /is not an IP address/],
    ['ip', '1::2::3', /is not an IP address/],
    ['ip', 'fe80::1%eth0', /is not an IP address/],
    ['dns', 'é', /is not ASCII/],
    ['email', 'é@b', /is not ASCII/],
    ['uri', 'http://é', /is not ASCII/],
  ] as const satisfies readonly (readonly [AlternativeName['type'], string, RegExp])[]) {
    it(`${type} ${JSON.stringify(value)} is refused`, () =>
      assert.throws(() => encodeAlternativeName({ type, value }), { name: 'RangeError', message }));
  }
});
