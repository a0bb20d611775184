import assert from 'node:assert/strict';
import { createHmac, type KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../base/limits.ts';
import {
  account,
  apiAudiences,
  encodePart,
  issuerName,
  makeSigningKey,
  signRaw,
  TokenFixture,
} from './token-fixture.ts';

// In the style of Project Wycheproof: each token is valid except for the one defect in its name.

const [ec, rsa, ec384] = [makeSigningKey('ES256'), makeSigningKey('RS256'), makeSigningKey('ES384')];
const stranger = makeSigningKey('ES256');
const fixture = new TokenFixture({ signingKey: ec, keys: [ec, rsa, ec384] });
fixture.put('pods', { namespace: 'team', name: 'pod-1', uid: 'uid-pod' });
const now = fixture.nowSeconds;

type Fields = Readonly<Record<string, unknown>>;
const own: Fields = { namespace: 'team', serviceaccount: { name: 'alice', uid: 'uid-alice' } };
const claims: Fields = {
  iss: issuerName,
  sub: 'system:serviceaccount:team:alice',
  aud: apiAudiences,
  iat: now,
  nbf: now,
  exp: now + 3600,
  jti: 'id',
  'orch.io': own,
};
const es = { alg: 'ES256', kid: ec.id };
const good = signRaw(ec, es, claims);
const [goodHeader = '', goodClaims = '', goodSignature = ''] = good.split('.');
const input = `${goodHeader}.${goodClaims}`;
const signature = Buffer.from(goodSignature, 'base64url');
const withSignature = (bytes: Buffer): string => `${input}.${bytes.toString('base64url')}`;
const hmac = (alg: string, secret: string | Buffer): string => {
  const forged = `${encodePart({ alg })}.${goodClaims}`;
  return `${forged}.${createHmac(`sha${alg.slice(2)}`, secret)
    .update(forged)
    .digest('base64url')}`;
};
const spki = (key: KeyObject, format: 'pem' | 'der'): string | Buffer =>
  key.export({ type: 'spki', format: format as 'pem' });
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' });
/** The next letter of the base64url alphabet: in the last character of a signature it changes only the padding bits. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const nextLetter = (text: string): string => text.slice(0, -1) + alphabet[alphabet.indexOf(text.at(-1) ?? '') + 1];

test('the tokens are valid before they are tampered with', async () => {
  for (const token of [
    good,
    signRaw(ec, { alg: 'ES256' }, claims),
    signRaw(rsa, { alg: 'RS256', kid: rsa.id }, claims),
    signRaw(ec384, { alg: 'ES384' }, claims),
    signRaw(ec, { ...es, typ: 'anything', cty: 'x', 'x-unknown': [1] }, { ...claims, unknown: { a: null } }),
  ]) {
    assert.equal((await fixture.authenticate(token))?.user.uid, 'uid-alice');
  }
});

const none = ['none', 'None', 'NONE', 'nOnE', 'none ', '', 'null'];
const forged: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    none.flatMap((alg) => [
      [`alg ${JSON.stringify(alg)}, no signature`, `${encodePart({ alg })}.${goodClaims}.`],
      [`alg ${JSON.stringify(alg)}, a signature`, signRaw(ec, { alg }, claims)],
      [`alg ${JSON.stringify(alg)}, two parts`, `${encodePart({ alg })}.${goodClaims}`],
    ]),
  ),
  'no alg': signRaw(ec, { kid: ec.id }, claims),
  'alg a list': signRaw(ec, { alg: ['ES256'] }, claims),
  'HS256 with the public key in PEM': hmac('HS256', spki(ec.publicKey, 'pem')),
  'HS256 with the public key in DER': hmac('HS256', spki(ec.publicKey, 'der')),
  'HS256 with the RSA key in PEM': hmac('HS256', spki(rsa.publicKey, 'pem')),
  'HS256 with the RSA modulus': hmac('HS256', Buffer.from(rsa.jwk.n ?? '', 'base64url')),
  'HS256 with the key id': hmac('HS256', ec.id),
  'HS256 with an empty key': hmac('HS256', ''),
  'HS384 with the public key': hmac('HS384', spki(ec.publicKey, 'pem')),
  'HS512 with the public key': hmac('HS512', spki(ec.publicKey, 'pem')),
  'RS256 in the header of an ECDSA signature': signRaw(ec, { alg: 'RS256' }, claims),
  'ES256 in the header of an RSA signature': signRaw(rsa, { alg: 'ES256' }, claims),
  'ES384 in the header of an ES256 signature': signRaw(ec, { alg: 'ES384' }, claims),
  'RS384 by a key of RS256': signRaw(rsa, { alg: 'RS384' }, claims, 'RS384'),
  'RS512 by a key of RS256': signRaw(rsa, { alg: 'RS512' }, claims, 'RS512'),
  'PS256 by a key of RS256': signRaw(rsa, { alg: 'PS256' }, claims, 'PS256'),
  'PS256 in the header of RS256': signRaw(rsa, { alg: 'PS256' }, claims),
  'a signature in DER': withSignature(sign('sha256', Buffer.from(input), ec.privateKey)),
  'a signature cut by a byte': withSignature(signature.subarray(0, -1)),
  'a signature without its first byte': withSignature(signature.subarray(1)),
  'half a signature': withSignature(signature.subarray(0, 32)),
  'a signature longer by a zero behind': withSignature(Buffer.concat([signature, Buffer.alloc(1)])),
  'a signature longer by a zero in front': withSignature(Buffer.concat([Buffer.alloc(1), signature])),
  'a signature twice': withSignature(Buffer.concat([signature, signature])),
  'no signature': `${input}.`,
  'r = s = 0': withSignature(Buffer.alloc(64)),
  'r = 0': withSignature(Buffer.concat([Buffer.alloc(32), signature.subarray(32)])),
  's = 0': withSignature(Buffer.concat([signature.subarray(0, 32), Buffer.alloc(32)])),
  'r = s = 1': withSignature(Buffer.from(`${'00'.repeat(31)}01`.repeat(2), 'hex')),
  'r = s = the order of the curve': withSignature(
    Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'.repeat(2), 'hex'),
  ),
  'r = s = 2^256 - 1': withSignature(Buffer.alloc(64, 0xff)),
  'r and s exchanged': withSignature(Buffer.concat([signature.subarray(32), signature.subarray(0, 32)])),
  'the signature of other claims': `${encodePart(es)}.${encodePart({ ...claims, jti: 'other' })}.${goodSignature}`,
  'the signature of another header': `${encodePart({ ...es, typ: 'JWT' })}.${goodClaims}.${goodSignature}`,
  'padding behind the signature': `${good}==`,
  'padding behind the claims': `${goodHeader}.${goodClaims}=.${goodSignature}`,
  'a blank in front': ` ${good}`,
  'a blank behind': `${good} `,
  'a line break behind': `${good}\n`,
  'a line break in the signature': `${good.slice(0, -20)}\n${good.slice(-20)}`,
  'a tab in the claims': `${goodHeader}.${goodClaims.slice(0, 9)}\t${goodClaims.slice(9)}.${goodSignature}`,
  'a NUL behind': `${good}\0`,
  'a fourth part': `${good}.${goodSignature}`,
  'an empty fourth part': `${good}.`,
  'a dot in front': `.${good}`,
  'an empty header': `.${goodClaims}.${goodSignature}`,
  'the JSON serialization': JSON.stringify({ protected: goodHeader, payload: goodClaims, signature: goodSignature }),
  'bits left over in the signature': nextLetter(good),
  'plain base64': withSignature(signature).replaceAll('-', '+').replaceAll('_', '/').replace(/(.)$/, '/'),
  'alg twice, the good one last': signRaw(ec, `{"alg":"none","alg":"ES256","kid":"${ec.id}"}`, claims),
  'alg twice, the good one first': signRaw(ec, `{"alg":"ES256","kid":"${ec.id}","alg":"none"}`, claims),
  'alg twice, once escaped': signRaw(ec, `{"\\u0061lg":"none","alg":"ES256"}`, claims),
  'iss twice': signRaw(ec, es, JSON.stringify(claims).replace('{', `{"iss":"${issuerName}",`)),
  'sub twice': signRaw(ec, es, JSON.stringify(claims).replace('{', '{"sub":"system:serviceaccount:team:bob",')),
  'exp twice': signRaw(ec, es, JSON.stringify(claims).replace('{', '{"exp":1,')),
  'a duplicate nested field': signRaw(ec, es, JSON.stringify(claims).replace('"name":', '"name":"bob","name":')),
  'claims with a byte order mark': signRaw(ec, es, `\ufeff${JSON.stringify(claims)}`),
  'claims in a list': signRaw(ec, es, [claims]),
  'trailing data after the claims': signRaw(ec, es, `${JSON.stringify(claims)}{}`),
  'the id of another key': signRaw(ec, { alg: 'ES256', kid: ec384.id }, claims),
  'the id of a key of another kind': signRaw(ec, { alg: 'ES256', kid: rsa.id }, claims),
  'an unknown key id': signRaw(ec, { alg: 'ES256', kid: 'unknown' }, claims),
  'a key id that is a path': signRaw(ec, { alg: 'ES256', kid: '../../keys.pem' }, claims),
  'a key id of the prototype': signRaw(ec, { alg: 'ES256', kid: '__proto__' }, claims),
  'a key id that is a number': signRaw(ec, { alg: 'ES256', kid: 1 }, claims),
  'an unknown key': signRaw(stranger, { alg: 'ES256' }, claims),
  'an unknown key under a known id': signRaw(stranger, es, claims),
  'a key in jwk': signRaw(stranger, { alg: 'ES256', jwk: jwkOf(stranger.publicKey) }, claims),
  'a key in jwk under a known id': signRaw(
    stranger,
    { ...es, jwk: { ...jwkOf(stranger.publicKey), kid: ec.id } },
    claims,
  ),
  'keys at jku': signRaw(stranger, { alg: 'ES256', kid: stranger.id, jku: 'https://127.0.0.1:1/keys' }, claims),
  'a certificate at x5u': signRaw(stranger, { alg: 'ES256', x5u: 'https://127.0.0.1:1/certificate' }, claims),
  'a certificate in x5c': signRaw(stranger, { alg: 'ES256', x5c: ['MIIB'] }, claims),
  'a critical field': signRaw(ec, { ...es, crit: ['exp-mode'], 'exp-mode': 1 }, claims),
  'a critical field that is known': signRaw(ec, { ...es, crit: ['alg'] }, claims),
  'no critical fields': signRaw(ec, { ...es, crit: [] }, claims),
  'claims that are not encoded': signRaw(ec, { ...es, b64: false, crit: ['b64'] }, claims),
  'claims that are not encoded, not critical': signRaw(ec, { ...es, b64: false }, claims),
  'a token longer than any': signRaw(ec, es, { ...claims, padding: 'a'.repeat(limits.tokenLengthMax) }),
  'a megabyte of claims': `${goodHeader}.${goodClaims}${'A'.repeat(1 << 20)}.${goodSignature}`,
  'a megabyte of dots': '.'.repeat(1 << 20),
};

/** Signed with the right key; only the claims are wrong. */
const falseClaims: Readonly<Record<string, Fields>> = {
  expired: { exp: now - 61 },
  'expired long ago': { exp: 0 },
  'an expiry below zero': { exp: -1 },
  'an expiry as text': { exp: `${now + 3600}` },
  'an expiry that is null': { exp: null },
  'an expiry in a list': { exp: [now + 3600] },
  'no expiry': { exp: undefined },
  'a start to come': { nbf: now + 61 },
  'a start as text': { nbf: `${now}` },
  'issued in the future': { iat: now + 61 },
  'issued at a text': { iat: 'now' },
  'a foreign issuer': { iss: 'https://elsewhere.test' },
  'an issuer in a list': { iss: [issuerName] },
  'no issuer': { iss: undefined },
  'a foreign audience': { aud: ['vault'] },
  'a foreign audience as text': { aud: 'vault' },
  'an audience that begins like one': { aud: ['api-one '] },
  'an audience that is a number': { aud: [1, 'api-one'] },
  'an audience that is an object': { aud: { 'api-one': true } },
  'an audience that is null': { aud: null },
  'another subject': { sub: 'system:serviceaccount:team:bob' },
  'the subject an administrator': { sub: 'system:admin' },
  'no subject': { sub: undefined },
  'a token id that is a number': { jti: 7 },
  'no own claims': { 'orch.io': undefined },
  'own claims as text': { 'orch.io': JSON.stringify(own) },
  'own claims null': { 'orch.io': null },
  'own claims of the other dialect': { 'orch.io': undefined, 'kubernetes.io': own },
  'no namespace': { 'orch.io': { ...own, namespace: undefined } },
  'an empty namespace': { 'orch.io': { ...own, namespace: '' } },
  'another namespace': { 'orch.io': { ...own, namespace: 'other' }, sub: 'system:serviceaccount:other:alice' },
  'a namespace that is a path': {
    'orch.io': { ...own, namespace: 'x/team' },
    sub: 'system:serviceaccount:x/team:alice',
  },
  'no account': { 'orch.io': { ...own, serviceaccount: undefined } },
  'an account without uid': { 'orch.io': { ...own, serviceaccount: { name: 'alice' } } },
  'an account with another uid': { 'orch.io': { ...own, serviceaccount: { name: 'alice', uid: 'uid-other' } } },
  'an account that is not there': {
    'orch.io': { ...own, serviceaccount: { name: 'bob', uid: 'uid-bob' } },
    sub: 'system:serviceaccount:team:bob',
  },
  'a pod that is not there': { 'orch.io': { ...own, pod: { name: 'pod-2', uid: 'uid-pod' } } },
  'a pod with another uid': { 'orch.io': { ...own, pod: { name: 'pod-1', uid: 'uid-other' } } },
  'a pod without uid': { 'orch.io': { ...own, pod: { name: 'pod-1' } } },
  'a pod that is null': { 'orch.io': { ...own, pod: null } },
  'a pod that is text': { 'orch.io': { ...own, pod: 'pod-1' } },
  'a pod and a secret that is not there': {
    'orch.io': { ...own, pod: { name: 'pod-1', uid: 'uid-pod' }, secret: { name: 's', uid: 'u' } },
  },
  'a node that is not there': { 'orch.io': { ...own, node: { name: 'node-1', uid: 'uid-node' } } },
  'a node without uid': { 'orch.io': { ...own, node: { name: 'node-1' } } },
  'a warnafter that is a string': { 'orch.io': { ...own, warnafter: 'later' } },
};
for (const [name, changed] of Object.entries(falseClaims)) {
  test(`refused: ${name}`, () => assertRefused(signRaw(ec, es, { ...claims, ...changed })));
}

const legacyClaims: Fields = {
  iss: 'orch/serviceaccount',
  sub: 'system:serviceaccount:team:alice',
  'orch.io/serviceaccount/namespace': 'team',
  'orch.io/serviceaccount/secret.name': 'legacy',
  'orch.io/serviceaccount/service-account.name': 'alice',
  'orch.io/serviceaccount/service-account.uid': 'uid-alice',
};
const falseLegacyClaims: Readonly<Record<string, Fields>> = {
  'valid claims, but not the token in the Secret': {},
  ...Object.fromEntries(Object.keys(legacyClaims).map((name) => [`no ${name}`, { [name]: undefined }])),
  'another subject': { sub: 'system:serviceaccount:team:bob' },
  'another account': { 'orch.io/serviceaccount/service-account.name': 'bob' },
  'the issuer of other tokens': { iss: issuerName },
  expired: { exp: now - 61 },
};
for (const [name, changed] of Object.entries(falseLegacyClaims)) {
  test(`refused as a token of a Secret: ${name}`, async () => {
    fixture.legacy();
    await assertRefused(signRaw(ec, es, { ...legacyClaims, ...changed }));
  });
}

/**
 * Undefined, or an error that does not contain the token. Checked twice, because the second result comes from the
 * cache.
 */
async function assertRefused(token: string): Promise<void> {
  for (let time = 0; time < 2; time++) {
    try {
      assert.equal(await fixture.authenticate(token), undefined);
    } catch (error) {
      assert.ok(error instanceof Error);
      if (error instanceof assert.AssertionError) throw error;
      const parts = token.split('.').filter((part) => part.length > 20);
      for (const part of parts) assert.ok(!`${error.stack}`.includes(part), 'the error shows the token');
    }
  }
}

for (const [name, token] of Object.entries(forged)) test(`refused: ${name}`, () => assertRefused(token));

test('the valid token is still accepted afterwards', async () => {
  assert.equal(
    (await fixture.authenticate(good))?.user.username,
    `system:serviceaccount:${account.namespace}:${account.name}`,
  );
});

for (const key of [ec, rsa]) {
  test(`any one character of an ${key.algorithm} token that is changed, added or left out spoils it`, () => {
    const token = signRaw(key, { alg: key.algorithm, kid: key.id }, claims);
    const at = fc.integer({ min: 0, max: token.length - 1 });
    const character = fc.oneof(
      fc.constantFrom(...alphabet, '.', '=', '+', '/', ' ', '\n', '\0', 'é'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    );
    const change = fc.constantFrom('replace', 'insert', 'remove');
    return fc.assert(
      fc.asyncProperty(at, character, change, async (position, text, how) => {
        const changed =
          token.slice(0, position) +
          (how === 'remove' ? '' : text) +
          token.slice(how === 'insert' ? position : position + 1);
        fc.pre(changed !== token);
        await assertRefused(changed);
      }),
      { numRuns: 400 },
    );
  });
}
