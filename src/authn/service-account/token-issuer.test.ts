import assert from 'node:assert/strict';
import { createHash, createPublicKey } from 'node:crypto';
import { test } from 'node:test';
import type { Random } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { dialects } from '../../dialect/dialects.ts';
import type { TokenGrant } from '../../kinds/authentication/token-grant.ts';
import { unverifiedJwt } from '../jwt.ts';
import { isSignedWith } from '../jwt-signature.ts';
import { account, atOnce, issuerName, makeSigningKey } from './token-fixture.ts';
import { createTokenIssuer } from './token-issuer.ts';

const random: Random = { uuid: () => '00000000-0000-4000-8000-000000000000', bytes: (count) => new Uint8Array(count) };
const keys = (['ES256', 'ES384', 'RS256', 'ES512'] as const).map(makeSigningKey);
const [key] = keys;
assert.ok(key);
const clock = new ManualClock(1_800_000_000_900);
const make = (dialect: Dialect = dialects.orch, signingKey = () => key) =>
  createTokenIssuer({ issuer: issuerName, scope: '', signingKey, dialect, clock, random });
const textOf = (token: string, part: number): string =>
  Buffer.from(token.split('.')[part] ?? '', 'base64url').toString();
const grant: TokenGrant = { account, audiences: ['a'], lifetimeSeconds: 600 };

test('claims are those of kube-apiserver, in its order', () => {
  const { token, credentialId, issuedAt } = atOnce(
    make(dialects.kubernetes).issue({ ...grant, audiences: ['a', 'b'] }),
  );
  assert.equal(
    textOf(token, 1),
    `{"aud":["a","b"],"exp":1800000600,"iat":1800000000,"iss":"${issuerName}",` +
      '"jti":"00000000-0000-4000-8000-000000000000",' +
      '"kubernetes.io":{"namespace":"team","serviceaccount":{"name":"alice","uid":"uid-alice"}},' +
      '"nbf":1800000000,"sub":"system:serviceaccount:team:alice"}',
  );
  assert.equal(credentialId, 'JTI=00000000-0000-4000-8000-000000000000');
  assert.equal(issuedAt, 1_800_000_000);
});

const own = (more: Partial<TokenGrant>): unknown =>
  JSON.parse(textOf(atOnce(make().issue({ ...grant, ...more })).token, 1))['orch.io'];
const serviceaccount = { name: 'alice', uid: 'uid-alice' };

test('the claims contain the bound object', () => {
  const [pod, node] = [
    { name: 'p', uid: 'uid-p' },
    { name: 'n', uid: 'uid-n' },
  ];
  assert.deepEqual(own({ binding: { kind: 'pod', ...pod } }), { namespace: 'team', serviceaccount, pod });
  assert.deepEqual(own({ binding: { kind: 'pod', ...pod, node } }), { namespace: 'team', serviceaccount, pod, node });
  assert.deepEqual(own({ binding: { kind: 'pod', ...pod, node: { name: 'n' } } }), {
    namespace: 'team',
    serviceaccount,
    pod,
    node: { name: 'n' },
  });
  assert.deepEqual(own({ binding: { kind: 'node', ...node } }), { namespace: 'team', serviceaccount, node });
  assert.deepEqual(own({ binding: { kind: 'secret', ...pod } }), { namespace: 'team', serviceaccount, secret: pod });
  assert.deepEqual(own({ warnAfterSeconds: 3607 }), { namespace: 'team', serviceaccount, warnafter: 1_800_003_607 });
});

for (const each of keys) {
  test(`a token is signed with ${each.algorithm}, and names its key`, async () => {
    const made = make(dialects.orch, () => each).issue(grant);
    assert.equal(made instanceof Promise, !each.algorithm.startsWith('ES'), 'what takes long is not done at once');
    const { token } = await made;
    assert.equal(textOf(token, 0), `{"alg":"${each.algorithm}","kid":"${each.id}"}`);
    const jwt = unverifiedJwt(token);
    assert.ok(jwt && isSignedWith(jwt, each));
    const spki = createPublicKey(each.privateKey).export({ type: 'spki', format: 'der' });
    assert.equal(each.id, createHash('sha256').update(spki).digest('base64url'));
  });
}

test('a token for a Secret does not expire', () => {
  const token = atOnce(make(dialects.kubernetes).issueLegacy(account, 'alice-token'));
  assert.deepEqual(JSON.parse(textOf(token, 1)), {
    iss: 'kubernetes/serviceaccount',
    sub: 'system:serviceaccount:team:alice',
    'kubernetes.io/serviceaccount/namespace': 'team',
    'kubernetes.io/serviceaccount/secret.name': 'alice-token',
    'kubernetes.io/serviceaccount/service-account.name': 'alice',
    'kubernetes.io/serviceaccount/service-account.uid': 'uid-alice',
  });
});

test('a new key signs the next token', () => {
  let current = key;
  const issuer = make(dialects.orch, () => current);
  issuer.issue(grant);
  current = keys[1] ?? key;
  assert.equal(unverifiedJwt(atOnce(issuer.issue(grant)).token)?.header['kid'], current.id);
});
