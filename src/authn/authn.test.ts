import assert from 'node:assert/strict';
import { createPublicKey, type X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { ManualClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { StatusError } from '../meta/status-error.ts';
import { type CertificateRequest, issueSelfSigned } from '../pki/certificate.ts';
import { generateKey } from '../pki/keys.ts';
import type { UserInfo } from '../request/user-info.ts';
import { withAnonymous } from './anonymous.ts';
import type { Authenticator, Credentials, TokenAuthenticator } from './authenticator.ts';
import { bearerAuthenticator, bearerToken, tokenUnion } from './bearer.ts';
import { clientCertificateAuthenticator } from './client-certificate.ts';
import { staticTokenAuthenticator } from './static-token.ts';
import { unionAuthenticator } from './union.ts';

const bearer = (tokens: readonly TokenAuthenticator[]) => bearerAuthenticator(tokenUnion(tokens, []), []);
const start = Date.UTC(2026, 0, 1);
const hour = 60 * 60_000;
const user = (username: string): UserInfo => ({ username, uid: '', groups: [], extra: {} });

function certificate(request: Partial<CertificateRequest> = {}): X509Certificate {
  const key = generateKey();
  const subject = { commonName: 'jane', organizations: ['dev', 'ops, too'] };
  const base = { subject, publicKey: createPublicKey(key), uses: ['clientAuth'] as const };
  return issueSelfSigned({ ...base, notBefore: start, notAfter: start + hour, ...request }, key, systemRandom);
}

const showing = (shown: {
  certificate?: X509Certificate;
  certificateError?: unknown;
  token?: string;
}): Credentials => ({
  peer: { certificate: shown.certificate, certificateError: shown.certificateError },
  header: (name) => (name === 'authorization' && shown.token !== undefined ? `Bearer ${shown.token}` : undefined),
});
const nothing = showing({});

const isUnauthorized = (error: unknown): boolean =>
  error instanceof StatusError &&
  error.code === 401 &&
  error.message === 'Unauthorized' &&
  error.headers['www-authenticate'] === 'Bearer';

describe('client certificates', () => {
  const clock = new ManualClock(start);
  const authenticator = clientCertificateAuthenticator(orch, clock);
  const who = (shown: X509Certificate) => authenticator.authenticate(showing({ certificate: shown }));

  it('name the user and the groups, with the fingerprint as credential id', () => {
    const shown = certificate();
    const id = `X509SHA256=${shown.fingerprint256.replaceAll(':', '').toLowerCase()}`;
    assert.deepEqual(who(shown), {
      username: 'jane',
      uid: '',
      groups: ['dev', 'ops, too', 'system:authenticated'],
      extra: { 'authentication.orch.io/credential-id': [id] },
    });
    const other = clientCertificateAuthenticator(kubernetes, clock).authenticate(showing({ certificate: shown }));
    assert.deepEqual(Object.keys((other as UserInfo).extra), ['authentication.kubernetes.io/credential-id']);
  });

  it('are read once for a connection', () => {
    const shown = certificate();
    assert.equal(who(shown), who(shown));
  });

  it('may be without groups, with one, and with odd characters', () => {
    const one = certificate({ subject: { commonName: 'a\nO=system:masters', organizations: ['ö/b+c=d'] } });
    assert.deepEqual((who(one) as UserInfo).groups, ['ö/b+c=d', 'system:authenticated']);
    assert.equal((who(one) as UserInfo).username, 'a\nO=system:masters');
    assert.deepEqual((who(certificate({ subject: { commonName: 'x' } })) as UserInfo).groups, ['system:authenticated']);
  });

  it('without extended usages may be used for anything', () => {
    assert.equal((who(certificate({ uses: [] })) as UserInfo).username, 'jane');
  });

  for (const [name, request] of [
    ['for servers', { uses: ['serverAuth'] }],
    ['without a common name', { subject: { commonName: '' } }],
    ['that have expired', { notBefore: start - 2 * hour, notAfter: start - 1_000 }],
    ['that are not valid yet', { notBefore: start + 1_000, notAfter: start + hour }],
  ] as const) {
    it(`${name} are unauthorized`, () => {
      const shown = certificate(request);
      assert.throws(() => who(shown), isUnauthorized);
      assert.throws(() => who(shown), isUnauthorized, 'the second time too');
    });
  }

  it('stop to hold when they expire during a connection', () => {
    const ticking = new ManualClock(start);
    const { authenticate } = clientCertificateAuthenticator(orch, ticking);
    const credentials = showing({ certificate: certificate() });
    assert.ok(authenticate(credentials));
    ticking.advance(hour + 1_000);
    assert.throws(() => authenticate(credentials), isUnauthorized);
  });

  it('that could not be verified are unauthorized, and none is no credential', () => {
    assert.throws(
      () => authenticator.authenticate(showing({ certificateError: new Error('unknown') })),
      isUnauthorized,
    );
    assert.equal(authenticator.authenticate(nothing), undefined);
  });
});

describe('bearer tokens', () => {
  for (const [header, token] of [
    [undefined, undefined],
    ['', undefined],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer  twice', undefined],
    ['Basic abc', undefined],
    ['Bearerabc', undefined],
    ['Bearer abc', 'abc'],
    ['bEARER abc', 'abc'],
    ['  Bearer abc  ', 'abc'],
    ['Bearer abc more', 'abc'],
    ['Bearer a, Bearer b', 'a,'],
  ] as const) {
    it(`${JSON.stringify(header)} is ${JSON.stringify(token)}`, () => assert.equal(bearerToken(header), token));
  }

  const known = staticTokenAuthenticator([{ token: 's3cret', user: { ...user('kate'), groups: ['g'] } }]);

  it('identify their user', () => {
    const found = bearer([known]).authenticate(showing({ token: 's3cret' }));
    assert.deepEqual(found, { username: 'kate', uid: '', groups: ['g', 'system:authenticated'], extra: {} });
  });

  it('that nobody knows are unauthorized, now or later', async () => {
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

  it('are not asked for when there are none', () => {
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

  it('refuses who shows nothing when anonymous requests are off', async () => {
    for (const authenticators of [[none], [lateNone]]) {
      const final = withAnonymous(unionAuthenticator(authenticators), 'refuse');
      await assert.rejects(async () => final.authenticate(nothing), isUnauthorized);
    }
  });

  it('takes a token beside a certificate that does not hold', () => {
    const tokens = staticTokenAuthenticator([{ token: 't', user: user('kate') }]);
    const both = unionAuthenticator([clientCertificateAuthenticator(orch, new ManualClock(start)), bearer([tokens])]);
    const found = both.authenticate(showing({ certificateError: new Error('unknown authority'), token: 't' }));
    assert.equal((found as UserInfo).username, 'kate');
    const shown = certificate();
    assert.equal((both.authenticate(showing({ certificate: shown, token: 'bad' })) as UserInfo).username, 'jane');
  });
});
