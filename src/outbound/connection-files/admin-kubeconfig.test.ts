import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parse } from 'yaml';
import { adminKubeconfig } from './admin-kubeconfig.ts';

const client = { certificatePem: 'CERT\n', keyPem: 'KEY\n' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

it('the admin kubeconfig is YAML with all data embedded', () => {
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
