import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, it } from 'node:test';
import { type AddressValues, externalAddress, parseExternalAddress, servedHosts } from './addresses.ts';

const values = (bind: string, advertised?: string, name?: string): AddressValues => ({
  'bind-address': bind,
  'advertise-address': advertised,
  'external-hostname': name === undefined ? undefined : parseExternalAddress(name),
});

describe('the published external address', () => {
  for (const [text, expected] of [
    ['api.example.com', { host: 'api.example.com' }],
    ['API', { host: 'API' }],
    ['api.example.com:443', { host: 'api.example.com', port: 443 }],
    ['10.0.0.1', { host: '10.0.0.1' }],
    ['10.0.0.1:65535', { host: '10.0.0.1', port: 65_535 }],
    ['::1', { host: '::1' }],
    ['[fd00::1]', { host: 'fd00::1' }],
    ['[fd00::1]:8443', { host: 'fd00::1', port: 8443 }],
    ['', undefined],
    [':443', undefined],
    ['api:0', undefined],
    ['api:65536', undefined],
    ['api:', undefined],
    ['a b', undefined],
    ['api/path', undefined],
    ['https://api', undefined],
    ['user@api', undefined],
    ['-api', undefined],
    ['api.', undefined],
    ['10.0.0', undefined],
    ['10.0.0.256', undefined],
    ['[10.0.0.1]', undefined],
    ['[api]', undefined],
    ['fe80::1%eth0', undefined],
    [`${'a'.repeat(64)}.example.com`, undefined],
  ] as const) {
    it(JSON.stringify(text), () => assert.deepEqual(parseExternalAddress(text), expected));
  }

  for (const [what, given, expected] of [
    ['its own', values('127.0.0.1'), { host: '127.0.0.1' }],
    ['the one that is advertised', values('127.0.0.1', '10.0.0.1'), { host: '10.0.0.1' }],
    ['its name before both', values('127.0.0.1', '10.0.0.1', 'api:443'), { host: 'api', port: 443 }],
    ['its own where all are advertised', values('10.0.0.2', '0.0.0.0'), { host: '10.0.0.2' }],
  ] as const) {
    it(what, () => assert.deepEqual(externalAddress(given), expected));
  }

  for (const bind of ['0.0.0.0', '::']) {
    it(`falls back to a reachable address if it listens on ${bind}`, () => {
      for (const given of [values(bind), values(bind, '::'), values(bind, '0.0.0.0')]) {
        const { host } = externalAddress(given);
        assert.ok(isIP(host) !== 0 && !['0.0.0.0', '::'].includes(host), host);
      }
    });
  }
});

describe('a serving certificate', () => {
  it('always has the local names, and those of the bind address once', () => {
    for (const address of ['127.0.0.1', '10.9.8.7', '0.0.0.0']) {
      const hosts = servedHosts(values(address));
      for (const host of ['localhost', '127.0.0.1', '::1']) assert.ok(hosts.includes(host));
      assert.equal(hosts.includes(address), address !== '0.0.0.0');
      assert.equal(new Set(hosts).size, hosts.length);
    }
  });

  it('includes the published external address', () => {
    const hosts = servedHosts(values('127.0.0.1', '10.0.0.1', '[fd00::1]:443'));
    assert.ok(hosts.includes('10.0.0.1') && hosts.includes('fd00::1'));
    assert.ok(servedHosts(values('0.0.0.0', undefined, 'api.example.com:443')).includes('api.example.com'));
  });
});
