import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { ensureAuthority, ensureIssued, ensureSelfSigned } from './ca.ts';
import { type KeyPairFiles, PkiFileError, readKeyPair } from './key-pair-files.ts';

const dayMs = 24 * 60 * 60_000;
const start = Date.UTC(2026, 0, 1);
const hosts = ['localhost', '127.0.0.1', '::1', 'fe80::1:2', '::ffff:10.0.0.1', 'node-1.example.com'];
const openssl = spawnSync('openssl', ['version']).status === 0;

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'pki '));
});
after(() => rmSync(directory, { recursive: true }));

let count = 0;
const newFiles = (): KeyPairFiles => {
  const base = join(directory, `${++count}`);
  return { certificate: `${base}.crt`, key: `${base}.key` };
};
const context = (now = start) => ({ clock: new ManualClock(now), random: systemRandom });
const serving = { subject: { commonName: 'server' }, use: 'serverAuth', hosts } as const;
const client = { subject: { commonName: 'admin', organizations: ['one', 'two, three'] }, use: 'clientAuth' } as const;

describe('an authority', () => {
  it('is created once, valid for ten years, and kept', () => {
    const files = newFiles();
    const made = ensureAuthority(files, 'some-ca', context());
    const { certificate } = made;
    assert.equal(certificate.subject, 'CN=some-ca');
    assert.equal(certificate.ca, true);
    assert.ok(certificate.verify(certificate.publicKey));
    assert.ok(certificate.checkIssued(certificate));
    assert.equal(certificate.validFrom, 'Dec 31 23:55:00 2025 GMT');
    assert.equal(certificate.validTo, 'Dec 30 00:00:00 2035 GMT');
    assert.equal(ensureAuthority(files, 'some-ca', context(start + dayMs)).certificatePem, made.certificatePem);
  });

  it('is renewed with the same key and name before it would shorten the certificates it issues', () => {
    const files = newFiles();
    const old = ensureAuthority(files, 'some-ca', context());
    const later = context(start + 9 * 365 * dayMs);
    const renewed = ensureAuthority(files, 'some-ca', later);
    assert.notEqual(renewed.certificatePem, old.certificatePem);
    assert.equal(renewed.keyPem, old.keyPem);
    const issued = ensureIssued(newFiles(), renewed, serving, later);
    assert.ok(issued.certificate.checkIssued(old.certificate), 'who trusts the old certificate trusts new ones');
  });

  it('from elsewhere is not renewed, and rejected when it has expired', () => {
    const files = newFiles();
    const old = ensureAuthority(files, 'their-ca', context());
    assert.equal(ensureAuthority(files, 'some-ca', context()).certificatePem, old.certificatePem);
    const expired = () => ensureAuthority(files, 'some-ca', context(start + 11 * 365 * dayMs));
    assert.throws(expired, (error) => error instanceof PkiFileError && error.file === files.certificate);
    assert.equal(readFileSync(files.certificate, 'utf8'), old.certificatePem);
  });
});

describe('an issued certificate', () => {
  const authority = () => ensureAuthority(newFiles(), 'some-ca', context());

  it('is for servers: every host, server authentication only', () => {
    const ca = authority();
    const { certificate } = ensureIssued(newFiles(), ca, serving, context());
    assert.ok(certificate.checkIssued(ca.certificate));
    assert.ok(certificate.verify(ca.certificate.publicKey));
    assert.equal(certificate.ca, false);
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1']);
    assert.equal(
      certificate.subjectAltName,
      'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:FE80:0:0:0:0:0:1:2, ' +
        'IP Address:0:0:0:0:0:FFFF:A00:1, DNS:node-1.example.com',
    );
    assert.equal(certificate.validTo, 'Jan  1 00:00:00 2027 GMT');
  });

  it('is for clients: name and groups, client authentication only', () => {
    const { certificate } = ensureIssued(newFiles(), authority(), client, context());
    assert.deepEqual(certificate.toLegacyObject().subject.O, ['one', 'two, three']);
    assert.deepEqual(certificate.toLegacyObject().subject.CN, 'admin');
    assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  });

  it('has a unique serial number', () => {
    const ca = authority();
    const serials = [1, 2, 3].map(() => ensureIssued(newFiles(), ca, client, context()).certificate.serialNumber);
    assert.equal(new Set(serials).size, 3);
  });

  for (const [name, days, renewed] of [
    ['is kept while more than a third of its life is left', 243, false],
    ['is renewed when a third of its life is left', 244, true],
    ['is renewed when it has expired', 400, true],
    ['is renewed when it is not valid yet', -2, true],
  ] as const) {
    it(name, () => {
      const [ca, files] = [authority(), newFiles()];
      const old = ensureIssued(files, ca, serving, context());
      const again = ensureIssued(files, ca, serving, context(start + days * dayMs));
      assert.equal(again.certificatePem !== old.certificatePem, renewed);
      assert.equal(again.keyPem, old.keyPem);
    });
  }

  it('is renewed for an additional host', () => {
    const [ca, files] = [authority(), newFiles()];
    ensureIssued(files, ca, serving, context());
    const again = ensureIssued(files, ca, { ...serving, hosts: [...hosts, '10.1.2.3'] }, context());
    assert.ok(again.certificate.checkIP('10.1.2.3'));
  });

  it('never outlives its authority', () => {
    const late = context(start + 9.5 * 365 * dayMs);
    const { certificate } = ensureIssued(newFiles(), authority(), serving, late);
    assert.equal(certificate.validTo, 'Dec 30 00:00:00 2035 GMT');
  });

  it('that ends with its authority is not renewed in vain', () => {
    const [ca, files] = [authority(), newFiles()];
    const made = ensureIssued(files, ca, serving, context(start + 9.5 * 365 * dayMs));
    for (const years of [9.9, 9.99, 10, 11]) {
      const again = ensureIssued(files, ca, serving, context(start + years * 365 * dayMs));
      assert.equal(again.certificatePem, made.certificatePem);
    }
  });

  it('may end after 2050', () => {
    const far = context(Date.UTC(2055, 0, 1));
    const { certificate } = ensureIssued(newFiles(), ensureAuthority(newFiles(), 'some-ca', far), serving, far);
    assert.equal(certificate.validTo, 'Jan  1 00:00:00 2056 GMT');
  });

  it('is accepted by openssl', { skip: !openssl && 'no openssl here' }, () => {
    const now = { clock: new ManualClock(Date.now()), random: systemRandom };
    const caFiles = newFiles();
    const ca = ensureAuthority(caFiles, 'some-ca', now);
    for (const [purpose, wanted] of [
      ['sslserver', serving],
      ['sslclient', client],
    ] as const) {
      const files = newFiles();
      ensureIssued(files, ca, wanted, now);
      const args = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', caFiles.certificate, files.certificate];
      assert.match(execFileSync('openssl', args, { encoding: 'utf8' }), /: OK/);
    }
  });
});

describe('a self-signed certificate', () => {
  it('is created, kept and renewed', () => {
    const files = newFiles();
    const made = ensureSelfSigned(files, serving, context());
    assert.ok(made.certificate.verify(made.certificate.publicKey));
    assert.equal(ensureSelfSigned(files, serving, context()).certificatePem, made.certificatePem);
    const later = ensureSelfSigned(files, serving, context(start + 350 * dayMs));
    assert.notEqual(later.certificatePem, made.certificatePem);
  });

  it('leaves a pair of another issuer alone, expired or not', () => {
    const files = newFiles();
    const theirs = ensureIssued(files, ensureAuthority(newFiles(), 'their-ca', context()), client, context());
    assert.equal(ensureSelfSigned(files, serving, context(start + 900 * dayMs)).certificatePem, theirs.certificatePem);
  });
});

describe('files', () => {
  it('are private and leave no temporary files', () => {
    const files = newFiles();
    ensureAuthority(files, 'some-ca', context());
    for (const file of [files.certificate, files.key]) assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.endsWith('.tmp')),
      [],
    );
  });

  it('a start interrupted after writing the key is completed by the next one', () => {
    const files = newFiles();
    const made = ensureAuthority(files, 'some-ca', context());
    rmSync(files.certificate);
    assert.equal(ensureAuthority(files, 'some-ca', context()).keyPem, made.keyPem);
  });

  const other = () => {
    const files = newFiles();
    ensureAuthority(files, 'some-ca', context());
    return files;
  };
  const ca = () => ensureAuthority(newFiles(), 'some-ca', context());
  const cases: readonly (readonly [string, keyof KeyPairFiles, (files: KeyPairFiles) => void, RegExp])[] = [
    ['no PEM', 'certificate', (files) => writeFileSync(files.certificate, 'hello'), /has no PEM block/],
    [
      'a damaged certificate',
      'certificate',
      (files) => writeFileSync(files.certificate, readFileSync(files.certificate, 'utf8').replace(/[A-Z]{3}/, 'AAA~')),
      /damaged|no PEM/,
    ],
    ['an empty key', 'key', (files) => writeFileSync(files.key, ''), /is not a private key/],
    [
      'the key of another certificate',
      'certificate',
      (files) => writeFileSync(files.key, readFileSync(other().key)),
      /does not belong to the key/,
    ],
    ['no key', 'key', (files) => rmSync(files.key), /is missing although/],
    [
      'a certificate of another authority',
      'certificate',
      (files) => {
        rmSync(files.certificate);
        ensureIssued(files, ca(), serving, context());
      },
      /was not issued by the authority/,
    ],
  ];
  for (const [name, culprit, damage, message] of cases) {
    it(`with ${name} are named in the error and stay as they are`, () => {
      const [authority, files] = [ca(), newFiles()];
      ensureIssued(files, authority, serving, context());
      damage(files);
      const before = snapshot(files);
      assert.throws(
        () => ensureIssued(files, authority, serving, context()),
        (error) => error instanceof PkiFileError && error.file === files[culprit] && message.test(error.message),
      );
      assert.deepEqual(snapshot(files), before);
    });
  }

  it('whose certificate is a leaf are rejected as an authority', () => {
    const files = newFiles();
    ensureIssued(files, ca(), serving, context());
    assert.throws(() => ensureAuthority(files, 'some-ca', context()), /is not the certificate of an authority/);
  });

  it('that cannot be read are named', { skip: process.getuid?.() === 0 && 'root reads everything' }, () => {
    const files = other();
    chmodSync(files.key, 0);
    assert.throws(() => readKeyPair(files), /cannot be read/);
  });

  it('may hold a chain after the certificate', () => {
    const files = other();
    const chain = readFileSync(files.certificate, 'utf8') + ca().certificatePem;
    writeFileSync(files.certificate, chain);
    const read = readKeyPair(files);
    assert.equal(read.certificatePem, chain);
    assert.equal(read.certificate.fingerprint256, new X509Certificate(chain).fingerprint256);
  });
});

const snapshot = (files: KeyPairFiles): readonly (string | undefined)[] =>
  [files.certificate, files.key].map((file) => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return undefined;
    }
  });
