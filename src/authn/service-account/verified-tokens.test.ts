import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import type { TokenKey } from '../../pki/token-keys.ts';
import { atOnce, issuerName, keySet, TokenFixture } from './token-fixture.ts';
import { VerifiedTokens } from './verified-tokens.ts';

/** Counts key look-ups, which equal signature verifications. */
class CountingMap extends Map<string, TokenKey> {
  count = 0;

  override get(id: string): TokenKey | undefined {
    this.count++;
    return super.get(id);
  }
}

/** Counts issuer look-ups, which equal parsed tokens. */
class CountingSet extends Set<string> {
  count = 0;

  override has(issuer: string): boolean {
    this.count++;
    return super.has(issuer);
  }
}

function setUp() {
  const { issuer, keys } = new TokenFixture();
  const byId = new CountingMap(keys.byId);
  const counted = { ...keySet(keys.all), byId };
  const tokens = new VerifiedTokens({
    scope: '',
    keys: () => counted,
    issuers: new Set([issuerName]),
    dialect: orch,
    clock: new ManualClock(),
    verifiedMax: 2,
    forgedMax: 2,
  });
  const account = { namespace: 'team', name: 'alice', uid: 'uid-alice' };
  const make = () => atOnce(issuer.issue({ account, audiences: ['a'], lifetimeSeconds: 600 })).token;
  const forge = () => make().replace(/[^.]+$/, Buffer.alloc(64, 1).toString('base64url'));
  return { tokens, byId, make, forge };
}

test('each token is verified once, and the oldest is evicted first', () => {
  const { tokens, byId, make } = setUp();
  const [one, two, three] = [make(), make(), make()];
  for (const token of [one, two, one, two, one]) assert.equal(tokens.verify(token)?.claims.kind, 'bound');
  assert.equal(byId.count, 2);
  for (const token of [three, two, three]) tokens.verify(token);
  assert.equal(byId.count, 3);
  tokens.verify(one);
  assert.equal(byId.count, 4);
});

test('invalid tokens are cached separately and evict no valid ones', () => {
  const { tokens, byId, make, forge } = setUp();
  const good = make();
  tokens.verify(good);
  const [one, two, three] = [forge(), forge(), forge()];
  for (const token of [one, one, two, two, three, three, two]) assert.throws(() => tokens.verify(token), /signature/);
  assert.equal(byId.count, 4);
  assert.throws(() => tokens.verify(one), /signature/);
  assert.equal(byId.count, 5);
  tokens.verify(good);
  assert.equal(byId.count, 5);
});

test('tokens of other issuers are parsed once, even if keys change', () => {
  const { issuer, keys } = new TokenFixture();
  const issuers = new CountingSet(['https://other.example.com']);
  let current = keySet(keys.all);
  const tokens = new VerifiedTokens({
    scope: '',
    keys: () => current,
    issuers,
    dialect: orch,
    clock: new ManualClock(),
    verifiedMax: 2,
  });
  const account = { namespace: 'team', name: 'alice', uid: 'uid-alice' };
  const make = () => atOnce(issuer.issue({ account, audiences: ['a'], lifetimeSeconds: 600 })).token;
  const [one, two, three] = [make(), make(), make()];
  for (const token of [one, two, one, two]) assert.equal(tokens.verify(token), undefined);
  current = keySet(keys.all);
  for (const token of [one, two, three, two, three]) assert.equal(tokens.verify(token), undefined);
  assert.equal(issuers.count, 3);
  tokens.verify(one);
  assert.equal(issuers.count, 4);
});

test('fewer long tokens are cached', () => {
  const { issuer, keys } = new TokenFixture();
  const byId = new CountingMap(keys.byId);
  const counted = { ...keySet(keys.all), byId };
  const tokens = new VerifiedTokens({
    scope: '',
    keys: () => counted,
    issuers: new Set([issuerName]),
    dialect: orch,
    clock: new ManualClock(),
  });
  const account = { namespace: 'team', name: 'alice', uid: 'uid-alice' };
  const audiences = ['a'.repeat(limits.tokenLengthMax * 0.7)];
  const make = () => atOnce(issuer.issue({ account, audiences, lifetimeSeconds: 600 })).token;
  const first = make();
  const room = Math.floor(limits.tokenCacheTextMax / first.length);
  tokens.verify(first);
  for (let made = 1; made < room; made++) tokens.verify(make());
  tokens.verify(first);
  assert.equal(byId.count, room);
  tokens.verify(make());
  tokens.verify(first);
  assert.equal(byId.count, room + 2);
});
