import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { until } from '../../base/waits-fixture.ts';
import { authenticators } from './authenticators-fixture.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { ecKey, loopbackCertificate, signToken, TestProvider } from './provider-fixture.ts';

const named = (username: string): Pick<JwtAuthenticator, 'identify'> => ({
  identify: () => ({ username, uid: '', groups: [], extra: {} }),
});

const reloads = ({ metrics }: ReturnType<typeof authenticators>, status: 'success' | 'failure') => {
  const labels = `status="${status}",apiserver_id_hash="sha256:${hash('sha256', 'me')}"`;
  const line = metrics
    .render()
    .split('\n')
    .find(
      (each) =>
        each.startsWith('apiserver_authentication_config_controller_automatic_reloads_total{') && each.includes(labels),
    );
  return Number(line?.split(' ').at(-1) ?? 0);
};

const reloadedAt = ({ metrics }: ReturnType<typeof authenticators>, status: 'success' | 'failure') =>
  Number(
    new RegExp(
      `^apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds\\{status="${status}",apiserver_id_hash="sha256:[0-9a-f]{64}"\\} (\\S+)$`,
      'm',
    ).exec(metrics.render())?.[1],
  );

/** One case per kind of configuration change, with different providers reachable afterwards. */
describe('a changed configuration', () => {
  /** An authority that issued none of the certificates in use. */
  const stranger = loopbackCertificate().cert;
  const other = { audiences: ['other'] };
  const meantFor = (audience: string) => ({ aud: audience });

  interface Parts {
    /** The provider that the change concerns; it was configured before, except in the case `added`. */
    readonly changed: TestProvider;
    /** Configured before and after, unchanged. */
    readonly staying: TestProvider;
  }
  interface Change {
    readonly what: string;
    readonly before: (parts: Parts) => readonly JwtAuthenticator[];
    readonly after: (parts: Parts) => readonly JwtAuthenticator[];
    /** Tokens of the changed provider, with the expected user, or the expected error, once it is reached. */
    readonly tokens: readonly {
      readonly claims: Readonly<Record<string, unknown>>;
      readonly reached: string | undefined | { readonly refused: string };
      /** The same while it is unreachable. */
      readonly away: string | undefined | { readonly refused: string };
    }[];
  }
  const changes: readonly Change[] = [
    {
      what: 'removed',
      before: ({ changed }) => [changed.settings()],
      after: () => [],
      tokens: [{ claims: {}, reached: undefined, away: undefined }],
    },
    {
      what: 'with another audience',
      before: ({ changed }) => [changed.settings()],
      after: ({ changed }) => [changed.settings({}, other)],
      tokens: [
        { claims: meantFor('orch'), reached: { refused: 'audience' }, away: { refused: 'audience' } },
        { claims: meantFor('other'), reached: 'jane', away: 'jane' },
      ],
    },
    {
      what: 'with one audience fewer',
      before: ({ changed }) => [changed.settings({}, { audiences: ['orch', 'other'] })],
      after: ({ changed }) => [changed.settings({}, other)],
      tokens: [
        { claims: meantFor('orch'), reached: { refused: 'audience' }, away: { refused: 'audience' } },
        { claims: meantFor('other'), reached: 'jane', away: 'jane' },
      ],
    },
    {
      what: 'with other rules',
      before: ({ changed }) => [changed.settings(named('old'))],
      after: ({ changed }) => [changed.settings(named('new'))],
      tokens: [{ claims: {}, reached: 'new', away: 'new' }],
    },
    {
      what: 'with one authority fewer',
      before: ({ changed }) => [
        changed.settings({}, { certificateAuthority: stranger + changed.certificateAuthority }),
      ],
      after: ({ changed }) => [changed.settings()],
      tokens: [{ claims: {}, reached: 'jane', away: { refused: 'notReady' } }],
    },
    {
      what: 'with one authority more',
      before: ({ changed }) => [changed.settings()],
      after: ({ changed }) => [changed.settings({}, { certificateAuthority: changed.certificateAuthority + stranger })],
      tokens: [{ claims: {}, reached: 'jane', away: 'jane' }],
    },
    {
      what: 'with an authority that does not vouch for it',
      before: ({ changed }) => [changed.settings()],
      after: ({ changed }) => [changed.settings({}, { certificateAuthority: stranger })],
      tokens: [{ claims: {}, reached: { refused: 'notReady' }, away: { refused: 'notReady' } }],
    },
    {
      what: 'described elsewhere',
      before: ({ changed }) => [changed.settings()],
      after: ({ changed }) => [changed.settings({}, { discoveryURL: `${changed.url}/elsewhere` })],
      tokens: [{ claims: {}, reached: 'jane', away: { refused: 'notReady' } }],
    },
    {
      what: 'added',
      before: () => [],
      after: ({ changed }) => [changed.settings()],
      tokens: [{ claims: {}, reached: 'jane', away: { refused: 'notReady' } }],
    },
  ];

  type System = ReturnType<typeof authenticators>;
  const expectToken = (system: System, token: string, expected: Change['tokens'][number]['reached']): Promise<void> =>
    typeof expected === 'object'
      ? system.refused(token, expected.refused)
      : system.who(token).then((found) => assert.equal(found, expected));

  for (const { what, before, after, tokens } of changes) {
    for (const reach of ['all are reached', 'another is away', 'it is away'] as const) {
      it(`a provider ${what}, where ${reach}`, async () => {
        await using changed = await TestProvider.start();
        await using staying = await TestProvider.start();
        await using another = await TestProvider.start();
        changed.answerInstead('/elsewhere', 200, { issuer: changed.url, jwks_uri: `${changed.url}/keys` });
        const parts = { changed, staying };
        using system = authenticators(...before(parts), staying.settings());
        await system.ready();
        const away = reach === 'it is away';
        if (away) await changed.down();
        if (reach === 'another is away') await another.down();
        // The unreachable provider comes first in the file.
        const settings = [...(reach === 'another is away' ? [another.settings()] : []), ...after(parts)];
        system.all.replace([...settings, staying.settings()]);
        // Removed settings are invalid from here on, before any provider is reached.
        assert.equal(await system.who(staying.token()), 'jane');
        // Tokens of a new provider do not wait for it, so the test does.
        const reachesNew = what === 'added' && !away;
        if (reachesNew) await until(() => !system.all.problems().some((each) => each.includes(changed.url)));
        for (const token of tokens) {
          await expectToken(system, changed.token(token.claims), away ? token.away : token.reached);
        }
        assert.equal(await system.who(staying.token()), 'jane');
        if (reach === 'another is away') {
          await system.refused(another.token(), 'notReady');
          assert.equal(reloads(system, 'success'), 0);
          await another.up();
        }
        if (away) await changed.up();
        await until(() => {
          // In small steps, so that pending fetches do not time out.
          system.clock.advance(100);
          return (
            what.includes('does not vouch') || (reloads(system, 'success') === 1 && system.all.problems().length === 0)
          );
        });
        for (const token of tokens) await expectToken(system, changed.token(token.claims), token.reached);
      });
    }
  }

  it('is reported as failed every minute until all providers are reached, then once as a success', async () => {
    await using provider = await TestProvider.start();
    await using added = await TestProvider.start();
    using system = authenticators(provider.settings(named('old')));
    await system.ready();
    assert.equal(reloads(system, 'success'), 0);
    await added.down();
    system.all.replace([added.settings(named('added'))]);
    system.clock.advance(limits.oidcReloadMsMax - 1);
    assert.equal(reloads(system, 'failure'), 0);
    system.clock.advance(1);
    assert.equal(reloads(system, 'failure'), 1);
    assert.equal(reloadedAt(system, 'failure'), system.clock.now() / 1000);
    system.clock.advance(limits.oidcReloadMsMax);
    assert.equal(reloads(system, 'failure'), 2);
    await added.up();
    await until(() => {
      system.clock.advance(10);
      return reloads(system, 'success') === 1;
    });
    assert.ok(reloadedAt(system, 'success') > reloadedAt(system, 'failure'));
    assert.equal(await system.who(added.token()), 'added');
    assert.equal(await system.who(provider.token()), undefined);
  });

  it('that is invalid changes nothing, and is reported', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings(named('old')));
    await system.ready();
    assert.throws(
      () => system.all.replace([provider.settings({}, { certificateAuthority: 'none' })]),
      /no certificates/,
    );
    assert.throws(() => system.all.replace([provider.settings(), provider.settings()]), /configured twice/);
    system.all.reloadFailed(new Error('jwt[0].issuer.url: Required value'));
    assert.deepEqual([reloads(system, 'failure'), reloads(system, 'success')], [1, 0]);
    assert.equal(await system.who(provider.token()), 'old');
    assert.deepEqual(system.all.problems(), []);
    // Only the next fetch is scheduled.
    assert.equal(system.clock.pending, 1);
  });

  it('is replaced by the next one, but not by an invalid one', async () => {
    await using provider = await TestProvider.start();
    await using slow = await TestProvider.start();
    using system = authenticators(provider.settings(named('one')));
    await system.ready();
    await slow.down();
    system.all.replace([slow.settings(named('two'))]);
    system.all.replace([provider.settings(named('three'))]);
    await until(() => reloads(system, 'success') === 1);
    assert.equal(await system.who(provider.token()), 'three');
    // The second set's fetches are cancelled; only the next one of the third is scheduled.
    assert.equal(system.clock.pending, 1);
    system.all.reloadFailed(new Error('bad'));
    assert.equal(await system.who(provider.token()), 'three');
    assert.deepEqual(system.all.problems(), []);
  });

  it('does not fetch keys again from an unchanged source', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings(named('one')));
    await system.ready();
    for (const name of ['two', 'three']) {
      system.all.replace([provider.settings(named(name))]);
      assert.equal(await system.who(provider.token()), name);
    }
    assert.equal(provider.keyRequests, 1);
  });

  it('may remove all providers and add them again', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators();
    assert.equal(await system.who(provider.token()), undefined);
    system.all.replace([provider.settings()]);
    await until(() => reloads(system, 'success') === 1);
    assert.equal(await system.who(provider.token()), 'jane');
    system.all.replace([]);
    assert.equal(await system.who(provider.token()), undefined);
    await until(() => reloads(system, 'success') === 2);
    assert.equal(system.clock.pending, 0);
  });

  for (const [what, next, expected] of [
    ['is authenticated by the new one', (provider: TestProvider) => [provider.settings(named('new'))], 'new'],
    ['is rejected if the provider was removed', () => [], undefined],
    [
      'is authenticated by the new one although its keys are fetched again',
      (provider: TestProvider) => [provider.settings(named('new'), { discoveryURL: `${provider.url}/elsewhere` })],
      'new',
    ],
  ] as const) {
    it(`what is under way ${what}`, async () => {
      await using provider = await TestProvider.start();
      using system = authenticators(provider.settings(named('old')));
      await system.ready();
      system.clock.advance(limits.oidcKeysFetchMsMin);
      // The old set waits for new keys, which arrive after the new set has replaced it.
      const rotated = ecKey('rotated');
      provider.keys = [...provider.keys, rotated];
      const held = Promise.withResolvers<void>();
      const document = JSON.stringify({ issuer: provider.url, jwks_uri: `${provider.url}/keys` });
      provider.instead.set('/.well-known/openid-configuration', (_request, response) => {
        void held.promise.then(() => response.end(document));
      });
      provider.answerInstead('/elsewhere', 200, document);
      const asked = provider.requests.length;
      const who = system.who(signToken(rotated, provider.claims()));
      await until(() => provider.requests.length > asked);
      system.all.replace(next(provider));
      held.resolve();
      assert.equal(await who, expected);
      await until(() => reloads(system, 'success') === 1);
      // The old set's timers are cancelled; only the next fetch of the new set is scheduled.
      assert.equal(system.clock.pending, expected === undefined ? 0 : 1);
    });
  }
});

describe('a server that stops', () => {
  it('aborts pending fetches and ignores further configurations', async () => {
    await using provider = await TestProvider.start();
    await using silent = await TestProvider.start();
    silent.instead.set('/.well-known/openid-configuration', () => {});
    const system = authenticators(provider.settings(), silent.settings());
    await until(() => silent.requests.length === 1 && system.all.problems().length === 1);
    silent.instead.set('/elsewhere', () => {});
    const elsewhere = silent.settings({}, { discoveryURL: `${silent.url}/elsewhere` });
    system.all.replace([provider.settings(), elsewhere]);
    await until(() => silent.requests.length === 2);
    system.clock.advance(limits.oidcKeysFetchMsMin);
    provider.instead.set('/.well-known/openid-configuration', () => {});
    const asked = provider.requests.length;
    const waiting = system.refused(signToken(ecKey('new'), provider.claims()), 'signature');
    await until(() => provider.requests.length > asked);
    system[Symbol.dispose]();
    await waiting;
    system.all.replace([provider.settings()]);
    system.all.close();
    assert.equal(system.clock.pending, 0);
  });
});
