import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import { once, until } from '../../src/base/waits-fixture.ts';
import { type KeyKind, OpensslFolder, withoutOpenssl } from '../../src/pki/openssl-fixture.ts';
import { CertificateRequests, clientUsages, servingUsages } from '../support/certificate-requests.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Certificates that `orch up` signs, with OpenSSL as the judge and as the maker of keys, requests and authorities. */

const client = 'orch.io/apiserver-client';
const nodeClient = 'orch.io/apiserver-client-node-agent';
const nodeServing = 'orch.io/node-agent-serving';
const hourMs = 3600_000;
const dayMs = 24 * hourMs;

interface UserInfo {
  readonly username: string;
  readonly groups: readonly string[];
}

/** Who a client with this certificate is to the server. */
async function whoIs(server: OrchProcess, cert: string, key: string): Promise<UserInfo> {
  const path = '/apis/authentication.orch.io/v1/selfsubjectreviews';
  const headers = { 'content-type': 'application/json' };
  const request = https.request(`${server.url}${path}`, {
    ...{ method: 'POST', headers, ca: server.credentials.ca, cert, key, agent: false },
  });
  request.end('{}');
  const [response] = await once(request, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  assert.equal(response.statusCode, 201, text);
  return JSON.parse(text).status.userInfo;
}

const lifetimeMs = (pem: string): number => {
  const { validFrom, validTo } = new X509Certificate(pem);
  return Date.parse(validTo) - Date.parse(validFrom);
};

describe('certificates that orch up signs', { skip: withoutOpenssl }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'signing-'));
  const folder = new OpensslFolder(directory);
  after(() => rmSync(directory, { recursive: true }));

  describe('with its own authority', () => {
    let server: OrchProcess;
    let requests: CertificateRequests;
    let authority: string;
    before(async () => {
      server = await OrchProcess.start();
      requests = new CertificateRequests(server);
      authority = join(server.dataDir, 'pki', 'ca.crt');
    });
    after(() => server[Symbol.asyncDispose]());

    for (const key of ['RSA 2048', 'RSA 4096', 'P-256', 'P-384', 'Ed25519'] as const satisfies readonly KeyKind[]) {
      it(`${key}: OpenSSL verifies it, and its holder is who it says`, async () => {
        const request = folder.request(key, '/O=team a/O=team b/CN=jane');
        const pem = await requests.issue({ request, signerName: client, usages: clientUsages });
        assert.match(folder.verify(pem, authority, '-purpose', 'sslclient'), /: OK/);
        assert.match(folder.text(pem), /Subject: CN=jane,O=team b,O=team a\n/);
        const { username, groups } = await whoIs(server, pem, folder.read(folder.key(key)));
        assert.deepEqual([username, groups], ['jane', ['team a', 'team b', 'system:authenticated']]);
      });

      it(`${key}: a node is a node, and its serving certificate serves its names`, async () => {
        const subject = '/O=system:nodes/CN=system:node:n1';
        const agent = await requests.issue({
          request: folder.request(key, subject),
          ...{ signerName: nodeClient, usages: clientUsages },
        });
        const { username, groups } = await whoIs(server, agent, folder.read(folder.key(key)));
        assert.deepEqual([username, groups], ['system:node:n1', ['system:nodes', 'system:authenticated']]);
        const serving = await requests.issue({
          request: folder.request(key, subject, 'subjectAltName=DNS:n1.example,IP:127.0.0.1'),
          ...{ signerName: nodeServing, usages: servingUsages },
        });
        const wanted = ['-purpose', 'sslserver', '-verify_hostname', 'n1.example'];
        assert.match(folder.verify(serving, authority, ...wanted), /: OK/);
        await serves(serving, folder.read(folder.key(key)), folder.read(authority));
      });
    }

    it('a serving certificate is nobody', async () => {
      const request = folder.request('P-256', '/O=system:nodes/CN=system:node:n1', 'subjectAltName=DNS:n1');
      const pem = await requests.issue({ request, signerName: nodeServing, usages: servingUsages });
      await assert.rejects(whoIs(server, pem, folder.read(folder.key('P-256'))), /401/);
    });

    it('they last as long as is asked for, a year at most', async () => {
      const asked = { request: folder.request('P-256', '/CN=jane'), signerName: client, usages: clientUsages };
      assert.equal(lifetimeMs(await requests.issue(asked)), 365 * dayMs);
      assert.equal(lifetimeMs(await requests.issue({ ...asked, expirationSeconds: 86_400 })), dayMs);
      assert.equal(lifetimeMs(await requests.issue({ ...asked, expirationSeconds: 600 })), 600_000 + 300_000);
      assert.equal(lifetimeMs(await requests.issue({ ...asked, expirationSeconds: 2 ** 31 - 1 })), 365 * dayMs);
    });

    it('what the rules of a signer forbid has failed, and says why', async () => {
      const name = await requests.create({
        request: folder.request('P-256', '/CN=jane'),
        ...{ signerName: nodeClient, usages: clientUsages },
      });
      await requests.approve(name);
      const failed = async () => (await requests.get(name)).status?.conditions?.find(({ type }) => type === 'Failed');
      await until(async () => (await failed()) !== undefined, 'it has not failed');
      const { reason, message } = (await failed()) ?? {};
      assert.deepEqual([reason, message], ['SignerValidationFailure', 'subject organization is not system:nodes']);
    });
  });

  describe('with authorities of flags', () => {
    for (const key of ['RSA 4096', 'P-384', 'P-521', 'Ed25519'] as const satisfies readonly KeyKind[]) {
      it(`one for all, ${key}: never past its end, and no longer than the flag says`, async () => {
        const authority = folder.authority(key, { days: 2 });
        await using server = await OrchProcess.start({
          flags: [
            `--cluster-signing-cert-file=${authority.certificate}`,
            `--cluster-signing-key-file=${authority.key}`,
            `--client-ca-file=${authority.certificate}`,
            '--cluster-signing-duration=72h',
          ],
        });
        const requests = new CertificateRequests(server);
        const asked = { request: folder.request('P-256', '/CN=jane'), signerName: client, usages: clientUsages };
        const pem = await requests.issue(asked);
        assert.match(folder.verify(pem, authority.certificate, '-purpose', 'sslclient'), /: OK/);
        const { validTo } = new X509Certificate(folder.read(authority.certificate));
        assert.equal(new X509Certificate(pem).validTo, validTo);
        assert.equal(lifetimeMs(await requests.issue({ ...asked, expirationSeconds: 36_000 })), 36_000_000);
        const { username } = await whoIs(server, pem, folder.read(folder.key('P-256')));
        assert.equal(username, 'jane');
        assert.doesNotMatch(server.log, /PRIVATE KEY/);
      });
    }

    it('one for each: who has none does not sign', async () => {
      const [one, two] = [
        folder.authority('P-256', { commonName: 'one' }),
        folder.authority('P-384', { commonName: 'two' }),
      ];
      await using server = await OrchProcess.start({
        flags: [
          `--cluster-signing-kube-apiserver-client-cert-file=${one.certificate}`,
          `--cluster-signing-kube-apiserver-client-key-file=${one.key}`,
          `--cluster-signing-kubelet-serving-cert-file=${two.certificate}`,
          `--cluster-signing-kubelet-serving-key-file=${two.key}`,
        ],
      });
      // Controllers start when the server is ready already.
      const warning = /a signer has no authority and signs nothing.*apiserver-client-node-agent/;
      await until(() => warning.test(server.log), 'the signer without an authority says so');
      const requests = new CertificateRequests(server);
      const subject = '/O=system:nodes/CN=system:node:n1';
      const without = await requests.create({
        request: folder.request('P-256', subject),
        ...{ signerName: nodeClient, usages: clientUsages },
      });
      await requests.approve(without);
      const first = await requests.issue({
        request: folder.request('P-256', '/CN=jane'),
        ...{ signerName: client, usages: clientUsages },
      });
      assert.match(folder.verify(first, one.certificate), /: OK/);
      const second = await requests.issue({
        request: folder.request('P-256', subject, 'subjectAltName=DNS:n1'),
        ...{ signerName: nodeServing, usages: servingUsages },
      });
      assert.match(folder.verify(second, two.certificate), /: OK/);
      assert.equal((await requests.get(without)).status?.certificate, undefined);
    });

    it('read again when they change; a pair that does not match never signs', async () => {
      const [one, two] = [
        folder.authority('P-256', { commonName: 'one' }),
        folder.authority('P-384', { commonName: 'two' }),
      ];
      const files = { certificate: join(directory, 'changing.crt'), key: join(directory, 'changing.key') };
      copyFileSync(one.certificate, files.certificate);
      copyFileSync(one.key, files.key);
      await using server = await OrchProcess.start({
        flags: [`--cluster-signing-cert-file=${files.certificate}`, `--cluster-signing-key-file=${files.key}`],
      });
      const requests = new CertificateRequests(server);
      const asked = { request: folder.request('P-256', '/CN=jane'), signerName: client, usages: clientUsages };
      copyFileSync(two.certificate, files.certificate);
      await until(
        () => /does not belong to the key/.test(server.log),
        () => `it does not say so:\n${server.log}`,
      );
      assert.match(folder.verify(await requests.issue(asked), one.certificate), /: OK/);
      copyFileSync(two.key, files.key);
      await until(
        () => /a certificate was replaced/.test(server.log),
        () => `it is not replaced:\n${server.log}`,
      );
      assert.match(folder.verify(await requests.issue(asked), two.certificate), /: OK/);
    });
  });
});

/** A TLS server with this certificate is verified by its names, and by no other. */
async function serves(cert: string, key: string, ca: string): Promise<void> {
  const server = createServer({ cert, key }, (socket) => socket.end());
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    for (const [servername, host, code] of [
      ['n1.example', '127.0.0.1', undefined],
      [undefined, '127.0.0.1', undefined],
      ['n2.example', '127.0.0.1', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ] as const) {
      const socket = connect({ port, host, ca, ...(servername !== undefined && { servername }) });
      const error = await Promise.race([
        once(socket, 'secureConnect').then(() => undefined),
        new Promise<NodeJS.ErrnoException>((resolve) => socket.once('error', resolve)),
      ]);
      socket.destroy();
      assert.equal(error?.code, code, servername ?? host);
    }
  } finally {
    server.close();
  }
}
