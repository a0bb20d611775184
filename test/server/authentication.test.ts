import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { AllAuthenticators, apiAudiences, type CredentialKind } from '../support/all-authenticators.ts';
import { Command, getStatus } from '../support/command.ts';
import { nameOf, reviewToken, type Shown, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import type { TokenWebhook } from '../support/token-webhook.ts';

/** All authenticators at once (spec section 5.1): the first that succeeds decides, and one that fails blocks no other. */

const held = new AsyncDisposableStack();
let all: AllAuthenticators;
let server: OrchProcess;
let kinds: readonly CredentialKind[];
before(async () => {
  all = held.use(await AllAuthenticators.start());
  server = held.use(await OrchProcess.start({ flags: all.flags() }));
  kinds = await all.credentials(server);
  const { good } = find('an ID token');
  await until(async () => (await nameOf(server, good)) === 'oidc:olga', 'the provider is reached');
});
after(() => held.disposeAsync());

function find(kind: string): CredentialKind {
  const found = kinds.find((each) => each.kind === kind);
  assert.ok(found, kind);
  return found;
}

const withToken = (): readonly CredentialKind[] => kinds.filter(({ good }) => good.token !== undefined);
const withCertificate = (): readonly CredentialKind[] => kinds.filter(({ good }) => good.cert !== undefined);

/** Both at once. */
const together = (one: Shown, other: Shown): Shown => ({
  ...one,
  ...other,
  headers: { ...one.headers, ...other.headers },
});

describe('every kind of credential', () => {
  test('identifies its user, who is authenticated, beside all the others', async () => {
    for (const { kind, username, good } of kinds) {
      const user = await whoIs(server, good);
      assert.ok(typeof user === 'object', `${kind}: ${user}`);
      assert.deepEqual([kind, user.username], [kind, username]);
      assert.equal(user.groups.filter((group) => group === 'system:authenticated').length, 1, kind);
      assert.ok(!user.groups.includes('system:unauthenticated'), kind);
    }
    assert.equal(kinds.length, 7);
  });

  test('tells all that it knows', async () => {
    const seen = Object.fromEntries(
      await Promise.all(kinds.map(async ({ username, good }) => [username, await whoIs(server, good)])),
    );
    assert.deepEqual(seen.stan, { username: 'stan', uid: 's-1', groups: ['one', 'two', 'system:authenticated'] });
    assert.deepEqual(seen.paul, {
      username: 'paul',
      groups: ['proxied', 'more', 'system:authenticated'],
      extra: { scopes: ['x'] },
    });
    assert.deepEqual(seen.wanda, {
      username: 'wanda',
      uid: 'w-1',
      groups: ['hooked', 'system:authenticated'],
      extra: { Team: ['a', 'b'] },
    });
    assert.deepEqual(seen['oidc:olga'], { username: 'oidc:olga', groups: ['oidc:ids', 'system:authenticated'] });
    assert.deepEqual(seen['system:bootstrap:abcdef'], {
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:authenticated'],
    });
    assert.deepEqual(seen.carol.groups, ['certified', 'system:authenticated']);
    assert.match(seen.carol.extra['authentication.orch.io/credential-id'][0], /^X509SHA256=[0-9a-f]{64}$/);
  });

  test('that does not hold is nobody: 401, which names the scheme and gives no reason', async () => {
    const texts = new Set<string>();
    for (const { kind, bad } of kinds) {
      for (const shown of bad) {
        const { status, headers, text } = await send(server, 'GET', '/version', { shown });
        assert.deepEqual([kind, status, headers['www-authenticate']], [kind, 401, 'Bearer']);
        texts.add(text);
      }
    }
    assert.equal(texts.size, 1);
    assert.match([...texts].join(), /"reason":"Unauthorized","code":401/);
  });

  test('is reviewed, where it is a token', async () => {
    for (const { kind, username, good, bad } of withToken()) {
      const status = await reviewToken(server, good.token ?? '');
      assert.deepEqual([kind, status.authenticated, status.user.username], [kind, true, username]);
      assert.deepEqual([kind, status.audiences], [kind, apiAudiences]);
      for (const { token = '' } of bad) {
        const refused = await reviewToken(server, token);
        assert.deepEqual([kind, refused.authenticated, refused.user], [kind, undefined, {}]);
        assert.ok((refused.error ?? '').length > 0, kind);
      }
    }
  });
});

describe('several credentials in one request', () => {
  test('a certificate that does not hold gives way to a token that does', async () => {
    for (const { bad } of withCertificate()) {
      for (const one of bad) {
        for (const { username, good } of withToken()) {
          assert.equal(await nameOf(server, together(one, good)), username);
        }
      }
    }
  });

  test('a token that does not hold gives way to a certificate that does', async () => {
    for (const { bad } of withToken()) {
      for (const one of bad) {
        for (const { username, good } of withCertificate()) {
          assert.equal(await nameOf(server, together(one, good)), username);
        }
      }
    }
  });

  test('none of several that holds makes the sender nobody, not anonymous', async () => {
    const [certificate] = find('a client certificate').bad;
    const [token] = find('a static token').bad;
    assert.ok(certificate && token);
    assert.equal((await send(server, 'GET', '/version', { shown: together(certificate, token) })).status, 401);
  });

  test('of two that hold, the certificate decides', async () => {
    for (const { username, good } of withCertificate()) {
      assert.equal(await nameOf(server, together(good, find('a static token').good)), username);
    }
  });
});

describe('an authenticator that fails blocks no other', () => {
  /** Everybody whom neither of the two tells about. */
  const others = () => kinds.filter(({ kind }) => kind !== 'a token that a webhook knows' && kind !== 'an ID token');
  const everybodyElse = async (): Promise<void> => {
    for (const { username, good } of others()) assert.equal(await nameOf(server, good), username);
  };

  test('a webhook that answers nonsense, fails, or hangs', async () => {
    const { webhook } = all;
    const failures: readonly TokenWebhook['instead'][] = [
      (_request, response) => !!response.end('<html>'),
      (_request, response) => !!response.writeHead(503).end(),
      () => true,
    ];
    const hanging: Promise<unknown>[] = [];
    for (const [at, failure] of failures.entries()) {
      webhook.instead = failure;
      const asking = nameOf(server, { token: `nobody-${at}` });
      await everybodyElse();
      if (at + 1 < failures.length) assert.equal(await asking, 401);
      else hanging.push(asking);
    }
    webhook.instead = undefined;
    webhook.review = () => ({ authenticated: true, user: { username: 'late' } });
    assert.equal(await nameOf(server, { token: 'nobody-0' }), 'late', 'failures are not remembered');
    webhook.fixture.dropConnections();
    await Promise.all(hanging);
  });

  test('a provider that is gone', async () => {
    await all.provider.down();
    await everybodyElse();
    assert.equal(await nameOf(server, find('an ID token').good), 'oidc:olga', 'its keys are known');
    await all.provider.up();
  });

  test('nor the server itself', async () => {
    assert.equal((await server.get('/readyz')).status, 200);
    assert.equal(await nameOf(server, { ...server.credentials }), 'orch-admin');
  });
});

describe('without a credential (spec section 5.1)', () => {
  test('the sender is anonymous', async () => {
    assert.equal((await send(server, 'GET', '/version')).status, 200);
    const { status, text } = await send(server, 'GET', '/api/v1/namespaces');
    assert.equal(status, 403);
    assert.match(text, /User \\"system:anonymous\\"/);
  });

  test('with --anonymous-auth=false nobody: 401 everywhere', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anonymous-'));
    try {
      await using command = new Command('up', `--data-dir=${folder}`, '--secure-port=0', '--anonymous-auth=false');
      const [, url = ''] = await command.prints(/listens on (\S+)/);
      for (const path of ['/version', '/readyz', '/api', '/apis/authentication.orch.io/v1/selfsubjectreviews']) {
        assert.equal(await getStatus(`${url}${path}`, { rejectUnauthorized: false }), 401, path);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a bearer token', () => {
  const warning =
    /^299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"$/;

  test('behind one more space is not looked at: the client is warned, and is nobody else', async () => {
    const { good } = find('a static token');
    const headers = { authorization: `Bearer  ${good.token}` };
    const path = '/version';
    const alone = await server.get(path, { as: 'anonymous', headers });
    assert.equal(alone.status, 401, alone.text);
    assert.match(String(alone.headers['warning']), warning);
    const certified = await server.get(path, { headers });
    assert.equal(certified.status, 200, certified.text);
    assert.match(String(certified.headers['warning']), warning);
  });
});
