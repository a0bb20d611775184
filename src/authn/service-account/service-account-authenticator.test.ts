import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import type { TokenGrant } from '../../kinds/authentication/token-grant.ts';
import type { ObjectMeta } from '../../meta/api-object.ts';
import { LegacyTokenUse } from './legacy-token-use.ts';
import { findBound } from './revocation.ts';
import type { BoundClaims } from './token-claims.ts';
import {
  account,
  apiAudiences,
  atOnce,
  issuerName,
  keySet,
  makeSigningKey,
  signRaw,
  TokenFixture,
} from './token-fixture.ts';

const pod = { namespace: 'team', name: 'pod-1', uid: 'uid-pod' };
const secret = { namespace: 'team', name: 'secret-1', uid: 'uid-secret' };
const node = { name: 'node-1', uid: 'uid-node' };
const iso = (ms: number): string => new Date(ms).toISOString();

test('a token identifies its service account', async () => {
  const fixture = new TokenFixture();
  const { token, credentialId } = atOnce(
    fixture.issuer.issue({ account, audiences: apiAudiences, lifetimeSeconds: 3600 }),
  );
  assert.deepEqual(await fixture.authenticate(token), {
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
    'a pod on a missing node',
    { kind: 'pod', ...pod, node: { name: 'elsewhere' } },
    { 'pod-name': 'pod-1', 'pod-uid': 'uid-pod', 'node-name': 'elsewhere' },
  ],
  ['a node', { kind: 'node', ...node }, { 'node-name': 'node-1', 'node-uid': 'uid-node' }],
  ['a secret', { kind: 'secret', ...secret }, {}],
];

for (const [name, binding, extra] of bindings) {
  test(`what a token tells that is bound to ${name}`, async () => {
    const fixture = new TokenFixture();
    for (const [resource, metadata] of [
      ['pods', pod],
      ['secrets', secret],
      ['nodes', node],
    ] as const) {
      fixture.put(resource, metadata);
    }
    const identity = await fixture.authenticate(fixture.grant({ binding }));
    const { 'authentication.orch.io/credential-id': _, ...rest } = identity?.user.extra ?? {};
    assert.deepEqual(
      rest,
      Object.fromEntries(Object.entries(extra).map(([key, value]) => [`authentication.orch.io/${key}`, [value]])),
    );
  });
}

test('cached objects are checked synchronously', () => {
  const fixture = new TokenFixture();
  assert.ok(!(fixture.authenticator.authenticateToken(fixture.grant(), apiAudiences) instanceof Promise));
});

test('tokens of other issuers are ignored', async () => {
  const fixture = new TokenFixture();
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
    assert.equal(await fixture.authenticate(token), undefined);
  }
});

test('audiences: the intersection of requested and token audiences', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant({ audiences: ['vault', 'disk', 'api-two'] });
  const meant = async (asked: readonly string[]) => (await fixture.authenticate(token, asked))?.audiences;
  assert.deepEqual(await meant(apiAudiences), ['api-two']);
  assert.deepEqual(await meant(['disk', 'other', 'vault']), ['disk', 'vault']);
  await assert.rejects(
    meant(['other']),
    /^Error: token audiences \["vault" "disk" "api-two"\] is invalid for the target audiences \["other"\]$/,
  );
  await assert.rejects(meant([]), /for the target audiences \[\]$/);
});

test('a token without audiences is for the API server', async () => {
  const fixture = new TokenFixture();
  const token = fixture.legacy();
  assert.deepEqual((await fixture.authenticate(token, ['api-two', 'vault']))?.audiences, ['api-two']);
  await assert.rejects(fixture.authenticate(token, ['vault']), /for the target audiences \["vault"\]$/);
  const nameless = new TokenFixture({ apiAudiences: [], issuers: [] });
  const identity = await nameless.authenticate(nameless.legacy(), []);
  assert.equal(identity?.user.username, 'system:serviceaccount:team:alice');
  assert.equal(identity?.audiences, undefined);
});

test('every issuer is accepted, even one named like the legacy issuer', async () => {
  const fixture = new TokenFixture({ issuers: ['https://new.test', issuerName, 'orch/serviceaccount'] });
  assert.ok(await fixture.authenticate(fixture.grant()));
  assert.ok(await fixture.authenticate(fixture.legacy()));
  const claims = JSON.parse(Buffer.from(fixture.grant().split('.')[1] ?? '', 'base64url').toString());
  const renamed = signRaw(fixture.signingKey, { alg: 'ES256' }, { ...claims, iss: 'orch/serviceaccount' });
  assert.ok((await fixture.authenticate(renamed))?.user.extra['authentication.orch.io/credential-id']);
});

test('a token is valid from a minute before its period to a minute after', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant({ lifetimeSeconds: 600 });
  fixture.clock.advance(660_000);
  assert.ok(await fixture.authenticate(token));
  fixture.clock.advance(1);
  await assert.rejects(fixture.authenticate(token), /^Error: service account token has expired$/);
  const early = new TokenFixture({ signingKey: fixture.signingKey });
  early.clock.advance(-60_000);
  assert.ok(await early.authenticate(token));
  early.clock.advance(-1);
  await assert.rejects(early.authenticate(token), /service account token is not valid yet/);
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
    const fixture = new TokenFixture();
    fixture.put(resource, metadata);
    return { fixture, token: fixture.grant(binding ? { binding } : {}) };
  };

  test(`a token ends with its ${name}`, async () => {
    const { fixture, token } = setUp();
    assert.ok(await fixture.authenticate(token));
    fixture.cached.delete([...fixture.cached.keys()].find((key) => key.startsWith(`${resource} `)) ?? '');
    const gone = binding
      ? 'service account token has been invalidated'
      : `serviceaccounts "${metadata.name}" not found`;
    await assert.rejects(fixture.authenticate(token), { message: gone });
    fixture.put(resource, { ...metadata, uid: 'uid-of-another' });
    const match = binding ? `service account ${name} ref claim` : 'claim';
    const what = binding ? name : 'service account';
    const another = `${what} UID (uid-of-another) does not match ${match} (${metadata.uid})`;
    await assert.rejects(fixture.authenticate(token), { message: another });
    fixture.put(resource, metadata);
    assert.ok(await fixture.authenticate(token));
  });

  test(`a token ends a minute after the time at which its ${name} was to be gone`, async () => {
    const { fixture, token } = setUp();
    for (const [deletedAt, holds] of [
      [fixture.clock.now() + 30_000, true],
      [fixture.clock.now(), true],
      [fixture.clock.now() - 60_000, true],
      [fixture.clock.now() - 61_000, false],
    ] as const) {
      fixture.put(resource, { ...metadata, deletionTimestamp: iso(deletedAt) });
      if (holds) assert.ok(await fixture.authenticate(token));
      else await assert.rejects(fixture.authenticate(token), /(has been deleted|has been invalidated)$/);
    }
  });
}

test('the node of a pod is not looked up', async () => {
  const fixture = new TokenFixture();
  fixture.put('pods', pod);
  assert.ok(await fixture.authenticate(fixture.grant({ binding: { kind: 'pod', ...pod, node } })));
  assert.deepEqual(fixture.asked, ['cache serviceaccounts team/alice', 'cache pods team/pod-1']);
});

test('objects missing in the cache are read from the store', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant({ account: { ...account, uid: 'uid-new' } });
  fixture.stored.set('serviceaccounts team/alice', {
    ...fixture.put('serviceaccounts', account),
    metadata: { ...account, uid: 'uid-new' },
  });
  assert.ok(await fixture.authenticate(token));
  assert.ok(await fixture.authenticate(token));
  assert.deepEqual(
    fixture.asked.map((each) => each.split(' ')[0]),
    ['cache', 'store', 'cache', 'store'],
  );
});

test('a rejected token does not load the store, and is valid again as soon as the cache has its objects', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant();
  fixture.cached.clear();
  for (let time = 0; time < 3; time++) await assert.rejects(fixture.authenticate(token), /not found/);
  assert.equal(fixture.asked.filter((each) => each.startsWith('store')).length, 1);
  fixture.clock.advance(limits.refusedTokenMs);
  await assert.rejects(fixture.authenticate(token), /not found/);
  assert.equal(fixture.asked.filter((each) => each.startsWith('store')).length, 2);
  fixture.put('serviceaccounts', account);
  assert.ok(await fixture.authenticate(token));
});

test('a token is rejected if the store is unavailable', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant();
  fixture.cached.clear();
  fixture.stored.get = () => {
    throw new Error('no answer');
  };
  await assert.rejects(fixture.authenticate(token), /no answer/);
});

test('failing look-ups reject the token and leave no unhandled rejection', async () => {
  const rejecting = () => Promise.reject(new Error('no answer'));
  const throwing = () => {
    throw new Error('no answer');
  };
  const objects = { upToDate: () => undefined, account: rejecting, pod: throwing, secret: rejecting, node: throwing };
  const bound = { kind: 'bound', pod, secret, account } as unknown as BoundClaims;
  await assert.rejects(async () => findBound(bound, objects, 'cache'), /no answer/);
});

test('keys rotate: what the old key signed ends with it, also where it was known', async () => {
  const fixture = new TokenFixture();
  const [before, next] = [fixture.signingKey, makeSigningKey('ES384')];
  const old = fixture.grant();
  assert.ok(await fixture.authenticate(old));
  fixture.keys = keySet([before, next], next);
  fixture.signingKey = next;
  const fresh = fixture.grant();
  assert.ok(await fixture.authenticate(old));
  assert.ok(await fixture.authenticate(fresh));
  fixture.keys = keySet([next], next);
  await assert.rejects(fixture.authenticate(old), /^Error: it was signed with an unknown key$/);
  assert.ok(await fixture.authenticate(fresh));
  fixture.keys = keySet([before, next], next);
  assert.ok(await fixture.authenticate(old), 'what was refused is looked at again with new keys');
});

test('a token without a key id may be signed with any key', async () => {
  const keys = [makeSigningKey(), makeSigningKey('ES384'), makeSigningKey('RS256'), makeSigningKey()] as const;
  const fixture = new TokenFixture({ signingKey: keys[3], keys });
  const claims = JSON.parse(Buffer.from(fixture.grant().split('.')[1] ?? '', 'base64url').toString());
  for (const key of keys) assert.ok(await fixture.authenticate(signRaw(key, { alg: key.algorithm }, claims)));
  await assert.rejects(
    fixture.authenticate(signRaw(makeSigningKey(), { alg: 'ES256' }, claims)),
    /its signature does not hold/,
  );
});

test('cached results of invalid tokens expire', async () => {
  const fixture = new TokenFixture();
  const forged = `${fixture.grant().split('.').slice(0, 2).join('.')}.${Buffer.alloc(64, 1).toString('base64url')}`;
  const refused = () => assert.rejects(fixture.authenticate(forged), /its signature does not hold/);
  await refused();
  await refused();
  fixture.clock.advance(limits.forgedTokenMs);
  await refused();
  assert.deepEqual(fixture.asked, []);
});

test('a token of a Secret identifies its service account, without extra', async () => {
  const fixture = new TokenFixture();
  const identity = await fixture.authenticate(fixture.legacy());
  assert.equal(identity?.user.uid, 'uid-alice');
  assert.deepEqual(identity?.user.extra, {});
  assert.equal(fixture.count('legacy_tokens'), 1);
  assert.equal(fixture.count('legacy_manual_token_uses'), 1);
});

const legacyRevocations: Readonly<Record<string, (fixture: TokenFixture) => unknown>> = {
  'its Secret is gone': (fixture) => fixture.cached.delete('secrets team/legacy'),
  'its Secret is being deleted': (fixture) =>
    fixture.legacy({ metadata: { deletionTimestamp: iso(fixture.clock.now() + 60_000) } }),
  'its Secret holds another token': (fixture) =>
    fixture.put(
      'secrets',
      { namespace: 'team', name: 'legacy' },
      { data: { token: Buffer.from('other').toString('base64') } },
    ),
  'its Secret holds none': (fixture) => fixture.put('secrets', { namespace: 'team', name: 'legacy' }, { data: {} }),
  'its Secret has no data': (fixture) => fixture.put('secrets', { namespace: 'team', name: 'legacy' }),
  'its account is gone': (fixture) => fixture.cached.delete('serviceaccounts team/alice'),
  'its account is being deleted': (fixture) =>
    fixture.put('serviceaccounts', { ...account, deletionTimestamp: iso(fixture.clock.now() + 60_000) }),
  'its account is another one': (fixture) => fixture.put('serviceaccounts', { ...account, uid: 'uid-other' }),
  'its Secret is labelled as invalid': (fixture) => {
    const kept = fixture.cached.get('secrets team/legacy');
    if (kept) kept.metadata.labels = { 'orch.io/legacy-token-invalid-since': '2026-01-01' };
  },
};

for (const [name, revoke] of Object.entries(legacyRevocations)) {
  test(`a token of a Secret does not hold when ${name}`, async () => {
    const fixture = new TokenFixture();
    const token = fixture.legacy();
    assert.ok(await fixture.authenticate(token));
    revoke(fixture);
    const shown = name === 'its Secret is being deleted' ? tokenOf(fixture) : token;
    await assert.rejects(fixture.authenticate(shown), /secret|Token|account/);
  });
}

const tokenOf = (fixture: TokenFixture): string => {
  const data = fixture.cached.get('secrets team/legacy')?.['data'] as { readonly token: string };
  return Buffer.from(data.token, 'base64').toString();
};

test('without look-up a token of a Secret is valid as long as its key; bound tokens are still checked', async () => {
  const fixture = new TokenFixture({ lookup: false });
  const [legacy, bound] = [fixture.legacy(), fixture.grant()];
  fixture.cached.clear();
  assert.ok(await fixture.authenticate(legacy));
  await assert.rejects(fixture.authenticate(bound), /not found/);
});

test('the day of last use is recorded, once', async () => {
  const fixture = new TokenFixture();
  const token = fixture.legacy();
  await Promise.all([fixture.authenticate(token), fixture.authenticate(token)]);
  const mark = {
    namespace: 'team',
    name: 'legacy',
    uid: 'uid-legacy',
    label: 'orch.io/legacy-token-last-used',
    date: '2026-01-01',
  };
  assert.deepEqual(fixture.marks, [mark]);
  for (const [date, count] of [
    ['2026-01-01', 1],
    ['2026-01-02', 1],
    ['2025-12-31', 2],
  ] as const) {
    const kept = fixture.cached.get('secrets team/legacy');
    if (kept) kept.metadata.labels = { 'orch.io/legacy-token-last-used': date };
    await fixture.authenticate(token);
    assert.equal(fixture.marks.length, count, date);
  }
});

test('a failure to record the use does not affect the request', async () => {
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

test('a Secret listed in its service account counts as generated', async () => {
  const fixture = new TokenFixture();
  const token = fixture.legacy();
  fixture.put('serviceaccounts', account, { secrets: [{ name: 'other' }, { name: 'legacy' }] });
  await fixture.authenticate(token);
  assert.equal(fixture.count('legacy_auto_token_uses'), 1);
  assert.equal(fixture.count('legacy_manual_token_uses'), 0);
});

test('extended tokens are counted as valid or stale', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant({ lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 });
  await fixture.authenticate(token);
  fixture.clock.advance(3607_000);
  await fixture.authenticate(token);
  assert.deepEqual([fixture.count('valid_tokens'), fixture.count('stale_tokens')], [2, 0]);
  fixture.clock.advance(1);
  await fixture.authenticate(token);
  assert.deepEqual([fixture.count('valid_tokens'), fixture.count('stale_tokens')], [2, 1]);
  await fixture.authenticate(fixture.grant());
  assert.deepEqual([fixture.count('valid_tokens'), fixture.count('stale_tokens')], [2, 1]);
});

test('the audit log tells of stale tokens, and by how much', async () => {
  const fixture = new TokenFixture();
  const token = fixture.grant({ lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 });
  const annotations: (readonly [key: string, value: string])[] = [];
  const { signal } = new AbortController();
  const caller = { signal, annotate: (key: string, value: string) => annotations.push([key, value]) };
  await fixture.authenticator.authenticateToken(token, apiAudiences, caller);
  assert.deepEqual(annotations, []);
  fixture.clock.advance(3607_000 + 61_500);
  await fixture.authenticator.authenticateToken(token, apiAudiences, caller);
  const [key, value] = annotations[0] ?? [];
  assert.match(key ?? '', /^authentication\.(orch|k8s)\.io\/stale-token$/);
  assert.match(value ?? '', /^subject: system:serviceaccount:[^:]+:[^:]+, seconds after warning threshold: 61$/);
});
