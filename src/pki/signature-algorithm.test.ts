import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import {
  fitsAlgorithm,
  isSignature,
  isSignatureAlgorithm,
  makeSignature,
  signatureAlgorithms,
  signWithoutBlocking,
} from './signature-algorithm.ts';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const curves = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const;
const ec = Object.fromEntries(
  Object.entries(curves).map(([name, namedCurve]) => [name, generateKeyPairSync('ec', { namedCurve })]),
);
const pairOf = (algorithm: string) => ec[algorithm] ?? rsa;
const data = Buffer.from('data');

for (const algorithm of signatureAlgorithms) {
  test(`${algorithm}: what was signed verifies, anything else does not`, () => {
    const { privateKey, publicKey } = pairOf(algorithm);
    const signature = makeSignature(algorithm, privateKey, data);
    assert.equal(isSignature(algorithm, publicKey, data, signature), true);
    assert.equal(isSignature(algorithm, publicKey, Buffer.from('date'), signature), false);
    const others = [
      signature.subarray(0, -1),
      Buffer.concat([signature, Buffer.from([0])]),
      Buffer.concat([Buffer.from([0]), signature]),
      Buffer.alloc(signature.length),
      Buffer.alloc(signature.length, 0xff),
      Buffer.alloc(0),
    ];
    for (const other of others)
      assert.equal(isSignature(algorithm, publicKey, data, other), false, other.toString('hex'));
  });

  test(`${algorithm}: keys of other algorithms do not fit`, () => {
    const { privateKey, publicKey } = pairOf(algorithm);
    const signature = makeSignature(algorithm, privateKey, data);
    const others = [generateKeyPairSync('ed25519'), ...Object.values(ec), rsa].filter(
      (pair) => pair !== pairOf(algorithm),
    );
    for (const other of others) assert.equal(isSignature(algorithm, other.publicKey, data, signature), false);
    assert.equal(fitsAlgorithm(algorithm, publicKey), true);
  });
}

test('a signature with one hash or padding does not verify with another', () => {
  const signature = makeSignature('RS256', rsa.privateKey, data);
  for (const algorithm of ['RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const) {
    assert.equal(isSignature(algorithm, rsa.publicKey, data, signature), false, algorithm);
  }
});

test('RSA keys below 2048 bits fit no algorithm', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  assert.equal(isSignature('RS256', publicKey, data, sign('sha256', data, privateKey)), false);
});

test('ECDSA signatures are r and s concatenated, never DER', () => {
  const { privateKey, publicKey } = pairOf('ES256');
  // DER of exactly 64 bytes would need an r or s many bytes shorter than usual.
  const der = sign('sha256', data, privateKey);
  assert.equal(isSignature('ES256', publicKey, data, der), false);
  assert.equal(makeSignature('ES256', privateKey, data).length, 64);
  assert.equal(makeSignature('ES512', pairOf('ES512').privateKey, data).length, 132);
});

test('algorithm names are exact', () => {
  for (const name of ['none', 'HS256', 'rs256', 'ES256K', 'EdDSA', 'toString', '__proto__', '', 256, ['RS256'], null]) {
    assert.equal(isSignatureAlgorithm(name), false, String(name));
  }
  assert.equal(isSignatureAlgorithm('RS256'), true);
});

test('signing without blocking gives the same signatures: synchronously with ECDSA, asynchronously with RSA', async () => {
  for (const algorithm of signatureAlgorithms) {
    const { privateKey, publicKey } = pairOf(algorithm);
    const made = signWithoutBlocking(algorithm, privateKey, data);
    assert.equal(made instanceof Promise, !algorithm.startsWith('ES'), algorithm);
    assert.ok(isSignature(algorithm, publicKey, data, await made), algorithm);
  }
  const short = generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey;
  await assert.rejects(async () => signWithoutBlocking('PS512', short, data), 'a key that cannot sign is an error');
});
