import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { describe, test } from 'node:test';
import { connect } from 'node:tls';
import { OrchProcess } from '../support/orch-process.ts';

/** `--advertise-address` and `--external-hostname`: what documents and certificates say of where the server is. */

async function shownCertificate(server: OrchProcess): Promise<X509Certificate> {
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>();
  const { ca } = server.credentials;
  const socket = connect({ host: '127.0.0.1', port: server.port, ca }, () => {
    const certificate = socket.getPeerX509Certificate();
    socket.destroy();
    if (certificate) resolve(certificate);
    else reject(new Error('no certificate was shown'));
  });
  socket.on('error', reject);
  return promise;
}

const cases: readonly (readonly [flags: readonly string[], host: string, names: RegExp])[] = [
  [[], '127.0.0.1:PORT', /IP Address:127\.0\.0\.1/],
  [['--advertise-address=10.1.2.3'], '10.1.2.3:PORT', /IP Address:10\.1\.2\.3/],
  [['--advertise-address', 'fd00::5'], '[fd00::5]:PORT', /IP Address:FD00:0:0:0:0:0:0:5/],
  [['--external-hostname=api.example.com'], 'api.example.com:PORT', /DNS:api\.example\.com/],
  [['--advertise-address=10.1.2.3', '--external-hostname=api.example.com:443'], 'api.example.com:443', /10\.1\.2\.3/],
];

describe('where the server is', () => {
  for (const [flags, host, names] of cases) {
    test(`with ${flags.join(' ') || 'no flag'}`, async () => {
      await using server = await OrchProcess.start({
        flags: [...flags, '--service-account-issuer=https://issuer.test'],
      });
      const expected = host.replace('PORT', String(server.port));
      const { json: api } = await server.get<{ serverAddressByClientCIDRs: unknown }>('/api');
      assert.deepEqual(api.serverAddressByClientCIDRs, [{ clientCIDR: '0.0.0.0/0', serverAddress: expected }]);
      const { json: issuer } = await server.get<{ jwks_uri: string }>('/.well-known/openid-configuration');
      assert.equal(issuer.jwks_uri, `https://${expected}/openid/v1/jwks`);
      assert.match((await shownCertificate(server)).subjectAltName ?? '', names);
    });
  }
});
