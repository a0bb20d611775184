import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { orch } from '../dialect/orch.ts';
import { makeCertificate } from '../pki/certificate-fixture.ts';
import { TrustPool } from '../pki/trust-pool.ts';
import type { UserInfo } from '../request/user-info.ts';
import { withAnonymous } from './anonymous.ts';
import type { Authenticator, TokenAuthenticator } from './authenticator.ts';
import { bearerAuthenticator, bearerToken, bearerWarning, tokenUnion } from './bearer.ts';
import { clientCertificateAuthenticator } from './client-certificate.ts';
import { isUnauthorized, showing } from './credentials-fixture.ts';
import { staticTokenAuthenticator } from './static-token.ts';
import { unionAuthenticator } from './union.ts';

const bearer = (tokens: readonly TokenAuthenticator[]) => bearerAuthenticator(tokenUnion(tokens, []), []);
const user = (username: string): UserInfo => ({ username, uid: '', groups: [], extra: {} });

const nothing = showing({});

describe('bearer tokens', () => {
  for (const [header, token] of [
    [undefined, undefined],
    ['', undefined],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Basic abc', undefined],
    ['Bearerabc', undefined],
    ['Bearer abc', 'abc'],
    ['bEARER abc', 'abc'],
    ['  Bearer abc  ', 'abc'],
    ['\t Bearer abc \t', 'abc'],
    ['Bearer \u00a0abc', '\u00a0abc'],
    ['Bearer abc\u00a0', 'abc\u00a0'],
    ['Bearer abc\v', 'abc\v'],
    ['Bearer \fabc', '\fabc'],
    ['Bearer \tabc', '\tabc'],
    ['Bearer abc more', 'abc'],
    ['Bearer a, Bearer b', 'a,'],
  ] as const) {
    it(`${JSON.stringify(header)} is ${JSON.stringify(token)}`, () => assert.equal(bearerToken(header), token));
  }

  for (const header of [
    'Bearer  twice',
    '\u00a0Bearer abc',
    '\vBearer abc',
    'Bearer\tabc',
    'Bearer,abc',
    '"Bearer" abc',
  ]) {
    it(`${JSON.stringify(header)} is a credential that does not hold, and nobody anonymous`, () => {
      assert.throws(() => bearerToken(header), isUnauthorized);
    });
  }

  it('after an extra space cause a warning', () => {
    for (const header of ['Bearer  abc', ' bearer   abc'])
      assert.equal(
        bearerWarning(header),
        'the provided Authorization header contains extra space before the bearer token, and is ignored',
      );
    for (const header of ['', 'Bearer', 'Bearer ', 'Bearer abc', 'Bearer abc  more', 'Basic  abc'])
      assert.equal(bearerWarning(header), undefined, header);
  });

  const known = staticTokenAuthenticator([{ token: 's3cret', user: { ...user('kate'), groups: ['g'] } }]);

  it('identify their user', () => {
    const found = bearer([known]).authenticate(showing({ token: 's3cret' }));
    assert.deepEqual(found, { username: 'kate', uid: '', groups: ['g', 'system:authenticated'], extra: {} });
  });

  it('that are unknown are unauthorized, synchronously and asynchronously', async () => {
    assert.throws(() => bearer([]).authenticate(showing({ token: 'x' })), isUnauthorized);
    assert.throws(() => bearer([known]).authenticate(showing({ token: 'S3cret' })), isUnauthorized);
    const late = { authenticateToken: async () => undefined };
    await assert.rejects(async () => bearer([late]).authenticate(showing({ token: 'x' })), isUnauthorized);
  });

  it('go to the next authenticator when one fails', async () => {
    const broken = {
      authenticateToken() {
        throw new Error('down');
      },
    };
    const rejecting = { authenticateToken: async () => Promise.reject(new Error('down')) };
    const found = await bearer([broken, rejecting, known]).authenticate(showing({ token: 's3cret' }));
    assert.equal(found?.username, 'kate');
  });

  it('are not looked up without a header', () => {
    assert.equal(bearer([known]).authenticate(nothing), undefined);
  });
});

describe('the union', () => {
  const none: Authenticator = { authenticate: () => undefined };
  const lateNone: Authenticator = { authenticate: async () => undefined };
  const finds: Authenticator = { authenticate: () => user('jane') };
  const findsLate: Authenticator = { authenticate: async () => user('jane') };
  const fails: Authenticator = {
    authenticate() {
      throw new Error('no');
    },
  };
  const failsLate: Authenticator = { authenticate: async () => Promise.reject(new Error('no')) };
  const never: Authenticator = { authenticate: () => assert.fail('asked after a success') };

  for (const [name, authenticators, expected] of [
    ['nobody asked', [], 'anonymous'],
    ['none shown', [none, lateNone, none], 'anonymous'],
    ['first of two', [finds, never], 'jane'],
    ['late first of two', [findsLate, never], 'jane'],
    ['success after none', [none, lateNone, finds], 'jane'],
    ['success after a failure', [fails, finds], 'jane'],
    ['late success after late failure', [failsLate, findsLate, never], 'jane'],
    ['a failure alone', [fails], '401'],
    ['a failure and none', [none, fails, lateNone], '401'],
    ['late failures', [failsLate, fails, failsLate], '401'],
  ] as const) {
    it(`${name}: ${expected}`, async () => {
      const ask = async () => withAnonymous(unionAuthenticator(authenticators), 'allow').authenticate(nothing);
      if (expected === '401') return assert.rejects(ask, isUnauthorized);
      const found = await ask();
      const anonymous = expected === 'anonymous';
      assert.equal(found.username, anonymous ? 'system:anonymous' : expected);
      assert.deepEqual(found.groups, [anonymous ? 'system:unauthenticated' : 'system:authenticated']);
    });
  }

  it('rejects requests without credentials when anonymous requests are disabled', async () => {
    for (const authenticators of [[none], [lateNone]]) {
      const final = withAnonymous(unionAuthenticator(authenticators), 'refuse');
      await assert.rejects(async () => final.authenticate(nothing), isUnauthorized);
    }
  });

  it('accepts a valid token beside an invalid certificate', () => {
    const tokens = staticTokenAuthenticator([{ token: 't', user: user('kate') }]);
    const authority = makeCertificate({ name: 'authority', authority: true });
    const pool = new TrustPool(authority.cert, new ManualClock(Date.now()));
    const both = unionAuthenticator([clientCertificateAuthenticator({ dialect: orch, pool }), bearer([tokens])]);
    const found = both.authenticate(showing({ certificateError: new Error('unknown authority'), token: 't' }));
    assert.equal((found as UserInfo).username, 'kate');
    const { certificate } = makeCertificate({ name: 'jane', issuer: authority });
    assert.equal((both.authenticate(showing({ certificate, token: 'bad' })) as UserInfo).username, 'jane');
    const foreign = makeCertificate({ name: 'root' });
    assert.equal(
      (both.authenticate(showing({ certificate: foreign.certificate, token: 't' })) as UserInfo).username,
      'kate',
    );
    assert.throws(() => both.authenticate(showing({ certificate: foreign.certificate, token: 'bad' })), isUnauthorized);
    assert.throws(() => both.authenticate(showing({ certificate: foreign.certificate })), isUnauthorized);
  });
});
