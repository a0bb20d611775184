import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parse } from 'yaml';
import { httpsUrl, localAddress, servedHosts } from './addresses.ts';
import { adminKubeconfig } from './kubeconfig.ts';

const client = { certificatePem: 'CERT\n', keyPem: 'KEY\n' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

it('the connection file is YAML with everything in it', () => {
  const text = adminKubeconfig({
    server: 'https://[::1]:6443',
    authorities: 'CA\n',
    serverName: 'api.example.com',
    client,
  });
  assert.deepEqual(parse(text), {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'orch',
    preferences: {},
    clusters: [
      {
        name: 'orch',
        cluster: {
          server: 'https://[::1]:6443',
          'tls-server-name': 'api.example.com',
          'certificate-authority-data': base64('CA\n'),
        },
      },
    ],
    contexts: [{ name: 'orch', context: { cluster: 'orch', user: 'orch' } }],
    users: [
      { name: 'orch', user: { 'client-certificate-data': base64('CERT\n'), 'client-key-data': base64('KEY\n') } },
    ],
  });
});

it('the address for clients of this machine', () => {
  assert.deepEqual(
    ['127.0.0.1', '0.0.0.0', '::', '10.0.0.1'].map((address) => httpsUrl(localAddress(address), 1)),
    ['https://127.0.0.1:1', 'https://127.0.0.1:1', 'https://[::1]:1', 'https://10.0.0.1:1'],
  );
});

it('a serving certificate always has the local names, and those of the bind address once', () => {
  for (const address of ['127.0.0.1', '10.9.8.7', '0.0.0.0']) {
    const hosts = servedHosts(address);
    for (const host of ['localhost', '127.0.0.1', '::1']) assert.ok(hosts.includes(host));
    assert.equal(hosts.includes(address), address !== '0.0.0.0');
    assert.equal(new Set(hosts).size, hosts.length);
  }
});
