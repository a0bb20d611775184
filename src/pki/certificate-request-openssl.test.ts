import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readCertificateRequest } from './certificate-request.ts';
import { requestToPem } from './certificate-request-fixture.ts';
import { decodePem } from './decode-pem.ts';
import { withoutOpenssl } from './openssl-fixture.ts';

const subject = '/O=dev/O=ops/CN=alice';
const names =
  'DNS:a.example,DNS:b.example,IP:10.0.0.1,IP:fe80::1,email:a@b.example,URI:spiffe://a/b,otherName:1.2.3.4;UTF8:x';

interface Case {
  readonly what: string;
  /** Arguments of `openssl genpkey`. */
  readonly key: readonly string[];
  readonly options?: readonly string[];
  readonly problem?: string;
}

const rsa = (bits: number): readonly string[] => ['-algorithm', 'RSA', '-pkeyopt', `rsa_keygen_bits:${bits}`];
const ec = (curve: string): readonly string[] => ['-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`];
const pss = (saltLength: string): readonly string[] => [
  '-sigopt',
  'rsa_padding_mode:pss',
  '-sigopt',
  `rsa_pss_saltlen:${saltLength}`,
];
const unimplemented = 'x509: cannot verify signature: algorithm unimplemented';

const cases: readonly Case[] = [
  { what: 'RSA of 2048 bits', key: rsa(2048) },
  { what: 'RSA of 4096 bits', key: rsa(4096) },
  { what: 'RSA with SHA-1', key: rsa(2048), options: ['-sha1'] },
  { what: 'RSA with SHA-384', key: rsa(2048), options: ['-sha384'] },
  { what: 'RSA with SHA-512', key: rsa(2048), options: ['-sha512'] },
  { what: 'RSA-PSS with SHA-256', key: rsa(2048), options: pss('digest') },
  { what: 'RSA-PSS with SHA-384', key: rsa(2048), options: ['-sha384', ...pss('digest')] },
  { what: 'RSA-PSS with SHA-512', key: rsa(2048), options: ['-sha512', ...pss('digest')] },
  { what: 'P-224', key: ec('P-224') },
  { what: 'P-256', key: ec('P-256') },
  { what: 'P-256 with SHA-1', key: ec('P-256'), options: ['-sha1'] },
  { what: 'P-384', key: ec('P-384'), options: ['-sha384'] },
  { what: 'P-521', key: ec('P-521'), options: ['-sha512'] },
  { what: 'Ed25519', key: ['-algorithm', 'ED25519'] },
  {
    what: 'RSA with MD5',
    key: rsa(2048),
    options: ['-md5'],
    problem: 'x509: cannot verify signature: insecure algorithm MD5-RSA',
  },
  { what: 'RSA-PSS with another salt', key: rsa(2048), options: pss('20'), problem: unimplemented },
];

/** Keys that are no key of a request here; reading fails. */
const refused: readonly (Case & { readonly problem: string })[] = [
  { what: 'secp256k1', key: ec('secp256k1'), problem: 'x509: unsupported elliptic curve' },
  {
    what: 'a curve by its parameters',
    key: [...ec('P-256'), '-pkeyopt', 'ec_param_enc:explicit'],
    problem: 'x509: unsupported elliptic curve',
  },
  { what: 'Ed448', key: ['-algorithm', 'ED448'], problem: unimplemented },
  {
    what: 'a key for RSA-PSS only',
    key: ['-algorithm', 'RSA-PSS', '-pkeyopt', 'rsa_keygen_bits:2048'],
    problem: unimplemented,
  },
];

describe('requests made by openssl', { skip: withoutOpenssl }, () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'orch-request-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const make = ({ key, options = [] }: Case): string => {
    const [keyFile, file] = [join(directory, 'key'), join(directory, 'request')];
    execFileSync('openssl', ['genpkey', ...key, '-out', keyFile], { stdio: 'ignore' });
    const shape = ['-subj', subject, '-addext', `subjectAltName=${names}`, '-addext', 'keyUsage=digitalSignature'];
    execFileSync('openssl', ['req', '-new', '-key', keyFile, '-out', file, ...shape, ...options], { stdio: 'ignore' });
    return readFileSync(file, 'utf8');
  };

  for (const each of cases) {
    it(`${each.what}: ${each.problem ?? 'taken; what was tampered with is refused'}`, async () => {
      const pem = make(each);
      const { publicKey: _key, subjectDer: _subject, ...request } = await readCertificateRequest(pem);
      assert.deepEqual(request, {
        commonNames: ['alice'],
        organizations: ['dev', 'ops'],
        dnsNames: ['a.example', 'b.example'],
        ipAddresses: ['10.0.0.1', 'fe80::1'],
        emailAddresses: ['a@b.example'],
        uris: ['spiffe://a/b'],
        signatureProblem: each.problem,
      });
      for (const [what, changed] of tampered(pem)) {
        const { signatureProblem } = await readCertificateRequest(changed);
        assert.ok(signatureProblem, `${what} was changed`);
      }
    });
  }

  for (const each of refused) {
    it(`${each.what}: refused`, () => assert.rejects(readCertificateRequest(make(each)), { message: each.problem }));
  }
});

/** The request with another subject, another alternative name, and another last byte of the signature. */
function tampered(pem: string): readonly (readonly [what: string, pem: string])[] {
  const [block] = decodePem(pem);
  const der = block?.bytes ?? assert.fail('no PEM');
  const changed = (what: string, at: number): readonly [string, string] => {
    assert.ok(at >= 0, what);
    const copy = Buffer.from(der);
    copy.writeUInt8((copy[at] ?? 0) ^ 1, at);
    return [what, requestToPem(copy)];
  };
  return [
    changed('the subject', der.indexOf('alice')),
    changed('an alternative name', der.indexOf('a.example')),
    changed('the signature', der.length - 1),
  ];
}
