import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { systemRandom } from '../base/random.ts';
import { issueSelfSigned } from './certificate.ts';
import { PkiFileError } from './key-pair-files.ts';
import { readSigningKey, readTokenKeys, type TokenKey } from './token-keys.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const onCurve = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve });
const [p256, p384, p521] = [onCurve('P-256'), onCurve('P-384'), onCurve('P-521')];

const pem = (key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'spki' | 'sec1'): string =>
  key.export({ type: type as 'pkcs8', format: 'pem' }).toString();
const read = (...parts: string[]): readonly TokenKey[] => readTokenKeys(Buffer.from(parts.join('')), 'keys.pem');
const certificate = (pair: { publicKey: KeyObject; privateKey: KeyObject }): string =>
  issueSelfSigned(
    { subject: { commonName: 'x' }, publicKey: pair.publicKey, uses: ['authority'], notBefore: 0, notAfter: 1e12 },
    pair.privateKey,
    systemRandom,
  ).toString();

const forms: Readonly<Record<string, readonly [string, TokenKey['algorithm'], KeyObject]>> = {
  'RSA, PKCS #1 private': [pem(rsa.privateKey, 'pkcs1'), 'RS256', rsa.publicKey],
  'RSA, PKCS #8 private': [pem(rsa.privateKey, 'pkcs8'), 'RS256', rsa.publicKey],
  'RSA, PKCS #1 public': [pem(rsa.publicKey, 'pkcs1'), 'RS256', rsa.publicKey],
  'RSA, SPKI': [pem(rsa.publicKey, 'spki'), 'RS256', rsa.publicKey],
  'RSA, certificate': [certificate(rsa), 'RS256', rsa.publicKey],
  'P-256, SEC 1': [pem(p256.privateKey, 'sec1'), 'ES256', p256.publicKey],
  'P-256, PKCS #8': [pem(p256.privateKey, 'pkcs8'), 'ES256', p256.publicKey],
  'P-256, SPKI': [pem(p256.publicKey, 'spki'), 'ES256', p256.publicKey],
  'P-256, certificate': [certificate(p256), 'ES256', p256.publicKey],
  'P-384, SEC 1': [pem(p384.privateKey, 'sec1'), 'ES384', p384.publicKey],
  'P-521, SPKI': [pem(p521.publicKey, 'spki'), 'ES512', p521.publicKey],
};

for (const [name, [text, algorithm, publicKey]] of Object.entries(forms)) {
  test(`a key as ${name}`, () => {
    const [key, ...more] = read(text);
    assert.deepEqual(more, []);
    assert.equal(key?.algorithm, algorithm);
    assert.equal(key?.publicKey.type, 'public');
    assert.ok(key?.publicKey.equals(publicKey));
    const spki = publicKey.export({ type: 'spki', format: 'der' });
    assert.equal(key?.id, createHash('sha256').update(spki).digest('base64url'));
    assert.ok(createPublicKey({ key: { ...key?.jwk }, format: 'jwk' }).equals(publicKey));
  });
}

test("a JWK has public parts only, in kube-apiserver's order", () => {
  const [first, second] = read(pem(rsa.privateKey, 'pkcs1'), pem(p256.privateKey, 'sec1'));
  assert.deepEqual(Object.keys(first?.jwk ?? {}), ['use', 'kty', 'kid', 'alg', 'n', 'e']);
  assert.deepEqual(Object.keys(second?.jwk ?? {}), ['use', 'kty', 'kid', 'crv', 'alg', 'x', 'y']);
  assert.deepEqual([first?.jwk.kid, second?.jwk.kid], [first?.id, second?.id]);
});

test('a file may hold several keys, with text between them; duplicates are removed', () => {
  const keys = read(
    'first\n',
    pem(p384.publicKey, 'spki'),
    '\nthe same\n',
    pem(p384.privateKey, 'pkcs8'),
    certificate(p384),
    '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n',
    pem(p256.privateKey, 'sec1').replaceAll('\n', '\r\n'),
  );
  assert.deepEqual(
    keys.map(({ algorithm }) => algorithm),
    ['ES384', 'ES256'],
  );
});

test('a key with a compressed point has the same id as the uncompressed one', () => {
  const compressed = Buffer.from(p256.publicKey.export({ type: 'spki', format: 'der' }));
  const point = compressed.subarray(-65);
  const sign = (point.at(-1) ?? 0) & 1 ? 3 : 2;
  const der = Buffer.concat([compressed.subarray(0, -65 - 2), Buffer.from([34, 0, sign]), point.subarray(1, 33)]);
  der[1] = (der[1] ?? 0) - 32;
  const text = `-----BEGIN PUBLIC KEY-----\n${der.toString('base64')}\n-----END PUBLIC KEY-----\n`;
  assert.deepEqual(
    read(text, pem(p256.publicKey, 'spki')).map(({ id }) => id),
    read(pem(p256.publicKey, 'spki')).map(({ id }) => id),
  );
});

const ed25519 = generateKeyPairSync('ed25519');
const shortRsa = generateKeyPairSync('rsa', { modulusLength: 1024 });
const good = pem(p256.publicKey, 'spki');
const unusable: Readonly<Record<string, readonly [string, RegExp]>> = {
  'an empty file': ['', /^keys\.pem has no PEM block of a key or certificate$/],
  'a file without blocks': ['nothing', /^keys\.pem has no PEM block/],
  Ed25519: [
    good + pem(ed25519.publicKey, 'spki'),
    /^keys\.pem cannot be used: block 2 \(PUBLIC KEY, line 5\) is of no kind .*: ed25519; wanted is RSA of 2048/,
  ],
  secp256k1: [
    pem(onCurve('secp256k1').privateKey, 'sec1'),
    /block 1 \(EC PRIVATE KEY, line 1\) .*: ECDSA on secp256k1;/,
  ],
  'RSA of 1024 bits': [pem(shortRsa.publicKey, 'spki'), /: rsa of 1024 bits;/],
  'RSA with PSS only': [
    pem(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey, 'spki'),
    /: rsa-pss of 2048 bits;/,
  ],
  'an encrypted key': [
    p256.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }).toString(),
    /\(ENCRYPTED PRIVATE KEY, line 1\) is encrypted/,
  ],
  'an encrypted key of the older form': [
    rsa.privateKey.export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }).toString(),
    /\(RSA PRIVATE KEY, line 1\) is encrypted/,
  ],
  'a certificate request': [
    '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n',
    /\(CERTIFICATE REQUEST, line 1\) is neither a key nor a certificate$/,
  ],
  'a damaged key': [good.replace(/\n.{20}/, '\n'), /block 1 \(PUBLIC KEY, line 1\) is damaged$/],
  'a block without an end': [
    `${good}\n\n${good.slice(0, -12)}`,
    /^keys\.pem has a PEM block at line 7 that has no end$/,
  ],
  'a block cut off by the next': [good.slice(0, 60) + good, /has a PEM block at line 2 that has no end$/],
};

for (const [name, [text, message]] of Object.entries(unusable)) {
  test(`no keys: ${name}`, () => {
    assert.throws(
      () => read(text),
      (error: unknown) =>
        error instanceof PkiFileError && message.test(error.message) && !error.message.includes('MII'),
      name,
    );
  });
}

const signing = (...parts: string[]) => readSigningKey(Buffer.from(parts.join('')), 'sign.pem');

test('a signing key is the one private key of its file', () => {
  const key = signing(certificate(p256), pem(p256.privateKey, 'sec1'));
  assert.ok(key.privateKey.equals(p256.privateKey));
  assert.deepEqual(key.id, read(good)[0]?.id);
  assert.throws(() => signing(good), /^PkiFileError: sign\.pem has no PEM block of a private key$/);
  assert.throws(
    () => signing(pem(p256.privateKey, 'sec1'), pem(rsa.privateKey, 'pkcs8')),
    /sign\.pem has 2 private keys: which one signs is not clear$/,
  );
  assert.throws(() => signing(pem(shortRsa.privateKey, 'pkcs1')), /: rsa of 1024 bits;/);
});
