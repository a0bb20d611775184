import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { authenticators } from './authenticators-fixture.ts';
import { ecKey, signToken, TestProvider } from './provider-fixture.ts';

const [groupsKey, otherKey] = [ecKey('one'), ecKey('other')];

describe('distributed claims', () => {
  let provider: TestProvider;
  /** Claims of a token with groups. */
  let claims: Record<string, unknown>;
  let system: ReturnType<typeof authenticators>;
  before(async () => {
    provider = await TestProvider.start([groupsKey]);
    claims = { ...provider.claims(), sub: undefined, groups: ['far', 'away'] };
    system = authenticators(provider.settings({ groupsClaim: 'groups' }));
    await system.ready();
  });
  afterEach(() => provider.instead.clear());
  after(async () => {
    system[Symbol.dispose]();
    await provider[Symbol.asyncDispose]();
  });

  let serial = 0;
  /** A token with a distributed groups claim; each call returns a different one, so that none is cached. */
  const tokenFrom = (source: unknown, more: Record<string, unknown> = {}) =>
    provider.token({
      jti: String(serial++),
      _claim_names: { groups: 'there' },
      _claim_sources: { there: source },
      ...more,
    });
  const endpoint = () => `${provider.url}/groups`;
  const groupsOf = async (token: string) => (await system.all.authenticateToken(token))?.user.groups;
  const serve = (token: string, status = 200) => provider.answerInstead('/groups', status, token);

  it('are fetched from their source', async () => {
    serve(`${signToken(groupsKey, claims)}\n`);
    assert.deepEqual(await groupsOf(tokenFrom({ endpoint: endpoint() })), ['far', 'away']);
    assert.equal(provider.headers.authorization, undefined);
    assert.deepEqual(await groupsOf(tokenFrom({ endpoint: endpoint(), access_token: 'sesame' })), ['far', 'away']);
    assert.equal(provider.headers.authorization, 'Bearer sesame');
  });

  it('are cached with the token', async () => {
    serve(signToken(groupsKey, claims));
    const token = tokenFrom({ endpoint: endpoint() });
    await groupsOf(token);
    provider.instead.clear();
    assert.deepEqual(await groupsOf(token), ['far', 'away']);
  });

  it('are not fetched if the token has the claim or names no source', async () => {
    const asked = provider.requests.length;
    const source = { endpoint: endpoint() };
    assert.deepEqual(await groupsOf(tokenFrom(source, { groups: ['near'] })), ['near']);
    assert.deepEqual(await groupsOf(tokenFrom(source, { _claim_names: { email: 'there' } })), []);
    assert.deepEqual(await groupsOf(tokenFrom(source, { _claim_names: undefined })), []);
    assert.deepEqual(await groupsOf(tokenFrom({ JWT: 'aggregated' })), []);
    assert.equal(provider.requests.length, asked);
  });

  it('are not fetched if no groups claim is configured', async () => {
    using plain = authenticators(provider.settings());
    await plain.ready();
    assert.deepEqual((await plain.all.authenticateToken(tokenFrom({ endpoint: endpoint() })))?.user.groups, []);
  });

  it('may be signed by another issuer, whose keys are then fetched', async () => {
    // On the same server, because the connection trusts only the provider's authorities.
    const other = `${provider.url}/other`;
    provider.answerInstead('/other/.well-known/openid-configuration', 200, {
      issuer: other,
      jwks_uri: `${provider.url}/other/keys`,
    });
    const { privateKey } = otherKey;
    provider.answerInstead('/other/keys', 200, {
      keys: [{ ...privateKey.export({ format: 'jwk' }), d: undefined, kid: 'other' }],
    });
    serve(signToken(otherKey, { ...claims, iss: other }));
    assert.deepEqual(await groupsOf(tokenFrom({ endpoint: endpoint() })), ['far', 'away']);
    const asked = provider.requests.length;
    assert.deepEqual(await groupsOf(tokenFrom({ endpoint: endpoint() })), ['far', 'away']);
    assert.deepEqual(provider.requests.slice(asked), ['/groups']);
    // A key of one issuer does not verify tokens of another.
    serve(signToken(groupsKey, { ...claims, iss: other }, { kid: 'other' }));
    await system.refused(tokenFrom({ endpoint: endpoint() }), 'signature');
  });

  for (const [name, code, body] of [
    ['that are not a token', 'distributedClaim', () => 'hello'],
    ['that are empty', 'distributedClaim', () => ''],
    ['that are too long', 'distributedClaim', () => 'x'.repeat(limits.tokenLengthMax + 1)],
    ['without the claim', 'distributedClaim', () => signToken(groupsKey, { ...claims, groups: undefined })],
    ['without an issuer', 'distributedClaim', () => signToken(groupsKey, { ...claims, iss: undefined })],
    ['of an issuer without TLS', 'distributedClaim', () => signToken(groupsKey, { ...claims, iss: 'http://x' })],
    ['of an unreachable issuer', 'notReady', () => signToken(groupsKey, { ...claims, iss: `${provider.url}/no` })],
    ['that have expired', 'expired', () => signToken(groupsKey, { ...claims, exp: 1 })],
    ['for others', 'audience', () => signToken(groupsKey, { ...claims, aud: 'someone' })],
    ['signed with an unknown key', 'signature', () => signToken(ecKey('one'), claims)],
  ] as const) {
    it(`do not hold ${name}`, async () => {
      serve(body());
      await system.refused(tokenFrom({ endpoint: endpoint() }), code);
    });
  }

  it('do not hold where the endpoint fails or sends elsewhere', async () => {
    for (const status of [302, 401, 500]) {
      serve(signToken(groupsKey, claims), status);
      await system.refused(tokenFrom({ endpoint: endpoint() }), 'distributedClaim');
    }
  });

  for (const [name, more] of Object.entries<Record<string, unknown>>({
    'the names are not an object': { _claim_names: 'groups' },
    'the source has no name': { _claim_names: { groups: 7 } },
    'the source is missing': { _claim_names: { groups: 'elsewhere' } },
    'the source is named like an inherited property': { _claim_names: { groups: 'constructor' } },
    'there are no sources': { _claim_sources: undefined },
    'the sources are a list': { _claim_sources: [{ endpoint: 'https://127.0.0.1:1/' }] },
    'the endpoint is not a URL': { _claim_sources: { there: { endpoint: 'groups' } } },
    'the endpoint is a number': { _claim_sources: { there: { endpoint: 1 } } },
    'the endpoint has no TLS': { _claim_sources: { there: { endpoint: 'http://127.0.0.1:1/' } } },
    'the endpoint is a file': { _claim_sources: { there: { endpoint: 'file:///etc/passwd' } } },
    'the access token would inject a header': {
      _claim_sources: { there: { endpoint: 'https://127.0.0.1:1/', access_token: 'a\r\nx: y' } },
    },
    'the access token is a number': {
      _claim_sources: { there: { endpoint: 'https://127.0.0.1:1/', access_token: 7 } },
    },
  })) {
    it(`do not hold where ${name}`, () => system.refused(tokenFrom({}, more), 'distributedClaim'));
  }

  it('come from few issuers', async () => {
    using other = authenticators(provider.settings({ groupsClaim: 'groups' }));
    await other.ready();
    for (let index = 0; index < limits.oidcClaimIssuersMax; index++) {
      serve(signToken(groupsKey, { ...claims, iss: `${provider.url}/${index}` }));
      await other.refused(tokenFrom({ endpoint: endpoint() }), 'notReady');
    }
    serve(signToken(groupsKey, { ...claims, iss: `${provider.url}/more` }));
    await other.refused(tokenFrom({ endpoint: endpoint() }), 'distributedClaim');
    assert.ok(!provider.requests.includes('/more/.well-known/openid-configuration'));
  });
});
