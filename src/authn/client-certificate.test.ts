import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import {
  type CertificateRecipe,
  forClients,
  forServers,
  makeCertificate,
  sentWith,
} from '../pki/certificate-fixture.ts';
import { TrustPool } from '../pki/trust-pool.ts';
import type { UserInfo } from '../request/user-info.ts';
import { clientCertificateAuthenticator } from './client-certificate.ts';
import { isUnauthorized, showing } from './credentials-fixture.ts';

const start = Date.UTC(2026, 0, 1);
const hourMs = 3600_000;
const valid = { notBefore: start - hourMs, notAfter: start + hourMs };
const authority = makeCertificate({ name: 'authority', authority: true, ...valid });
const stranger = makeCertificate({ name: 'stranger', authority: true, ...valid });
const certificate = (recipe: CertificateRecipe = {}): X509Certificate =>
  makeCertificate({
    name: 'jane',
    organizations: ['dev', 'ops, too'],
    issuer: authority,
    uses: [forClients],
    ...valid,
    ...recipe,
  }).certificate;

const clock = new ManualClock(start);
const pool = new TrustPool(authority.cert, clock);
const authenticator = clientCertificateAuthenticator({ dialect: orch, pool });
const who = (shown: X509Certificate): UserInfo =>
  authenticator.authenticate(showing({ certificate: shown })) as UserInfo;

describe('client certificates', () => {
  it('name the user and the groups, with the fingerprint as credential id', () => {
    const shown = certificate();
    const id = `X509SHA256=${shown.fingerprint256.replaceAll(':', '').toLowerCase()}`;
    assert.deepEqual(who(shown), {
      username: 'jane',
      uid: '',
      groups: ['dev', 'ops, too', 'system:authenticated'],
      extra: { 'authentication.orch.io/credential-id': [id] },
    });
    const other = clientCertificateAuthenticator({ dialect: kubernetes, pool });
    const user = other.authenticate(showing({ certificate: shown })) as UserInfo;
    assert.deepEqual(Object.keys(user.extra), ['authentication.kubernetes.io/credential-id']);
  });

  it('are read once per connection', () => {
    const shown = certificate();
    assert.equal(who(shown), who(shown));
  });

  it('may have no group, one group, and special characters', () => {
    const one = certificate({ name: 'a\nO=system:masters', organizations: ['ö/b+c=d'] });
    assert.deepEqual(who(one).groups, ['ö/b+c=d', 'system:authenticated']);
    assert.equal(who(one).username, 'a\nO=system:masters');
    assert.deepEqual(who(certificate({ organizations: [] })).groups, ['system:authenticated']);
  });

  it('with several common names identify the most specific one', () => {
    assert.equal(who(certificate({ name: ['company', 'jane'] })).username, 'jane');
  });

  it('without extended key usages are accepted', () => {
    assert.equal(who(makeCertificate({ name: 'jane', issuer: authority, ...valid }).certificate).username, 'jane');
  });

  const middle = makeCertificate({
    name: 'root',
    organizations: ['system:masters'],
    authority: true,
    issuer: authority,
    ...valid,
  });
  it('sent with intermediates identify the user of the leaf (CVE-2016-7075)', () => {
    const leaf = makeCertificate({ name: 'jane', issuer: middle, ...valid });
    const user = who(sentWith(leaf, middle, authority));
    assert.deepEqual([user.username, user.groups], ['jane', ['system:authenticated']]);
  });

  for (const [name, recipe] of [
    ['for servers', { uses: [forServers] }],
    ['without a common name', { name: '' }],
    ['that have expired', { notBefore: start - 2 * hourMs, notAfter: start - 1_000 }],
    ['that are not valid yet', { notBefore: start + 1_000 }],
    ['of another authority', { issuer: stranger }],
    ['of an intermediate that was not sent', { issuer: middle }],
  ] as const) {
    it(`${name} are unauthorized`, () => {
      const shown = certificate(recipe);
      assert.throws(() => who(shown), isUnauthorized);
      assert.throws(() => who(shown), isUnauthorized, 'the second time too');
    });
  }

  it('expire on open connections', () => {
    const ticking = new ManualClock(start);
    const { authenticate } = clientCertificateAuthenticator({
      dialect: orch,
      pool: new TrustPool(authority.cert, ticking),
    });
    const credentials = showing({ certificate: certificate() });
    assert.ok(authenticate(credentials));
    ticking.advance(hourMs + 1_000);
    assert.throws(() => authenticate(credentials), isUnauthorized);
  });

  it('of an authority that is no longer trusted are rejected on open connections', () => {
    const changing = new TrustPool(authority.cert, clock);
    const { authenticate } = clientCertificateAuthenticator({ dialect: orch, pool: changing });
    const credentials = showing({ certificate: certificate() });
    assert.ok(authenticate(credentials));
    changing.replace(stranger.cert);
    assert.throws(() => authenticate(credentials), isUnauthorized);
    changing.replace(authority.cert);
    assert.ok(authenticate(credentials));
  });

  it('that could not be verified are unauthorized; no certificate is no credential', () => {
    const failed = showing({ certificateError: new Error('unknown') });
    assert.throws(() => authenticator.authenticate(failed), isUnauthorized);
    assert.equal(authenticator.authenticate(showing({})), undefined);
  });
});
