import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { makeAuthority } from './ca.ts';
import { makeCertificate } from './certificate-fixture.ts';
import { type CertificateRequest, readCertificateRequest } from './certificate-request.ts';
import { primitive, relativeName } from './certificate-request-fixture.ts';
import { readAll, sequence } from './der.ts';
import { issueRequested, UnissuableRequestError } from './issue-requested.ts';
import { readKeyPair } from './key-pair-files.ts';
import { type KeyKind, OpensslFolder, withoutOpenssl } from './openssl-fixture.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const start = Date.UTC(2026, 0, 1, 12);
const context = (now = start) => ({ clock: new ManualClock(now), random: systemRandom });
const clientUsages = ['digital signature', 'key encipherment', 'client auth'];

/** A request for the subject of a certificate that was made for it. */
function requestFor(more: Partial<CertificateRequest> = {}): CertificateRequest {
  const { certificate } = makeCertificate({ name: 'jane', organizations: ['team'] });
  return {
    subjectDer: subjectOf(certificate),
    ...{ commonNames: ['jane'], organizations: ['team'], publicKey: certificate.publicKey },
    ...{ dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [], signatureProblem: undefined },
    ...more,
  };
}

const subjectOf = (certificate: X509Certificate): Buffer => bodyOf(certificate)[5] ?? Buffer.alloc(0);
const bodyOf = (certificate: X509Certificate): Buffer[] => {
  const [outer] = readAll(certificate.raw);
  const [body] = readAll(outer?.content ?? Buffer.alloc(0));
  return readAll(body?.content ?? Buffer.alloc(0)).map(({ whole }) => whole);
};

const authority = makeAuthority('some-ca', context());
const end = Date.parse(authority.certificate.validTo);
const text = (ms: number): string => new Date(ms).toISOString();

describe('the lifetime of an issued certificate', () => {
  for (const [what, now, lifetimeMs, [notBefore, notAfter]] of [
    ['a year', start, 365 * dayMs, [start - 5 * minuteMs, start + 365 * dayMs - 5 * minuteMs]],
    ['8 hours', start, 8 * hourMs, [start - 5 * minuteMs, start + 8 * hourMs - 5 * minuteMs]],
    ['less than 8 hours', start, 8 * hourMs - 1000, [start - 5 * minuteMs, start + 8 * hourMs - 1000]],
    ['ten minutes', start, 10 * minuteMs, [start - 5 * minuteMs, start + 10 * minuteMs]],
    ['no longer than the authority', end - dayMs, 2 * dayMs, [end - dayMs - 5 * minuteMs, end]],
    ['no longer than the authority for a second', end - 1000, hourMs, [end - 1000 - 5 * minuteMs, end]],
  ] as const) {
    it(what, async () => {
      const terms = { usages: clientUsages, lifetimeMs };
      const issued = await issueRequested(authority, requestFor(), terms, context(now));
      assert.equal(text(Date.parse(issued.validFrom)), text(notBefore));
      assert.equal(text(Date.parse(issued.validTo)), text(notAfter));
    });
  }

  for (const now of [end, end + 1, end + dayMs]) {
    it(`none from an authority that ended ${now - end} ms ago: that may change, and is not the request's fault`, () =>
      assert.rejects(
        issueRequested(authority, requestFor(), { usages: clientUsages, lifetimeMs: dayMs }, context(now)),
        (error) => /the authority has expired/.test(String(error)) && !(error instanceof UnissuableRequestError),
      ));
  }
});

describe('requests of which no certificate can be issued', () => {
  for (const [what, request, usages, message] of [
    ['not signed by its key', { signatureProblem: 'it is forged' }, clientUsages, /it is forged/],
    ['an unknown usage', {}, ['nonsense', 'client auth'], /unrecognized usage values: \["nonsense"\]/],
    ['signs certificates', {}, ['cert sign'], /only authorities may have the usage "cert sign"/],
    ['encipher only', {}, ['encipher only'], /no meaning without "key agreement"/],
    ['decipher only', {}, ['decipher only', 'digital signature'], /no meaning without "key agreement"/],
    ['a DNS name that is not ASCII', { dnsNames: ['ä'] }, clientUsages, /is not ASCII/],
    ['a URI that is not ASCII', { uris: ['http://ä'] }, clientUsages, /is not ASCII/],
    ['an e-mail address that is not ASCII', { emailAddresses: ['ä@b'] }, clientUsages, /is not ASCII/],
    ['an IP address that is none', { ipAddresses: ['1.2.3'] }, clientUsages, /is not an IP address/],
    ...(
      [
        ['an octet string', primitive(0x04, Buffer.from('x'))],
        ['a boolean', primitive(0x01, Buffer.from([0xff]))],
        ['half a character', primitive(0x1e, Buffer.from([0xd8, 0x3d]))],
        ['a character outside of the plane of its type', primitive(0x1e, Buffer.from('d83dde00', 'hex'))],
        ['a tag of no type', primitive(0x80, Buffer.from('x'))],
      ] as const
    ).map(([what, value]) => {
      const subjectDer = sequence(relativeName('2.5.4.11', value));
      return [
        `a subject with ${what}`,
        { subjectDer },
        clientUsages,
        /the subject has a value that cannot be/,
      ] as const;
    }),
  ] as const) {
    it(what, () =>
      assert.rejects(
        issueRequested(authority, requestFor(request), { usages, lifetimeMs: dayMs }, context()),
        (error) => error instanceof UnissuableRequestError && message.test(error.message),
      ),
    );
  }
});

describe('an issued certificate', () => {
  const issue = (request: CertificateRequest, usages: readonly string[] = clientUsages) =>
    issueRequested(authority, request, { usages, lifetimeMs: dayMs }, context());

  it('has the subject of the request byte for byte', async () => {
    const request = requestFor();
    assert.deepEqual(subjectOf(await issue(request)), request.subjectDer);
  });

  it('has a positive serial number that is never the same', async () => {
    const issued = await Promise.all(Array.from({ length: 50 }, () => issue(requestFor())));
    const serials = issued.map(({ serialNumber }) => BigInt(`0x${serialNumber}`));
    assert.equal(new Set(serials).size, serials.length);
    for (const serial of serials) assert.ok(serial >= 2n ** 126n && serial < 2n ** 127n);
  });

  it('is issued by the authority, and is none', async () => {
    const issued = await issue(requestFor());
    assert.equal(issued.ca, false);
    assert.ok(issued.checkIssued(authority.certificate));
  });
});

const requestKeys: readonly KeyKind[] = ['RSA 2048', 'RSA 4096', 'P-256', 'P-384', 'Ed25519'];
const authorityKeys: readonly KeyKind[] = [...requestKeys, 'P-521'];
const signatures: Readonly<Record<KeyKind, RegExp>> = {
  'RSA 2048': /Signature Algorithm: sha256WithRSAEncryption/,
  'RSA 4096': /Signature Algorithm: sha256WithRSAEncryption/,
  'P-256': /Signature Algorithm: ecdsa-with-SHA256/,
  'P-384': /Signature Algorithm: ecdsa-with-SHA384/,
  'P-521': /Signature Algorithm: ecdsa-with-SHA512/,
  Ed25519: /Signature Algorithm: ED25519/,
};

describe('OpenSSL as the judge', { skip: withoutOpenssl }, () => {
  let directory: string;
  let folder: OpensslFolder;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'issued-'));
    folder = new OpensslFolder(directory);
  });
  after(() => rmSync(directory, { recursive: true }));

  const issue = async (
    files: { readonly certificate: string; readonly key: string },
    pem: string,
    usages: readonly string[],
  ) => {
    const request = await readCertificateRequest(pem);
    const terms = { usages, lifetimeMs: 10 * dayMs };
    return (await issueRequested(readKeyPair(files), request, terms, context(Date.now()))).toString();
  };

  for (const authorityKey of authorityKeys) {
    for (const key of requestKeys) {
      it(`${key} signed by ${authorityKey}`, async () => {
        const authority = folder.authority(authorityKey);
        const pem = await issue(authority, folder.request(key, '/O=team/CN=jane'), clientUsages);
        assert.match(folder.verify(pem, authority.certificate, '-purpose', 'sslclient'), /: OK/);
        assert.throws(() => folder.verify(pem, authority.certificate, '-purpose', 'sslserver'), /unsuitable|purpose/);
        const shown = folder.text(pem);
        assert.match(shown, signatures[authorityKey]);
        assert.match(shown, /Subject: CN=jane,O=team\n/);
        assert.match(shown, /X509v3 Basic Constraints: critical\n +CA:FALSE/);
        assert.match(shown, /X509v3 Key Usage: critical\n +Digital Signature, Key Encipherment\n/);
        assert.match(shown, /X509v3 Extended Key Usage: \n +TLS Web Client Authentication\n/);
      });
    }
  }

  it('alternative names are issued, other extensions dropped', async () => {
    const authority = folder.authority('P-256');
    const names = 'DNS:n1,DNS:*.example.com,IP:10.0.0.1,IP:fe80::1,email:a@example.com,URI:spiffe://a/b';
    const asked = ['basicConstraints=critical,CA:TRUE', 'keyUsage=keyCertSign', 'nsComment=hello'];
    const request = folder.request('P-256', '/O=system:nodes/CN=system:node:n1', `subjectAltName=${names}`, ...asked);
    const pem = await issue(authority, request, ['digital signature', 'server auth']);
    const shown = folder.text(pem);
    const listed =
      'DNS:n1, DNS:*.example.com, email:a@example.com, IP Address:10.0.0.1, IP Address:FE80:0:0:0:0:0:0:1, URI:spiffe://a/b';
    assert.ok(shown.includes(`X509v3 Subject Alternative Name: \n                ${listed}\n`), shown);
    assert.match(shown, /CA:FALSE/);
    assert.match(shown, /X509v3 Key Usage: critical\n +Digital Signature\n/);
    assert.doesNotMatch(shown, /Comment|Certificate Sign/);
    const verified = ['-purpose', 'sslserver', '-verify_hostname', 'x.example.com'];
    assert.match(folder.verify(pem, authority.certificate, ...verified), /: OK/);
    assert.throws(() => folder.verify(pem, authority.certificate, '-verify_hostname', 'example.com'), /mismatch/i);
    assert.match(folder.verify(pem, authority.certificate, '-verify_ip', '10.0.0.1'), /: OK/);
  });

  it('alternative names without a subject are critical', async () => {
    const authority = folder.authority('P-256');
    const pem = await issue(authority, folder.request('P-256', '/', 'subjectAltName=DNS:n1'), ['server auth']);
    assert.match(folder.text(pem), /X509v3 Subject Alternative Name: critical/);
    assert.match(folder.verify(pem, authority.certificate), /: OK/);
    assert.doesNotMatch(folder.text(pem), /X509v3 Key Usage/);
  });

  it('every usage under the name that OpenSSL has for it', async () => {
    const authority = folder.authority('P-256');
    const request = folder.request('P-256', '/CN=jane');
    for (const [usage, shown] of [
      ['signing', 'Digital Signature'],
      ['digital signature', 'Digital Signature'],
      ['content commitment', 'Non Repudiation'],
      ['key encipherment', 'Key Encipherment'],
      ['key agreement', 'Key Agreement'],
      ['data encipherment', 'Data Encipherment'],
      ['crl sign', 'CRL Sign'],
      ['any', 'Any Extended Key Usage'],
      ['server auth', 'TLS Web Server Authentication'],
      ['client auth', 'TLS Web Client Authentication'],
      ['code signing', 'Code Signing'],
      ['email protection', 'E-mail Protection'],
      ['s/mime', 'E-mail Protection'],
      ['ipsec end system', 'IPSec End System'],
      ['ipsec tunnel', 'IPSec Tunnel'],
      ['ipsec user', 'IPSec User'],
      ['timestamping', 'Time Stamping'],
      ['ocsp signing', 'OCSP Signing'],
      ['microsoft sgc', 'Microsoft Server Gated Crypto'],
      ['netscape sgc', 'Netscape Server Gated Crypto'],
    ] as const) {
      const [, extension, found] =
        /X509v3 (Key Usage: critical|Extended Key Usage: )\n +(.*)\n/.exec(
          folder.text(await issue(authority, request, [usage])),
        ) ?? [];
      assert.equal(found, shown, `${usage} is ${extension} ${found}`);
    }
    for (const [usage, shown] of [
      ['encipher only', 'Key Agreement, Encipher Only'],
      ['decipher only', 'Key Agreement, Decipher Only'],
    ] as const) {
      const [, found] =
        /X509v3 Key Usage: critical\n +(.*)\n/.exec(
          folder.text(await issue(authority, request, ['key agreement', usage])),
        ) ?? [];
      assert.equal(found, shown);
    }
  });
});
