import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { sourceAddresses } from './source-addresses.ts';

const sent = (address: string, headers: Readonly<Record<string, string>>) => ({
  peer: { address },
  header: (name: string) => headers[name],
});

const forwarded = 'x-forwarded-for';
const real = 'x-real-ip';

describe('the addresses that a request came through', () => {
  for (const [address, headers, expected] of [
    ['192.0.2.1', {}, ['192.0.2.1']],
    ['::ffff:192.0.2.1', {}, ['192.0.2.1']],
    ['2001:DB8:0::1', {}, ['2001:db8::1']],
    ['', {}, ['::1']],
    ['192.0.2.1', { [forwarded]: '198.51.100.1, 203.0.113.9' }, ['198.51.100.1', '203.0.113.9', '192.0.2.1']],
    [
      '192.0.2.1',
      { [forwarded]: ' 198.51.100.1 ,nonsense,,300.1.1.1,[::1],fe80::1%eth0' },
      ['198.51.100.1', '192.0.2.1'],
    ],
    ['192.0.2.1', { [forwarded]: '010.001.000.007' }, ['10.1.0.7', '192.0.2.1']],
    ['192.0.2.1', { [forwarded]: '2001:db8::0:2' }, ['2001:db8::2', '192.0.2.1']],
    ['192.0.2.1', { [real]: '198.51.100.7' }, ['198.51.100.7', '192.0.2.1']],
    [
      '192.0.2.1',
      { [forwarded]: '198.51.100.7,198.51.100.8', [real]: '198.51.100.7' },
      ['198.51.100.7', '198.51.100.8', '192.0.2.1'],
    ],
    [
      '192.0.2.1',
      { [forwarded]: '198.51.100.7', [real]: '198.51.100.8' },
      ['198.51.100.7', '198.51.100.8', '192.0.2.1'],
    ],
    ['192.0.2.1', { [forwarded]: '192.0.2.1' }, ['192.0.2.1']],
    ['192.0.2.1', { [forwarded]: '192.0.2.1, 198.51.100.1' }, ['192.0.2.1', '198.51.100.1', '192.0.2.1']],
  ] as const) {
    it(`${address} ${JSON.stringify(headers)}`, () => {
      assert.deepEqual(sourceAddresses(sent(address, headers)), expected);
    });
  }

  it('are the last of very many, and cost little', () => {
    const many = Array.from({ length: 5_000 }, (_, at) => `2001:db8::${at.toString(16)}`);
    const found = sourceAddresses(sent('192.0.2.1', { [forwarded]: many.join() }));
    assert.deepEqual(found, [...many.slice(-limits.auditForwardedMax), '192.0.2.1']);
  });

  it('are one list for all requests of a connection without such headers', () => {
    const one = sent('192.0.2.1', {});
    assert.equal(sourceAddresses(one), sourceAddresses({ ...one }));
    assert.notEqual(sourceAddresses(one), sourceAddresses(sent('192.0.2.1', {})));
  });
});
