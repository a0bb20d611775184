import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { makeSignature } from '../pki/signature-algorithm.ts';
import { type Jwt, type JwtFields, unverifiedJwt } from './jwt.ts';
import { headerProblem, isSignedWith, keyIdOf } from './jwt-signature.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = { algorithm: 'ES256', publicKey } as const;

function signed(header: JwtFields): Jwt {
  const input = [header, { iss: 'i' }].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = makeSignature('ES256', privateKey, Buffer.from(input)).toString('base64url');
  const jwt = unverifiedJwt(`${input}.${signature}`);
  assert.ok(jwt);
  return jwt;
}

test("a token signed with the key, under the key's algorithm, verifies", () => {
  assert.equal(isSignedWith(signed({ alg: 'ES256' }), key), true);
  assert.equal(isSignedWith(signed({ alg: 'ES256', typ: 'JWT', kid: 'other', b64: true }), key), true);
});

const refused: readonly JwtFields[] = [
  {},
  ...['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'HS512', 'es256', 'ES256 ', 'EdDSA', 'ES256K'].map((alg) => ({
    alg,
  })),
  ...[null, 256, ['ES256'], { name: 'ES256' }, true].map((alg) => ({ alg })),
  { alg: 'ES256', crit: ['exp'] },
  { alg: 'ES256', crit: [] },
  { alg: 'ES256', crit: ['b64'], b64: true },
  { alg: 'ES256', crit: null },
  { alg: 'ES256', b64: false },
  { alg: 'ES256', b64: 'false' },
  { alg: 'ES256', kid: 7 },
  { alg: 'ES256', kid: null },
];

for (const header of refused) {
  test(`under the header ${JSON.stringify(header)} no signature holds`, () => {
    assert.notEqual(headerProblem(header), undefined);
    assert.equal(isSignedWith(signed(header), key), false);
  });
}

test('a token that names another algorithm than that of the key was not signed with it', () => {
  for (const alg of ['ES384', 'RS256', 'PS256']) assert.equal(isSignedWith(signed({ alg }), key), false, alg);
});

test('an empty key id counts as absent', () => {
  assert.equal(keyIdOf(signed({ alg: 'ES256', kid: '' })), undefined);
  assert.equal(keyIdOf(signed({ alg: 'ES256', kid: 'a' })), 'a');
});
