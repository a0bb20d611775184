import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, sign } from 'node:crypto';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { commonNameOfRequest, readCertificateRequest } from './certificate-request.ts';
import {
  attribute,
  ids,
  makeRequest,
  requestToPem as pem,
  primitive,
  relativeName,
} from './certificate-request-fixture.ts';
import { decodePem } from './decode-pem.ts';
import {
  bitString,
  explicit,
  implicit,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  unsignedInteger,
  utf8String,
} from './der.ts';

const integer = (...bytes: readonly number[]): Buffer => unsignedInteger(Buffer.from(bytes));
const name = (text: string | Buffer): Buffer => relativeName(ids.commonName, text);
const named = makeRequest({ subject: [relativeName(ids.organization, 'system:nodes'), name('system:node:n1')] });

/** Created by openssl: P-256, `/O=system:nodes/CN=system:node:n1`. */
const real = `-----BEGIN CERTIFICATE REQUEST-----
MIHsMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lz
dGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQSgmrN/AUZj7bR
6MELBjVqvhjJqNu0lMwY0mONcUQXNZsxgJBKujP68R+5/2wvDSWYrr/1NJwRfGay
yBqtrQEhoAAwCgYIKoZIzj0EAwIDSQAwRgIhANzeUitT5cIlYoRTN8DMql1yypsa
7EGn95K1YwaMd0eZAiEA1yjybnYKJJSl6CxQfW9NLLBy0F/8R3MNmg1khrveIFA=
-----END CERTIFICATE REQUEST-----`;

describe('the common name of a certificate request', () => {
  const cases: readonly (readonly [what: string, text: string | Buffer, name: string])[] = [
    ['of a request built here', pem(named), 'system:node:n1'],
    ['of a request from openssl', real, 'system:node:n1'],
    ['of bytes', Buffer.from(real), 'system:node:n1'],
    ['with text around it', `a\n${pem(named)}b`, 'system:node:n1'],
    ['with another block after it', pem(named) + pem(named, 'CERTIFICATE'), 'system:node:n1'],
    ['with a damaged block before it', `-----BEGIN X-----\n!\n-----END X-----\n${pem(named)}`, 'system:node:n1'],
    ['with headers', pem(named).replace('\n', '\nA: b\n\n'), 'system:node:n1'],
    ['without one', pem(makeRequest({ subject: [relativeName(ids.organization, 'o')] })), ''],
  ];
  for (const [what, text, expected] of cases) {
    it(what, async () => assert.equal(await commonNameOfRequest(text), expected));
  }

  const several: readonly (readonly [what: string, subject: readonly Buffer[]])[] = [
    ['two', [name('a'), name('b')]],
    ['two in one set', [setOf(Buffer.concat([attribute(ids.commonName, 'a'), attribute(ids.commonName, 'b')]))]],
    ['the same twice', [name('a'), name('a')]],
  ];
  for (const [what, subject] of several) {
    it(`is refused if there are ${what}`, () =>
      assert.rejects(commonNameOfRequest(pem(makeRequest({ subject }))), /more than one/));
  }
});

describe('names of a subject, whatever their string type', () => {
  const masters = 'system:masters';
  const wide = (bytes: number): Buffer =>
    Buffer.from([...masters].flatMap((letter) => [...Array(bytes - 1).fill(0), letter.charCodeAt(0)]));
  const types: readonly (readonly [type: string, der: Buffer])[] = [
    ['UTF8String', utf8String(masters)],
    ['PrintableString', primitive(0x13, Buffer.from(masters))],
    ['TeletexString', primitive(0x14, Buffer.from(masters))],
    ['IA5String', primitive(0x16, Buffer.from(masters))],
    ['VisibleString', primitive(0x1a, Buffer.from(masters))],
    ['GeneralString', primitive(0x1b, Buffer.from(masters))],
    ['UniversalString', primitive(0x1c, wide(4))],
    ['BMPString', primitive(0x1e, wide(2))],
  ];
  for (const [type, der] of types) {
    it(type, async () => {
      const request = await readCertificateRequest(
        pem(makeRequest({ subject: [name('x'), relativeName(ids.organization, der)] })),
      );
      assert.deepEqual([request.commonNames, request.organizations], [['x'], [masters]]);
    });
  }

  it('keeps all organizations, in order, and the subject byte for byte', async () => {
    const subject = ['b', 'a', 'b'].map((each) => relativeName(ids.organization, each));
    const request = await readCertificateRequest(pem(makeRequest({ subject })));
    assert.deepEqual(request.organizations, ['b', 'a', 'b']);
    assert.deepEqual(request.subjectDer, sequence(...subject));
  });
});

const extensions = (...each: readonly Buffer[]): Buffer =>
  sequence(objectIdentifier(ids.extensionRequest), setOf(sequence(...each)));
const alternativeNames = (...names: readonly Buffer[]): Buffer =>
  sequence(objectIdentifier(ids.alternativeName), octetString(sequence(...names)));

describe('requested alternative names', () => {
  it('are read by type', async () => {
    const others = [
      explicit(0, objectIdentifier('1.2.3'), explicit(0, utf8String('upn'))),
      implicit(8, Buffer.from([42])),
    ];
    const attributes = [
      extensions(
        alternativeNames(
          implicit(2, Buffer.from('a.example')),
          ...others,
          implicit(7, Buffer.from([10, 0, 0, 1])),
          implicit(7, Buffer.from('fe800000000000000000000000000001', 'hex')),
          implicit(1, Buffer.from('a@b.example')),
          implicit(6, Buffer.from('spiffe://a/b')),
          implicit(2, Buffer.from('b.example')),
        ),
      ),
    ];
    const { dnsNames, ipAddresses, emailAddresses, uris } = await readCertificateRequest(
      pem(makeRequest({ attributes })),
    );
    assert.deepEqual(
      { dnsNames, ipAddresses, emailAddresses, uris },
      {
        dnsNames: ['a.example', 'b.example'],
        ipAddresses: ['10.0.0.1', 'fe80::1'],
        emailAddresses: ['a@b.example'],
        uris: ['spiffe://a/b'],
      },
    );
  });
});

const spki = (algorithm: Buffer, content: Buffer): Buffer => sequence(algorithm, bitString(content));
const rsaId = objectIdentifier('1.2.840.113549.1.1.1');
const derNull = Buffer.from([5, 0]);
const rsaKey = (modulus: Buffer, exponent: Buffer, after = Buffer.alloc(0)): Buffer =>
  spki(sequence(rsaId, derNull), Buffer.concat([sequence(modulus, exponent), after]));
const modulus = unsignedInteger(Buffer.alloc(256, 0xff));
const ecId = objectIdentifier('1.2.840.10045.2.1');
const p256 = objectIdentifier('1.2.840.10045.3.1.7');
const withKey = (publicKey: Buffer): string => pem(makeRequest({ publicKey }));

const refusals: readonly (readonly [what: string, text: string | Buffer, message: string | RegExp])[] = [
  ['nothing', '', 'PEM block type must be CERTIFICATE REQUEST'],
  ['no PEM', 'system:node:n1', 'PEM block type must be CERTIFICATE REQUEST'],
  ['DER without PEM', named, 'PEM block type must be CERTIFICATE REQUEST'],
  ['another block', pem(named, 'CERTIFICATE'), 'PEM block type must be CERTIFICATE REQUEST'],
  ['an older label', pem(named, 'NEW CERTIFICATE REQUEST'), 'PEM block type must be CERTIFICATE REQUEST'],
  ['another block before', pem(named, 'CERTIFICATE') + pem(named), 'PEM block type must be CERTIFICATE REQUEST'],
  ['no end', pem(named).replace('-----END', ''), 'PEM block type must be CERTIFICATE REQUEST'],
  ['no base64', pem(named).replace('\n', '\n!'), 'PEM block type must be CERTIFICATE REQUEST'],
  [
    'nothing within',
    '-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----',
    'asn1: syntax error: no data',
  ],
  ['bytes after it', pem(Buffer.concat([named, derNull])), 'asn1: syntax error: trailing data'],
  ['a byte after it', pem(Buffer.concat([named, Buffer.from([0])])), 'asn1: syntax error: DER: value is cut off'],
  ...[1, 2, 3, named.length - 1].map(
    (length) =>
      [
        `only its first ${length} bytes`,
        pem(named.subarray(0, length)),
        'asn1: syntax error: DER: value is cut off',
      ] as const,
  ),
  ['not a sequence', pem(utf8String('x')), /^asn1: /],
  ['empty', pem(sequence()), /^asn1: /],
  ['a fourth element', pem(sequence(...[0, 1, 2, 3].map(() => sequence()))), /^asn1: /],
  ['a long length', pem(Buffer.concat([Buffer.from([0x30, 0x81, 2, 5, 0])])), 'asn1: syntax error: non-minimal length'],
  ['an indefinite length', pem(Buffer.from([0x30, 0x80, 5, 0, 0, 0])), /^asn1: syntax error/],
  [
    'too large',
    pem(Buffer.concat([named, Buffer.alloc(limits.certificateRequestBytesMax)])),
    /larger than 65536 bytes/,
  ],
  [
    'text around it that is too large',
    `${' '.repeat(limits.certificateRequestTextMax)}\n${pem(named)}`,
    /larger than 131072 bytes/,
  ],
  ['too many values', pem(makeRequest({ subject: Array(300).fill(name('x')) })), 'asn1: syntax error: too many values'],
  [
    'too deep',
    pem(
      makeRequest({
        attributes: [
          Array(20)
            .fill(0)
            .reduce((inner: Buffer) => sequence(inner), sequence()),
        ],
      }),
    ),
    'asn1: syntax error: values are nested too deeply',
  ],
  ['a name that is a number', pem(makeRequest({ subject: [name(integer(1))] })), /not text/],
  [
    'a name that is a constructed string',
    pem(makeRequest({ subject: [name(Buffer.from([0x2c, 3, 0x0c, 1, 0x61]))] })),
    /wrong form/,
  ],
  [
    'a name that is no UTF-8',
    pem(makeRequest({ subject: [name(primitive(0x0c, Buffer.from([0xff])))] })),
    /bad content/,
  ],
  [
    'a name that is not printable',
    pem(makeRequest({ subject: [name(primitive(0x13, Buffer.from('a_b')))] })),
    /bad content/,
  ],
  [
    'a name beyond the basic plane, cut off by readers',
    pem(makeRequest({ subject: [name(primitive(0x1c, Buffer.from([0, 1, 0, 0x73])))] })),
    /bad content/,
  ],
  [
    'a name with half a character',
    pem(makeRequest({ subject: [name(primitive(0x1e, Buffer.from([0xd8, 0x3d])))] })),
    /not text/,
  ],
  ['a name in a sequence', pem(makeRequest({ subject: [sequence(attribute(ids.commonName, 'x'))] })), /^asn1: /],
  ['a set without names', pem(makeRequest({ subject: [setOf(Buffer.alloc(0))] })), /^asn1: /],
  [
    'an attribute with two values',
    pem(
      makeRequest({ subject: [setOf(sequence(objectIdentifier(ids.commonName), utf8String('a'), utf8String('b')))] }),
    ),
    /^asn1: /,
  ],
  [
    'an attribute without type',
    pem(makeRequest({ subject: [setOf(sequence(utf8String('a'), utf8String('b')))] })),
    /^asn1: /,
  ],
  [
    'an attribute without value',
    pem(makeRequest({ subject: [setOf(sequence(objectIdentifier(ids.commonName)))] })),
    /^asn1: /,
  ],
  [
    'an extension twice',
    pem(makeRequest({ attributes: [extensions(alternativeNames()), extensions(alternativeNames())] })),
    'x509: certificate request contains duplicate requested extensions',
  ],
  [
    'an address of five bytes',
    pem(makeRequest({ attributes: [extensions(alternativeNames(implicit(7, Buffer.alloc(5))))] })),
    'x509: cannot parse IP address of length 5',
  ],
  [
    'a host name that is no ASCII',
    pem(makeRequest({ attributes: [extensions(alternativeNames(implicit(2, Buffer.from('é'))))] })),
    'x509: SAN is not an ASCII string',
  ],
  [
    'RSA without parameters',
    withKey(spki(sequence(rsaId), sequence(modulus, integer(3)))),
    'x509: RSA key missing NULL parameters',
  ],
  [
    'RSA of too many bits',
    withKey(rsaKey(unsignedInteger(Buffer.concat([Buffer.from([1]), Buffer.alloc(1024, 0xff)])), integer(3))),
    /more than 8192 bits/,
  ],
  [
    'RSA with a large exponent',
    withKey(rsaKey(modulus, integer(0x80, 0, 0, 0))),
    'crypto/rsa: public exponent too large',
  ],
  ['RSA with a huge exponent', withKey(rsaKey(modulus, modulus)), 'crypto/rsa: public exponent too large'],
  ['RSA with the exponent 1', withKey(rsaKey(modulus, integer(1))), 'crypto/rsa: public exponent too small'],
  [
    'RSA with the exponent 0',
    withKey(rsaKey(modulus, integer(0))),
    'x509: RSA public exponent is not a positive number',
  ],
  [
    'RSA with a negative modulus',
    withKey(rsaKey(primitive(2, Buffer.from([0x80, 1])), integer(3))),
    'x509: RSA modulus is not a positive number',
  ],
  ['RSA with bytes after the key', withKey(rsaKey(modulus, integer(3), derNull)), 'x509: invalid RSA public key'],
  ['RSA that is no key', withKey(spki(sequence(rsaId, derNull), utf8String('x'))), 'x509: invalid RSA public key'],
  [
    'a curve by its parameters',
    withKey(spki(sequence(ecId, sequence(integer(1))), Buffer.alloc(65, 4))),
    'x509: unsupported elliptic curve',
  ],
  [
    'a curve that is not listed',
    withKey(spki(sequence(ecId, objectIdentifier('1.3.132.0.10')), Buffer.alloc(65, 4))),
    'x509: unsupported elliptic curve',
  ],
  [
    'a compressed point',
    withKey(spki(sequence(ecId, p256), Buffer.alloc(33, 2))),
    'x509: failed to unmarshal elliptic curve point',
  ],
  [
    'a point that is not on the curve',
    withKey(spki(sequence(ecId, p256), Buffer.alloc(65, 4))),
    'x509: invalid public key',
  ],
  [
    'Ed25519 with parameters',
    withKey(spki(sequence(objectIdentifier(ids.ed25519), derNull), Buffer.alloc(32))),
    'x509: Ed25519 key encoded with illegal parameters',
  ],
  [
    'Ed25519 of another size',
    withKey(spki(sequence(objectIdentifier(ids.ed25519)), Buffer.alloc(31))),
    'x509: wrong Ed25519 public key size',
  ],
  [
    'another type of key',
    withKey(spki(sequence(objectIdentifier('1.3.101.110')), Buffer.alloc(32))),
    'x509: cannot verify signature: algorithm unimplemented',
  ],
  [
    'a key with a third element',
    withKey(sequence(sequence(objectIdentifier(ids.ed25519)), bitString(Buffer.alloc(32)), derNull)),
    'x509: invalid public key',
  ],
];

describe('refused requests', () => {
  for (const [what, text, message] of refusals) {
    it(what, () => assert.rejects(readCertificateRequest(text), { message }));
  }
});

describe('signatures', () => {
  const algorithm = (id: string, ...parameters: readonly Buffer[]): Buffer =>
    sequence(objectIdentifier(id), ...parameters);
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const [sha256, sha384] = ['2.16.840.1.101.3.4.2.1', '2.16.840.1.101.3.4.2.2'].map((id) => algorithm(id, derNull));
  const mgf1 = algorithm('1.2.840.113549.1.1.8', sha256 ?? derNull);
  /** Signed by PSS with such a salt, whose length the parameters give as 32 bytes. */
  const pss = (saltLength: number, hash = sha256 ?? derNull): Buffer =>
    makeRequest({
      privateKey: rsa,
      algorithm: algorithm(
        '1.2.840.113549.1.1.10',
        sequence(explicit(0, hash), explicit(1, mgf1), explicit(2, integer(32))),
      ),
      sign: (content) => sign('sha256', content, { key: rsa, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }),
    });
  const other = generateKeyPairSync('ed25519');
  const cases: readonly (readonly [what: string, der: Buffer, problem: string | undefined])[] = [
    ['of the key', named, undefined],
    [
      'of another key',
      makeRequest({ publicKey: other.publicKey.export({ type: 'spki', format: 'der' }) }),
      'x509: Ed25519 verification failure',
    ],
    [
      'of another content',
      makeRequest({ sign: () => sign(null, Buffer.from('x'), other.privateKey) }),
      'x509: Ed25519 verification failure',
    ],
    ['that are empty', makeRequest({ sign: () => Buffer.alloc(0) }), 'x509: Ed25519 verification failure'],
    [
      'by MD5',
      makeRequest({ algorithm: algorithm('1.2.840.113549.1.1.4', derNull) }),
      'x509: cannot verify signature: insecure algorithm MD5-RSA',
    ],
    [
      'by an unknown algorithm',
      makeRequest({ algorithm: algorithm('1.2.3') }),
      'x509: cannot verify signature: algorithm unimplemented',
    ],
    [
      'by PSS without parameters',
      makeRequest({ algorithm: algorithm('1.2.840.113549.1.1.10') }),
      'x509: cannot verify signature: algorithm unimplemented',
    ],
    ['by PSS', pss(32), undefined],
    ['by PSS with another salt than its parameters say', pss(20), 'crypto/rsa: verification error'],
    ['by PSS with two hashes', pss(32, sha384), 'x509: cannot verify signature: algorithm unimplemented'],
    [
      'of the longest RSA key',
      makeRequest({
        publicKey: rsaKey(unsignedInteger(Buffer.alloc(1024, 0xff)), integer(3)),
        algorithm: algorithm('1.2.840.113549.1.1.11', derNull),
      }),
      'crypto/rsa: verification error',
    ],
    [
      'by Ed25519 with parameters',
      makeRequest({ algorithm: algorithm(ids.ed25519, derNull) }),
      'x509: cannot verify signature: algorithm unimplemented',
    ],
    [
      'by the algorithm of another key',
      makeRequest({ algorithm: algorithm('1.2.840.113549.1.1.11', derNull) }),
      'x509: signature algorithm specifies an RSA public key, but the request has another one',
    ],
  ];
  for (const [what, der, problem] of cases) {
    it(what, async () => assert.equal((await readCertificateRequest(pem(der))).signatureProblem, problem));
  }
});

describe('readers of requests', () => {
  const requestOf = (index: number): string => pem(makeRequest({ subject: [name(`reader-${index}`)] }));

  it('share the reading of one text', async () => {
    const text = requestOf(0);
    const first = readCertificateRequest(text);
    assert.equal(await readCertificateRequest(Buffer.from(text)), await first);
    assert.notEqual(await readCertificateRequest(requestOf(1)), await first);
  });

  it('of a long text do not: it is not kept', async () => {
    const text = `${requestOf(2)}${'x'.repeat(limits.certificateRequestKeptLengthMax)}`;
    assert.notEqual(await readCertificateRequest(text), await readCertificateRequest(text));
  });
});

describe('one bit of a request changed', () => {
  for (const [what, text] of [
    ['Ed25519', pem(named)],
    ['P-256', real],
  ] as const) {
    it(`${what}: refused, or the signature does not hold`, async () => {
      const [block] = decodePem(text);
      const der = block?.bytes ?? assert.fail('no PEM');
      for (let bit = 0; bit < der.length * 8; bit++) {
        const changed = Buffer.from(der);
        changed.writeUInt8((changed[bit >> 3] ?? 0) ^ (1 << (bit & 7)), bit >> 3);
        const problem = await readCertificateRequest(pem(changed)).then(
          ({ signatureProblem }) => signatureProblem,
          (error: Error) => error.message,
        );
        assert.ok(problem, `bit ${bit} was changed`);
      }
    });
  }
});
