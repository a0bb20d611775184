import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { authenticators } from './authenticators-fixture.ts';
import type { JwtAuthenticator } from './jwt-authenticator.ts';
import { ecKey, signToken, TestProvider, until } from './provider-fixture.ts';

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
      `^apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds\\{status="${status}",apiserver_id_hash="sha256:[0-9a-f]{64}"\\} ([\\d.]+)$`,
      'm',
    ).exec(metrics.render())?.[1],
  );

describe('a changed configuration', () => {
  it('takes over from one token to the next when its providers have been reached', async () => {
    await using provider = await TestProvider.start();
    await using added = await TestProvider.start();
    using system = authenticators(provider.settings(named('old')));
    await system.ready();
    assert.equal(reloads(system, 'success'), 0);
    const token = provider.token();
    assert.equal(await system.who(token), 'old');
    await added.down();
    system.all.replace([provider.settings(named('new')), added.settings(named('added'))]);
    await until(() => system.warnings.length === 1 && system.all.problems().length === 1);
    assert.equal(await system.who(token), 'old');
    assert.equal(await system.who(added.token()), undefined);
    await added.up();
    system.clock.advance(limits.oidcRetryMs);
    await until(() => reloads(system, 'success') === 1);
    assert.equal(await system.who(token), 'new');
    assert.equal(await system.who(added.token()), 'added');
    assert.equal(reloads(system, 'failure'), 0);
    assert.equal(reloadedAt(system, 'success'), system.clock.now() / 1000);
  });

  it('counts as failed each minute that its providers are not reached, and is taken when they are', async () => {
    await using provider = await TestProvider.start();
    await using added = await TestProvider.start();
    using system = authenticators(provider.settings(named('old')));
    await system.ready();
    await added.down();
    system.all.replace([added.settings(named('added'))]);
    system.clock.advance(limits.oidcReloadMsMax - 1);
    assert.equal(reloads(system, 'failure'), 0);
    system.clock.advance(1);
    assert.equal(reloads(system, 'failure'), 1);
    assert.equal(reloadedAt(system, 'failure'), system.clock.now() / 1000);
    system.clock.advance(limits.oidcReloadMsMax);
    assert.equal(reloads(system, 'failure'), 2);
    assert.equal(await system.who(provider.token()), 'old');
    await added.up();
    await until(() => {
      // In small steps: fetches under way must not run out of time.
      system.clock.advance(10);
      return reloads(system, 'success') === 1;
    });
    assert.equal(await system.who(added.token()), 'added');
    assert.equal(await system.who(provider.token()), undefined);
  });

  it('that cannot be used changes nothing, and is reported', async () => {
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
  });

  it('that waits gives way to the next one, and to a bad one', async () => {
    await using provider = await TestProvider.start();
    await using slow = await TestProvider.start();
    using system = authenticators(provider.settings(named('one')));
    await system.ready();
    await slow.down();
    system.all.replace([slow.settings(named('two'))]);
    system.all.replace([provider.settings(named('three'))]);
    await until(() => reloads(system, 'success') === 1);
    assert.equal(await system.who(provider.token()), 'three');
    system.all.replace([slow.settings(named('four'))]);
    system.all.reloadFailed(new Error('bad'));
    await slow.up();
    assert.deepEqual(system.all.problems(), []);
    // Nothing waits but the next fetch of the provider in use.
    assert.equal(system.clock.pending, 1);
    assert.equal(await system.who(provider.token()), 'three');
    assert.deepEqual(slow.requests, []);
  });

  it('that waits goes on where its file cannot be read for a while', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings(named('old')));
    await system.ready();
    system.all.replace([provider.settings(named('new'))]);
    system.all.fileUnreadable(new Error('EACCES'));
    await until(() => reloads(system, 'success') === 1);
    assert.equal(reloads(system, 'failure'), 1);
    assert.equal(await system.who(provider.token()), 'new');
  });

  it('may leave no provider at all, and bring them back', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators();
    assert.equal(await system.who(provider.token()), undefined);
    system.all.replace([provider.settings()]);
    await until(() => reloads(system, 'success') === 1);
    assert.equal(await system.who(provider.token()), 'jane');
    system.all.replace([]);
    await until(() => reloads(system, 'success') === 2);
    assert.equal(await system.who(provider.token()), undefined);
    assert.equal(system.clock.pending, 0);
  });

  it('lets the one before it answer what it was asked', async () => {
    await using provider = await TestProvider.start();
    using system = authenticators(provider.settings(named('old')));
    await system.ready();
    system.clock.advance(limits.oidcKeysFetchMsMin);
    // The old one waits for new keys, which come after the new one has taken over.
    const rotated = ecKey('rotated');
    const held = Promise.withResolvers<void>();
    const all = [...provider.keys, rotated];
    let first = true;
    provider.keys = all;
    const answer = provider.instead;
    answer.set('/.well-known/openid-configuration', (_request, response) => {
      const document = JSON.stringify({ issuer: provider.url, jwks_uri: `${provider.url}/keys` });
      if (first) void held.promise.then(() => response.end(document));
      else response.end(document);
      first = false;
    });
    const asked = provider.requests.length;
    const who = system.who(signToken(rotated, provider.claims()));
    await until(() => provider.requests.length > asked);
    system.all.replace([provider.settings(named('new'))]);
    await until(() => reloads(system, 'success') === 1);
    assert.equal(await system.who(provider.token()), 'new');
    held.resolve();
    assert.equal(await who, 'old');
    // Its timers are gone with it: only the next fetch of the new one is left.
    await until(() => system.clock.pending === 1);
  });
});

describe('a server that stops', () => {
  it('ends what is under way, and takes nothing in any more', async () => {
    await using provider = await TestProvider.start();
    await using silent = await TestProvider.start();
    silent.instead.set('/.well-known/openid-configuration', () => {});
    const system = authenticators(provider.settings(), silent.settings());
    await until(() => silent.requests.length === 1 && system.all.problems().length === 1);
    system.all.replace([silent.settings()]);
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
