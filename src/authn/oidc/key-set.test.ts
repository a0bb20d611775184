import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { unverifiedJwt } from '../jwt.ts';
import { readKeySet } from './key-set.ts';
import { ecKey, jwkOf, rsaKey, signToken, type TestKey } from './provider-fixture.ts';

const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const setOf = (...keys: readonly unknown[]) => readKeySet(bytes({ keys }));
const [p256, p384, p521] = [ecKey('a'), ecKey('b', 'P-384'), ecKey('c', 'P-521')];
const rsa = rsaKey('r');
const tokenOf = (key: TestKey, header: Readonly<Record<string, unknown>> = {}) => {
  const jwt = unverifiedJwt(signToken(key, { sub: 'jane' }, header));
  assert.ok(jwt);
  return jwt;
};

describe('a key set', () => {
  it('verifies with all key types and the algorithms that fit them', () => {
    const set = setOf(jwkOf(p256), jwkOf(p384), jwkOf(p521), jwkOf(rsa));
    assert.equal(set.size, 4);
    for (const key of [p256, p384, p521]) assert.equal(set.hasSigned(tokenOf(key)), true, key.algorithm);
    for (const alg of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']) {
      assert.equal(set.hasSigned(tokenOf(rsa, { alg })), true, alg);
    }
  });

  it('selects by key id if the token has one, and tries all keys otherwise', () => {
    const set = setOf(jwkOf(p256), jwkOf(rsa));
    assert.equal(set.hasSigned(tokenOf(p256, { kid: 'r' })), false);
    assert.equal(set.hasSigned(tokenOf(p256, { kid: 'other' })), false);
    assert.equal(set.hasSigned(tokenOf(p256, { kid: undefined })), true);
    assert.equal(set.hasSigned(tokenOf(ecKey('a'))), false);
  });

  it('may have several keys with the same id, and keys without one', () => {
    const twin = ecKey('a');
    const { kid: _, ...nameless } = jwkOf(p384);
    const set = setOf(jwkOf(p256), jwkOf(twin), nameless);
    assert.equal(set.hasSigned(tokenOf(p256)), true);
    assert.equal(set.hasSigned(tokenOf(twin)), true);
    assert.equal(set.hasSigned(tokenOf(p384)), false);
    assert.equal(set.hasSigned(tokenOf(p384, { kid: undefined })), true);
  });

  it('uses a key only with its own algorithm', () => {
    const set = setOf({ ...jwkOf(rsa), alg: 'PS256' });
    assert.equal(set.hasSigned(tokenOf(rsa, { alg: 'PS256' })), true);
    assert.equal(set.hasSigned(tokenOf(rsa, { alg: 'RS256' })), false);
  });

  it('reads the public part of a private key only', () => {
    const set = setOf({ ...p256.privateKey.export({ format: 'jwk' }), kid: 'a' });
    assert.equal(set.hasSigned(tokenOf(p256)), true);
    assert.ok(!set.fingerprint.includes('"d"'));
  });

  const good = jwkOf(p256);
  const okp = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const secp256k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' });
  for (const [name, key] of Object.entries<unknown>({
    'for encryption': { ...good, use: 'enc' },
    'of an unknown use': { ...good, use: 7 },
    'that may not verify': { ...good, key_ops: ['wrapKey'] },
    'whose operations are not a list': { ...good, key_ops: 'verify' },
    'that is symmetric': { kty: 'oct', k: 'c2VjcmV0', kid: 'a' },
    'of an unknown kind': { ...good, kty: 'constructor' },
    'without a kind': { ...good, kty: undefined },
    'of another curve': { ...secp256k1, kid: 'a' },
    'of Edwards curves': { ...okp, kid: 'a' },
    'whose point is not on its curve': { ...good, y: good['x'] },
    'without a member': { ...good, x: undefined },
    'with a member of another type': { ...good, x: 7 },
    'that is too short': jwkOf(rsaKey('r', 1024)),
    'for an algorithm that does not fit it': { ...good, alg: 'RS256' },
    'for a symmetric algorithm': { ...jwkOf(rsa), alg: 'HS256' },
    'that is null': null,
    'that is a list': [],
  })) {
    it(`passes over a key ${name}`, () => {
      const set = setOf(key, jwkOf(p384));
      assert.equal(set.size, 1);
      assert.equal(set.hasSigned(tokenOf(p384)), true);
    });
  }

  it('may be empty, and is bounded', () => {
    assert.equal(setOf().size, 0);
    assert.throws(() => setOf(...Array.from({ length: limits.oidcKeysMax + 1 }, () => null)), /more than 64 keys/);
  });

  for (const body of ['', 'null', '[]', '{}', '{"keys":{}}', '{"keys":null}', '<html>', '{"keys":[', '\xff']) {
    it(`is not ${JSON.stringify(body)}`, () => {
      assert.throws(() => readKeySet(Buffer.from(body, 'latin1')));
    });
  }

  it('has a fingerprint that differs from other sets', () => {
    assert.equal(setOf(jwkOf(p256)).fingerprint, setOf(jwkOf(p256), { kty: 'oct' }).fingerprint);
    assert.notEqual(setOf(jwkOf(p256)).fingerprint, setOf(jwkOf(ecKey('a'))).fingerprint);
    assert.notEqual(setOf(jwkOf(p256)).fingerprint, setOf({ ...jwkOf(p256), kid: 'b' }).fingerprint);
  });
});
