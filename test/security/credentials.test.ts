import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { AllAuthenticators, type CredentialKind } from '../support/all-authenticators.ts';
import { nameOf, reviewToken, send } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Status, openHttp2, requestText, sendRaw, withoutCertificate } from '../support/raw-client.ts';

/** With every authenticator, at the highest verbosity: what credentials leave behind (CVE-2019-11250, CVE-2020-8565). */

/** However a secret, or enough of one, might be written down. */
function spellings(secret: string): readonly string[] {
  const half = Math.floor(secret.length / 2);
  const forms = [secret, secret.slice(0, half), secret.slice(half)].flatMap((text) => [
    text,
    text.toUpperCase(),
    Buffer.from(text).toString('base64').replace(/=+$/, ''),
    Buffer.from(text).toString('base64url'),
    Buffer.from(text).toString('hex'),
    encodeURIComponent(text).replaceAll('-', '%2D'),
  ]);
  // What stands in the middle of a longer text begins anywhere in its base64.
  const shifted = ['x', 'xx'].map((before) =>
    Buffer.from(before + secret)
      .toString('base64')
      .slice(4, -4),
  );
  return [...forms, ...shifted];
}

/** What of a token must be kept: of one in parts all but those that anybody may know. */
function secretsOf(token: string): readonly string[] {
  const parts = token.split('.');
  // The header of a JWT, and the id of a bootstrap token, are no secrets; claims and signatures are.
  return [token, ...parts.slice(1)].filter((text) => text.length >= 12);
}

for (const format of ['text', 'json'] as const) {
  describe(`with a log in ${format}`, () => {
    const held = new AsyncDisposableStack();
    let all: AllAuthenticators;
    let server: OrchProcess;
    let kinds: readonly CredentialKind[];
    before(async () => {
      all = held.use(await AllAuthenticators.start());
      server = held.use(await OrchProcess.start({ flags: [...all.flags(), '--v=10', `--logging-format=${format}`] }));
      kinds = await all.credentials(server);
    });
    after(() => held.disposeAsync());

    const tokens = (): readonly string[] =>
      kinds.flatMap(({ good, bad }) => [good, ...bad].flatMap(({ token }) => (token === undefined ? [] : [token])));

    async function assertSilent(): Promise<void> {
      const { text: metrics } = await server.get('/metrics');
      const left = server.log + metrics;
      for (const secret of new Set(tokens().flatMap(secretsOf))) {
        for (const spelling of spellings(secret)) {
          assert.ok(!left.includes(spelling), `${spelling} was written down`);
        }
      }
    }

    describe('no token is written down', () => {
      test('whether it holds or not', async () => {
        for (const { username, good, bad } of kinds) {
          await until(async () => (await nameOf(server, good)) === username, `${username} is known`);
          for (const shown of bad) assert.equal(await nameOf(server, shown), 401);
        }
        await assertSilent();
      });

      test('though the log says why one does not hold', () => {
        for (const reason of [
          /its signature does not hold/,
          /the algorithm of its signature is not one that is accepted/,
          /there is no bootstrap token abcdef with that secret/,
          /openid connect: the token is not signed with a key of its issuer/,
          /unknown token/,
          /the proxy \\?"other\\?" is not one of those that are believed/,
        ]) {
          assert.match(server.log, reason);
        }
      });

      test('in a review', async () => {
        for (const token of tokens()) {
          await reviewToken(server, token);
          await reviewToken(server, token, ['someone-else']);
        }
        const path = '/apis/authentication.orch.io/v1/tokenreviews';
        for (const token of tokens()) {
          for (const body of [
            { spec: { token: [token] } },
            { spec: { [token]: token } },
            { kind: token },
            [token],
            token,
          ]) {
            await server.post(`${path}?fieldValidation=Strict`, body);
            await server.post(path, { spec: body, status: { user: body } });
          }
          await server.post(path, `{"spec":{"token":"${token}"`);
          await server.post(path, `spec: {token: ${token}`, { headers: { 'content-type': 'application/yaml' } });
        }
        await assertSilent();
      });

      test('in a header that is not well made', async () => {
        for (const token of tokens()) {
          const lines = [
            `authorization: Bearer ${token},Bearer ${token}`,
            `authorization: Bearer  ${token}`,
            `authorization: bearer\t${token}`,
            `authorization: Basic ${Buffer.from(`a:${token}`).toString('base64')}`,
            `authorization: ${token}`,
            `authorization: Bearer ${token}\r\nauthorization: Bearer ${token}`,
            `impersonate-user: ${token}`,
            `x-remote-user: ${token}`,
            `connection: ${token}`,
            `${token}: ${token}`,
            `authorization: Bearer ${token}\0`,
            `authorization: Bearer ${token}\xff`,
          ];
          for (const line of lines) await sendRaw(server, requestText('GET', '/version', line), withoutCertificate);
        }
        await assertSilent();
      });

      test('in a path or query, also of who is refused', async () => {
        for (const token of tokens()) {
          for (const target of [`/version?access_token=${token}`, `/api/v1/namespaces?token=${token}`]) {
            for (const shown of [{}, { token }, { token: 'x' }, server.credentials]) {
              await send(server, 'GET', target, { shown });
            }
          }
        }
        await assertSilent();
      });

      test('over HTTP/2', async () => {
        const session = await openHttp2(server, withoutCertificate);
        for (const token of tokens()) {
          await http2Status(session, { ':path': '/version', authorization: `Bearer ${token}` });
          await http2Status(session, { ':path': `/${token}`, authorization: `Bearer ${token}x` });
          await http2Status(session, { ':path': '/version', authorization: token, connection: 'x' }).catch(() => 0);
        }
        session.destroy();
        await assertSilent();
      });

      test('when the webhook repeats it, fails, or is gone', async () => {
        const { webhook } = all;
        for (const [at, token] of tokens().entries()) {
          webhook.review = () => ({ error: `${token} is wrong, since ${token.split('.').join(' and ')}` });
          await nameOf(server, { token: `${token}${at}` });
          await nameOf(server, { token });
          webhook.instead = (_request, response) => !!response.writeHead(400).end(token);
          await nameOf(server, { token: `${token}-${at}` });
          webhook.instead = (_request, response) => !!response.end(`{"status":"${token}"}`);
          await nameOf(server, { token: `${token}--${at}` });
          webhook.instead = undefined;
        }
        webhook.review = () => ({});
        await assertSilent();
      });

      test('when a provider repeats it', async () => {
        const token = all.provider.token({ sub: 'late' }, { kid: 'unknown' });
        all.provider.answerInstead('/keys', 200, `{"keys":"${token}"}`);
        assert.equal(await nameOf(server, { token: token.replace(/.{8}$/, 'AAAAAAAA') }), 401);
        await assertSilent();
        const { text } = await server.get('/metrics');
        for (const part of token.split('.')) assert.ok(!(server.log + text).includes(part));
      });

      test('and at the end of the server', async () => {
        assert.equal(await server.stop(), 0);
        for (const token of tokens()) for (const secret of secretsOf(token)) assert.ok(!server.log.includes(secret));
        assert.doesNotMatch(server.log, /-----BEGIN [A-Z ]*PRIVATE KEY/);
      });
    });
  });
}
