import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ManualClock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { orch } from '../../dialect/orch.ts';
import type { TokenGrant } from '../../kinds/authentication/token-grant.ts';
import type { ObjectMeta } from '../../meta/api-object.ts';
import type { BoundClaims } from './claims.ts';
import { LegacyTokenUse } from './legacy-token-use.ts';
import { findBound } from './revocation.ts';
import {
  account,
  apiAudiences,
  atOnce,
  issuerName,
  keySet,
  makeSigningKey,
  signRaw,
  TokenHarness,
} from './token-harness.ts';

const pod = { namespace: 'team', name: 'pod-1', uid: 'uid-pod' };
const secret = { namespace: 'team', name: 'secret-1', uid: 'uid-secret' };
const node = { name: 'node-1', uid: 'uid-node' };
const iso = (ms: number): string => new Date(ms).toISOString();

test('a token tells its bearer', async () => {
  const harness = new TokenHarness();
  const { token, credentialId } = atOnce(
    harness.issuer.issue({ account, audiences: apiAudiences, lifetimeSeconds: 3600 }),
  );
  assert.deepEqual(await harness.authenticate(token), {
    user: {
      username: 'system:serviceaccount:team:alice',
      uid: 'uid-alice',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
      extra: { 'authentication.orch.io/credential-id': [credentialId] },
    },
    audiences: apiAudiences,
  });
});

const bindings: readonly (readonly [string, NonNullable<TokenGrant['binding']>, Readonly<Record<string, string>>])[] = [
  ['a pod', { kind: 'pod', ...pod }, { 'pod-name': 'pod-1', 'pod-uid': 'uid-pod' }],
  [
    'a pod on a node',
    { kind: 'pod', ...pod, node: { name: 'elsewhere', uid: 'uid-elsewhere' } },
    { 'pod-name': 'pod-1', 'pod-uid': 'uid-pod', 'node-name': 'elsewhere', 'node-uid': 'uid-elsewhere' },
  ],
  [
    'a pod on a node that is not there',
    { kind: 'pod', ...pod, node: { name: 'elsewhere' } },
    { 'pod-name': 'pod-1', 'pod-uid': 'uid-pod', 'node-name': 'elsewhere' },
  ],
  ['a node', { kind: 'node', ...node }, { 'node-name': 'node-1', 'node-uid': 'uid-node' }],
  ['a secret', { kind: 'secret', ...secret }, {}],
];

for (const [name, binding, extra] of bindings) {
  test(`what a token tells that is bound to ${name}`, async () => {
    const harness = new TokenHarness();
    for (const [resource, metadata] of [
      ['pods', pod],
      ['secrets', secret],
      ['nodes', node],
    ] as const) {
      harness.put(resource, metadata);
    }
    const identity = await harness.authenticate(harness.grant({ binding }));
    const { 'authentication.orch.io/credential-id': _, ...rest } = identity?.user.extra ?? {};
    assert.deepEqual(
      rest,
      Object.fromEntries(Object.entries(extra).map(([key, value]) => [`authentication.orch.io/${key}`, [value]])),
    );
  });
}

test('known objects are answered for at once', () => {
  const harness = new TokenHarness();
  assert.ok(!(harness.authenticator.authenticateToken(harness.grant(), apiAudiences) instanceof Promise));
});

test('tokens of others are nobody', async () => {
  const harness = new TokenHarness();
  const stranger = makeSigningKey();
  for (const token of [
    'opaque',
    'a.b.c',
    '',
    signRaw(stranger, { alg: 'ES256' }, { iss: 'https://elsewhere.test' }),
    signRaw(stranger, { alg: 'ES256' }, { iss: `${issuerName}/` }),
    signRaw(stranger, { alg: 'ES256' }, { iss: [issuerName] }),
    signRaw(stranger, { alg: 'ES256' }, {}),
    signRaw(stranger, { alg: 'ES256' }, { iss: 'kubernetes/serviceaccount' }),
  ]) {
    assert.equal(await harness.authenticate(token), undefined);
  }
});

test('audiences: those that were asked for and are meant', async () => {
  const harness = new TokenHarness();
  const token = harness.grant({ audiences: ['vault', 'disk', 'api-two'] });
  const meant = async (asked: readonly string[]) => (await harness.authenticate(token, asked))?.audiences;
  assert.deepEqual(await meant(apiAudiences), ['api-two']);
  assert.deepEqual(await meant(['disk', 'other', 'vault']), ['disk', 'vault']);
  await assert.rejects(meant(['other']), /the token is for \["vault","disk","api-two"\], not for \["other"\]/);
  await assert.rejects(meant([]), /not for \[\]/);
});

test('a token without audiences is for the API server', async () => {
  const harness = new TokenHarness();
  const token = harness.legacy();
  assert.deepEqual((await harness.authenticate(token, ['api-two', 'vault']))?.audiences, ['api-two']);
  await assert.rejects(harness.authenticate(token, ['vault']), /not for \["vault"\]/);
  const nameless = new TokenHarness({ apiAudiences: [], issuers: [] });
  const identity = await nameless.authenticate(nameless.legacy(), []);
  assert.equal(identity?.user.username, 'system:serviceaccount:team:alice');
  assert.equal(identity?.audiences, undefined);
});

test('every issuer is taken, also one that is called like that of Secrets', async () => {
  const harness = new TokenHarness({ issuers: ['https://new.test', issuerName, 'orch/serviceaccount'] });
  assert.ok(await harness.authenticate(harness.grant()));
  assert.ok(await harness.authenticate(harness.legacy()));
  const claims = JSON.parse(Buffer.from(harness.grant().split('.')[1] ?? '', 'base64url').toString());
  const renamed = signRaw(harness.signingKey, { alg: 'ES256' }, { ...claims, iss: 'orch/serviceaccount' });
  assert.ok((await harness.authenticate(renamed))?.user.extra['authentication.orch.io/credential-id']);
});

test('a token counts from a minute before its time to a minute after', async () => {
  const harness = new TokenHarness();
  const token = harness.grant({ lifetimeSeconds: 600 });
  harness.clock.advance(660_000);
  assert.ok(await harness.authenticate(token));
  harness.clock.advance(1);
  await assert.rejects(harness.authenticate(token), /^Error: the token has expired$/);
  const early = new TokenHarness({ signingKey: harness.signingKey });
  early.clock.advance(-60_000);
  assert.ok(await early.authenticate(token));
  early.clock.advance(-1);
  await assert.rejects(early.authenticate(token), /the token is not valid yet/);
});

const revocations: readonly (readonly [string, NonNullable<TokenGrant['binding']> | undefined, string, ObjectMeta])[] =
  [
    ['account', undefined, 'serviceaccounts', account],
    ['pod', { kind: 'pod', ...pod }, 'pods', pod],
    ['secret', { kind: 'secret', ...secret }, 'secrets', secret],
    ['node', { kind: 'node', ...node }, 'nodes', node],
  ];

for (const [name, binding, resource, metadata] of revocations) {
  const setUp = () => {
    const harness = new TokenHarness();
    harness.put(resource, metadata);
    return { harness, token: harness.grant(binding ? { binding } : {}) };
  };

  test(`a token ends with its ${name}`, async () => {
    const { harness, token } = setUp();
    assert.ok(await harness.authenticate(token));
    harness.cached.delete([...harness.cached.keys()].find((key) => key.startsWith(`${resource} `)) ?? '');
    await assert.rejects(harness.authenticate(token), /is not there$/);
    harness.put(resource, { ...metadata, uid: 'uid-of-another' });
    await assert.rejects(harness.authenticate(token), /is not the one that the token names$/);
    harness.put(resource, metadata);
    assert.ok(await harness.authenticate(token));
  });

  test(`a token ends a minute after the time at which its ${name} was to be gone`, async () => {
    const { harness, token } = setUp();
    for (const [deletedAt, holds] of [
      [harness.clock.now() + 30_000, true],
      [harness.clock.now(), true],
      [harness.clock.now() - 60_000, true],
      [harness.clock.now() - 61_000, false],
    ] as const) {
      harness.put(resource, { ...metadata, deletionTimestamp: iso(deletedAt) });
      if (holds) assert.ok(await harness.authenticate(token));
      else await assert.rejects(harness.authenticate(token), /has been deleted$/);
    }
  });
}

test('the node of a pod is not looked at', async () => {
  const harness = new TokenHarness();
  harness.put('pods', pod);
  assert.ok(await harness.authenticate(harness.grant({ binding: { kind: 'pod', ...pod, node } })));
  assert.deepEqual(harness.asked, ['cache serviceaccounts team/alice', 'cache pods team/pod-1']);
});

test('what the cache does not know yet is asked of the store', async () => {
  const harness = new TokenHarness();
  const token = harness.grant({ account: { ...account, uid: 'uid-new' } });
  harness.stored.set('serviceaccounts team/alice', {
    ...harness.put('serviceaccounts', account),
    metadata: { ...account, uid: 'uid-new' },
  });
  assert.ok(await harness.authenticate(token));
  assert.ok(await harness.authenticate(token));
  assert.deepEqual(
    harness.asked.map((each) => each.split(' ')[0]),
    ['cache', 'store', 'cache', 'store'],
  );
});

test('a refused token does not make the store work, and holds again as soon as the cache says so', async () => {
  const harness = new TokenHarness();
  const token = harness.grant();
  harness.cached.clear();
  for (let time = 0; time < 3; time++) await assert.rejects(harness.authenticate(token), /is not there/);
  assert.equal(harness.asked.filter((each) => each.startsWith('store')).length, 1);
  harness.clock.advance(limits.refusedTokenMs);
  await assert.rejects(harness.authenticate(token), /is not there/);
  assert.equal(harness.asked.filter((each) => each.startsWith('store')).length, 2);
  harness.put('serviceaccounts', account);
  assert.ok(await harness.authenticate(token));
});

test('a store that cannot be asked refuses', async () => {
  const harness = new TokenHarness();
  const token = harness.grant();
  harness.cached.clear();
  harness.stored.get = () => {
    throw new Error('no answer');
  };
  await assert.rejects(harness.authenticate(token), /no answer/);
});

test('look-ups that fail, each in its own way, refuse and leave nothing behind', async () => {
  const rejecting = () => Promise.reject(new Error('no answer'));
  const throwing = () => {
    throw new Error('no answer');
  };
  const objects = { account: rejecting, pod: throwing, secret: rejecting, node: throwing };
  const bound = { kind: 'bound', pod, secret, account } as unknown as BoundClaims;
  await assert.rejects(async () => findBound(bound, objects, 'cache'), /no answer/);
});

test('keys rotate: what the old key signed ends with it, also where it was known', async () => {
  const harness = new TokenHarness();
  const [before, next] = [harness.signingKey, makeSigningKey('ES384')];
  const old = harness.grant();
  assert.ok(await harness.authenticate(old));
  harness.keys = keySet([before, next], next);
  harness.signingKey = next;
  const fresh = harness.grant();
  assert.ok(await harness.authenticate(old));
  assert.ok(await harness.authenticate(fresh));
  harness.keys = keySet([next], next);
  await assert.rejects(harness.authenticate(old), /^Error: it was signed with an unknown key$/);
  assert.ok(await harness.authenticate(fresh));
  harness.keys = keySet([before, next], next);
  assert.ok(await harness.authenticate(old), 'what was refused is looked at again with new keys');
});

test('a token that names no key may be of any', async () => {
  const keys = [makeSigningKey(), makeSigningKey('ES384'), makeSigningKey('RS256'), makeSigningKey()] as const;
  const harness = new TokenHarness({ signingKey: keys[3], keys });
  const claims = JSON.parse(Buffer.from(harness.grant().split('.')[1] ?? '', 'base64url').toString());
  for (const key of keys) assert.ok(await harness.authenticate(signRaw(key, { alg: key.algorithm }, claims)));
  await assert.rejects(
    harness.authenticate(signRaw(makeSigningKey(), { alg: 'ES256' }, claims)),
    /its signature does not hold/,
  );
});

test('forged tokens are forgotten after a while', async () => {
  const harness = new TokenHarness();
  const forged = `${harness.grant().split('.').slice(0, 2).join('.')}.${Buffer.alloc(64, 1).toString('base64url')}`;
  const refused = () => assert.rejects(harness.authenticate(forged), /its signature does not hold/);
  await refused();
  await refused();
  harness.clock.advance(limits.forgedTokenMs);
  await refused();
  assert.deepEqual(harness.asked, []);
});

test('a token of a Secret tells its bearer, and nothing of itself', async () => {
  const harness = new TokenHarness();
  const identity = await harness.authenticate(harness.legacy());
  assert.equal(identity?.user.uid, 'uid-alice');
  assert.deepEqual(identity?.user.extra, {});
  assert.equal(harness.count('legacy_tokens'), 1);
  assert.equal(harness.count('legacy_manual_token_uses'), 1);
});

const legacyRevocations: Readonly<Record<string, (harness: TokenHarness) => unknown>> = {
  'its Secret is gone': (harness) => harness.cached.delete('secrets team/legacy'),
  'its Secret is being deleted': (harness) =>
    harness.legacy({ metadata: { deletionTimestamp: iso(harness.clock.now() + 60_000) } }),
  'its Secret holds another token': (harness) =>
    harness.put(
      'secrets',
      { namespace: 'team', name: 'legacy' },
      { data: { token: Buffer.from('other').toString('base64') } },
    ),
  'its Secret holds none': (harness) => harness.put('secrets', { namespace: 'team', name: 'legacy' }, { data: {} }),
  'its Secret has no data': (harness) => harness.put('secrets', { namespace: 'team', name: 'legacy' }),
  'its account is gone': (harness) => harness.cached.delete('serviceaccounts team/alice'),
  'its account is being deleted': (harness) =>
    harness.put('serviceaccounts', { ...account, deletionTimestamp: iso(harness.clock.now() + 60_000) }),
  'its account is another one': (harness) => harness.put('serviceaccounts', { ...account, uid: 'uid-other' }),
  'its Secret is labelled as invalid': (harness) => {
    const kept = harness.cached.get('secrets team/legacy');
    if (kept) kept.metadata.labels = { 'orch.io/legacy-token-invalid-since': '2026-01-01' };
  },
};

for (const [name, revoke] of Object.entries(legacyRevocations)) {
  test(`a token of a Secret does not hold when ${name}`, async () => {
    const harness = new TokenHarness();
    const token = harness.legacy();
    assert.ok(await harness.authenticate(token));
    revoke(harness);
    const shown = name === 'its Secret is being deleted' ? tokenOf(harness) : token;
    await assert.rejects(harness.authenticate(shown), /secret|service account/);
  });
}

const tokenOf = (harness: TokenHarness): string => {
  const data = harness.cached.get('secrets team/legacy')?.['data'] as { readonly token: string };
  return Buffer.from(data.token, 'base64').toString();
};

test('without look-up a token of a Secret holds as long as its key; others do not', async () => {
  const harness = new TokenHarness({ lookup: false });
  const [legacy, bound] = [harness.legacy(), harness.grant()];
  harness.cached.clear();
  assert.ok(await harness.authenticate(legacy));
  await assert.rejects(harness.authenticate(bound), /is not there/);
});

test('the day of last use is noted, once', async () => {
  const harness = new TokenHarness();
  const token = harness.legacy();
  await Promise.all([harness.authenticate(token), harness.authenticate(token)]);
  const mark = {
    namespace: 'team',
    name: 'legacy',
    uid: 'uid-legacy',
    label: 'orch.io/legacy-token-last-used',
    date: '2026-01-01',
  };
  assert.deepEqual(harness.marks, [mark]);
  for (const [date, count] of [
    ['2026-01-01', 1],
    ['2026-01-02', 1],
    ['2025-12-31', 2],
  ] as const) {
    const kept = harness.cached.get('secrets team/legacy');
    if (kept) kept.metadata.labels = { 'orch.io/legacy-token-last-used': date };
    await harness.authenticate(token);
    assert.equal(harness.marks.length, count, date);
  }
});

test('that the use cannot be noted is nobody’s concern', async () => {
  for (const mark of [
    () => Promise.reject(new Error('no')),
    () => {
      throw new Error('no');
    },
  ]) {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
    const use = new LegacyTokenUse({ mark, dialect: orch, clock: new ManualClock(), logger });
    const kept = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'team', name: 'legacy', uid: 'u' } };
    use.note(kept);
    await setImmediate();
    use.note(kept);
    await setImmediate();
    assert.equal(warnings.length, 2);
  }
});

test('a Secret that its account lists was made unasked', async () => {
  const harness = new TokenHarness();
  const token = harness.legacy();
  harness.put('serviceaccounts', account, { secrets: [{ name: 'other' }, { name: 'legacy' }] });
  await harness.authenticate(token);
  assert.equal(harness.count('legacy_auto_token_uses'), 1);
  assert.equal(harness.count('legacy_manual_token_uses'), 0);
});

test('extended tokens are counted before and after the time at which they should have been replaced', async () => {
  const harness = new TokenHarness();
  const token = harness.grant({ lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 });
  await harness.authenticate(token);
  harness.clock.advance(3607_000);
  await harness.authenticate(token);
  assert.deepEqual([harness.count('valid_tokens'), harness.count('stale_tokens')], [2, 0]);
  harness.clock.advance(1);
  await harness.authenticate(token);
  assert.deepEqual([harness.count('valid_tokens'), harness.count('stale_tokens')], [2, 1]);
  await harness.authenticate(harness.grant());
  assert.deepEqual([harness.count('valid_tokens'), harness.count('stale_tokens')], [2, 1]);
});
