import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { until } from '../../base/waits-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import { authenticatorFromFlags, type OidcFlags } from '../configuration/oidc-flags.ts';
import { authenticators } from './authenticators-fixture.ts';
import { OpenIdProvider } from './openid-provider-fixture.ts';
import { ecKey, rsaKey, type TestKey } from './provider-fixture.ts';

/** Interoperability with an independent provider implementation. */

const rsa = rsaKey('rsa');
const people = [
  { sub: 'jane', groups: ['dev', 'ops'], email: 'jane@example.com', email_verified: true },
  { sub: 'joe', email: 'joe@example.com', email_verified: false },
];

describe('the package oidc-provider', () => {
  let provider: OpenIdProvider;
  before(async () => {
    provider = await OpenIdProvider.start(people, [rsa]);
  });
  after(() => provider[Symbol.asyncDispose]());

  const fromFlags = (flags: Partial<OidcFlags> = {}) => {
    const { url: issuerUrl, clientId, certificateAuthority } = provider;
    const options = { dialect: orch, disallowedIssuers: [] };
    const settings = authenticatorFromFlags({ issuerUrl, clientId, certificateAuthority, ...flags }, options);
    assert.ok(settings);
    return authenticators(settings);
  };

  it('issues tokens that identify subject and groups', async () => {
    using system = fromFlags({ groupsClaim: 'groups', groupsPrefix: 'oidc:' });
    await system.ready();
    const identity = await system.all.authenticateToken(await provider.login('jane'));
    assert.equal(identity?.user.username, `${provider.url}#jane`);
    assert.deepEqual(identity?.user.groups, ['oidc:dev', 'oidc:ops']);
  });

  it('issues tokens that identify users by verified email address', async () => {
    using system = fromFlags({ usernameClaim: 'email' });
    await system.ready();
    assert.equal(await system.who(await provider.login('jane')), 'jane@example.com');
    const unverified = await provider.login('joe');
    await assert.rejects(async () => system.all.authenticateToken(unverified), /email not verified/);
  });

  it('issues tokens for one audience', async () => {
    using system = fromFlags({ clientId: 'another' });
    await system.ready();
    await system.refused(await provider.login('jane'), 'audience');
  });

  const keys: readonly TestKey[] = [
    ...(['RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const).map((algorithm) => ({
      ...rsa,
      id: algorithm,
      algorithm,
    })),
    ecKey('ES256'),
    ecKey('ES384', 'P-384'),
    ecKey('ES512', 'P-521'),
  ];
  for (const key of keys) {
    it(`signs with ${key.algorithm}, which is accepted where it is configured`, async () => {
      provider.rotate([key]);
      const signingAlgorithms: SignatureAlgorithm[] = [key.algorithm];
      using system = fromFlags({ signingAlgorithms });
      using other = fromFlags();
      await Promise.all([system.ready(), other.ready()]);
      const token = await provider.login('jane');
      assert.equal(await system.who(token), `${provider.url}#jane`);
      await other.refused(token, 'algorithm');
    });
  }

  it('may go down, come back, and rotate its keys', async () => {
    provider.rotate([rsa]);
    using system = fromFlags();
    await system.ready();
    const before = await provider.login('jane');
    await provider.down();
    system.clock.advance(limits.oidcKeysFreshMs);
    await until(() => system.warnings.length === 1);
    assert.equal(await system.who(before), `${provider.url}#jane`);
    await provider.up();
    provider.rotate([rsaKey('next'), rsa]);
    system.clock.advance(limits.oidcRetryMs);
    await system.ready();
    const between = await provider.login('jane');
    assert.equal(await system.who(before), `${provider.url}#jane`);
    assert.equal(await system.who(between), `${provider.url}#jane`);
    provider.rotate([rsaKey('last')]);
    system.clock.advance(limits.oidcKeysFetchMsMin);
    assert.equal(await system.who(await provider.login('jane')), `${provider.url}#jane`);
    await system.refused(before, 'signature');
    await system.refused(between, 'signature');
  });
});
