import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { within } from '../base/waits-fixture.ts';
import { makeCertificate } from './certificate-fixture.ts';
import { parseKeyPair } from './key-pair-files.ts';

const certificateOf = (privateKey: string): string => {
  const issuer = makeCertificate({ name: 'issuer', authority: true });
  return makeCertificate({ name: 'x', issuer, keyOf: { privateKey: createPrivateKey(privateKey) } }).cert;
};
const encoding = { privateKeyEncoding: { type: 'pkcs8', format: 'pem' } } as const;
const publicKeyEncoding = { type: 'spki', format: 'pem' } as const;
const options = { ...encoding, publicKeyEncoding };
const keys: Readonly<Record<string, string>> = {
  'RSA 2048': generateKeyPairSync('rsa', { ...options, modulusLength: 2048 }).privateKey,
  'P-256': generateKeyPairSync('ec', { ...options, namedCurve: 'P-256' }).privateKey,
  'another P-256': generateKeyPairSync('ec', { ...options, namedCurve: 'P-256' }).privateKey,
  'P-384': generateKeyPairSync('ec', { ...options, namedCurve: 'P-384' }).privateKey,
  Ed25519: generateKeyPairSync('ed25519', options).privateKey,
};
const names = { certificate: 'tls.crt', key: 'tls.key' };

describe('a certificate and a key that are read', () => {
  const serving = makeCertificate({ name: 'localhost' });
  const server = createServer({ key: serving.key, cert: serving.cert }, (socket) => socket.pipe(socket));
  let client: TLSSocket;

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address && typeof address === 'object');
    client = connect({
      port: address.port,
      host: '127.0.0.1',
      ca: serving.cert,
      servername: 'localhost',
      checkServerIdentity: () => undefined,
    });
    await once(client, 'secureConnect');
  });
  after(() => {
    client.destroy();
    server.close();
  });

  /** What is sent comes back; rejects if the connection fails. */
  async function echoes(text: string): Promise<void> {
    const [data] = await within(once(client, 'data'), 'nothing comes back');
    assert.equal(String(data), text);
  }

  for (const [ofCertificate, certifiedKey] of Object.entries(keys)) {
    const certificate = certificateOf(certifiedKey);
    for (const [ofKey, key] of Object.entries(keys)) {
      const matches = ofKey === ofCertificate;
      it(`${ofCertificate} and ${ofKey}: ${matches ? 'a pair' : 'refused'}, and no connection of others breaks`, async () => {
        client.write('x');
        if (matches) parseKeyPair({ certificate, key }, names);
        else
          assert.throws(
            () => parseKeyPair({ certificate, key }, names),
            /tls.crt does not belong to the key in tls.key/,
          );
        await echoes('x');
      });
    }
  }
});
