import assert from 'node:assert/strict';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { systemRandom } from '../../src/base/random.ts';
import { once, until } from '../../src/base/waits-fixture.ts';
import { issueCertificate, issueSelfSigned } from '../../src/pki/certificate.ts';
import { type KeyPair, readKeyPair } from '../../src/pki/key-pair-files.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import { Command, getStatus } from '../support/command.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Answer } from '../support/raw-client.ts';

/** Certificates that are replaced or about to end while a server runs. */

const dayMs = 24 * 3600_000;

let area: string;
before(() => {
  area = mkdtempSync(join(tmpdir(), 'renewal '));
});
after(() => rmSync(area, { recursive: true }));

/** The certificate that a new connection is shown. */
async function shown(port: number): Promise<X509Certificate> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const certificate = socket.getPeerX509Certificate();
  socket.destroy();
  assert.ok(certificate);
  return certificate;
}

const daysLeft = ({ validTo }: X509Certificate): number => (Date.parse(validTo) - Date.now()) / dayMs;

/** Another certificate for the key of a pair, of which a day is left. */
function aboutToEnd(authority: KeyPair, pair: KeyPair, use: 'serverAuth' | 'clientAuth'): string {
  const [, commonName = ''] = /CN=(.*)/.exec(pair.certificate.subject) ?? [];
  const [, organization] = /O=(.*)/.exec(pair.certificate.subject) ?? [];
  const request = {
    subject: { commonName, ...(organization !== undefined && { organizations: [organization] }) },
    publicKey: createPublicKey(pair.privateKey),
    uses: [use],
    ...(use === 'serverAuth' && { hosts: ['localhost', '127.0.0.1'] }),
    notBefore: Date.now() - 30 * dayMs,
    notAfter: Date.now() + dayMs,
  } as const;
  return issueCertificate(authority, request, systemRandom).toString();
}

const pairIn = (folder: string, name: string): KeyPair =>
  readKeyPair({ certificate: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) });

describe('orch up', () => {
  it('renews what it shows before that ends, without a restart, and leaves open connections alone', async () => {
    await using server = await OrchProcess.start();
    const pki = join(server.dataDir, 'pki');
    const [authority, pair] = [pairIn(pki, 'ca'), pairIn(pki, 'apiserver')];
    const session = connectHttp2(server.url, server.credentials);
    session.on('error', () => {});
    await once(session, 'remoteSettings');
    try {
      const old = aboutToEnd(authority, pair, 'serverAuth');
      writeFileSync(join(pki, 'apiserver.crt'), old);
      await until(
        async () =>
          ![pair.certificate.serialNumber, new X509Certificate(old).serialNumber].includes(
            (await shown(server.port)).serialNumber,
          ),
        () => `nothing new is shown: ${server.log}`,
      );
      const certificate = await shown(server.port);
      assert.ok(daysLeft(certificate) > 360);
      assert.ok(certificate.verify(authority.certificate.publicKey));
      assert.equal(pairIn(pki, 'apiserver').certificate.serialNumber, certificate.serialNumber);
      assert.equal(pairIn(pki, 'apiserver').keyPem, pair.keyPem);
      assert.equal((await server.get('/api/v1/namespaces')).status, 200);
      assert.equal((await http2Answer(session, { ':path': '/version' })).status, 200);
    } finally {
      session.destroy();
    }
  });

  it("renews the administrator's certificate, and the file that has it", async () => {
    await using server = await OrchProcess.start();
    const pki = join(server.dataDir, 'pki');
    const before = server.credentials;
    writeFileSync(join(pki, 'admin.crt'), aboutToEnd(pairIn(pki, 'ca'), pairIn(pki, 'admin'), 'clientAuth'));
    await until(
      () => !server.credentials.cert.equals(before.cert),
      () => `the file is as it was: ${server.log}`,
    );
    const { ca, cert, key } = server.credentials;
    const certificate = new X509Certificate(cert);
    assert.ok(daysLeft(certificate) > 360);
    assert.match(certificate.subject, /system:masters/);
    assert.deepEqual([ca, key], [before.ca, before.key]);
    assert.equal(statSync(server.kubeconfig).mode & 0o777, 0o600);
    assert.equal(await getStatus(`${server.url}/api/v1/secrets`, { ca, cert, key }), 200);
  });

  it('says when its authority ends within a year', async () => {
    const pki = join(area, 'own authority', 'pki');
    await using first = new Command('up', `--data-dir=${join(pki, '..')}`, '--secure-port=0');
    await first.prints(/listens on/);
    assert.doesNotMatch(first.err, /the authority ends/);
    first.signal('SIGTERM');
    await first.exit();
    const key = generateKey();
    const request = {
      subject: { commonName: 'their-ca' },
      publicKey: createPublicKey(key),
      uses: ['authority'],
      notBefore: Date.now() - dayMs,
      notAfter: Date.now() + 300 * dayMs,
    } as const;
    for (const name of ['apiserver', 'admin']) rmSync(join(pki, `${name}.crt`));
    writeFileSync(join(pki, 'ca.crt'), issueSelfSigned(request, key, systemRandom).toString());
    writeFileSync(join(pki, 'ca.key'), keyToPem(key));
    await using second = new Command('up', `--data-dir=${join(pki, '..')}`, '--secure-port=0');
    await second.prints(/the authority ends within a year.*ca\.crt/);
  });
});

describe('a certificate that the flags name', () => {
  let made = 0;
  /** A pair that vouches for itself, in files. */
  function newPair(files: { readonly certificate: string; readonly key: string }, name: string): string {
    const key = generateKey();
    made += 1;
    const request = {
      subject: { commonName: name },
      publicKey: createPublicKey(key),
      uses: ['serverAuth'],
      hosts: ['127.0.0.1'],
      notBefore: Date.now() - dayMs,
      notAfter: Date.now() + made * dayMs,
    } as const;
    const pem = issueSelfSigned(request, key, systemRandom).toString();
    writeFileSync(files.certificate, pem);
    writeFileSync(files.key, keyToPem(key));
    return pem;
  }

  for (const command of ['apiserver', 'up']) {
    it(`is read again by ${command} when it changes, with the key that belongs to it`, async () => {
      const at = (name: string): string => join(area, `${command}-${name}`);
      const files = { certificate: at('tls.crt'), key: at('tls.key') };
      newPair(files, 'first');
      const flags = [`--tls-cert-file=${files.certificate}`, `--tls-private-key-file=${files.key}`];
      const dataDir = at('data');
      await using server = new Command(command, `--data-dir=${dataDir}`, '--secure-port=0', ...flags);
      const [, digits] = await server.prints(/https:\/\/127\.0\.0\.1:(\d+)/);
      const port = Number(digits);
      assert.equal((await shown(port)).subject, 'CN=first');

      const second = newPair(files, 'second');
      await until(
        async () => (await shown(port)).subject === 'CN=second',
        () => server.err,
      );

      // A certificate without its key, and rubbish: both are told, and change nothing.
      const before = server.err.length;
      newPair({ certificate: files.certificate, key: at('elsewhere.key') }, 'apart');
      await until(
        () => /stays as it is.*does not belong to the key/s.test(server.err.slice(before)),
        () => server.err,
      );
      assert.equal((await shown(port)).subject, 'CN=second');
      writeFileSync(files.certificate, 'rubbish');
      await until(
        () => /stays as it is.*has no PEM block/s.test(server.err.slice(before)),
        () => server.err,
      );
      assert.equal((await shown(port)).subject, 'CN=second');
      assert.doesNotMatch(server.err, /PRIVATE KEY/);

      if (command === 'up') {
        const kubeconfig = readFileSync(join(dataDir, 'admin.kubeconfig'), 'utf8');
        const [, ca = ''] = /certificate-authority-data: (\S+)/.exec(kubeconfig) ?? [];
        assert.ok(Buffer.from(ca, 'base64').toString().includes(second), 'its own clients know it');
      }
      newPair(files, 'third');
      await until(
        async () => (await shown(port)).subject === 'CN=third',
        () => server.err,
      );
    });
  }
});
