import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { OpenIdProvider } from '../../src/authn/oidc/openid-provider-fixture.ts';
import { rsaKey } from '../../src/authn/oidc/provider-fixture.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** People who log in at an OpenID provider (spec section 5.5), seen from the API. The provider is the package oidc-provider. */

const people = [
  { sub: 'jane', groups: ['dev', 'ops'], email: 'jane@example.com', email_verified: true },
  { sub: 'joe', groups: ['dev'], email: 'joe@example.com', email_verified: false },
];

interface User {
  readonly username: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Whom the server takes the bearer of a token for; undefined where it does not let them in. */
async function whoIs(server: OrchProcess, token: string): Promise<User | undefined> {
  const review = { apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' };
  const answer = await server.post<{ readonly status: { readonly userInfo: User } }>(
    '/apis/authentication.orch.io/v1/selfsubjectreviews',
    review,
    { as: { token } },
  );
  if (answer.status === 401) return undefined;
  assert.equal(answer.status, 201, answer.text);
  return answer.json.status.userInfo;
}

const reviewOf = async (server: OrchProcess, token: string, audiences?: readonly string[]) => {
  const spec = { token, ...(audiences && { audiences }) };
  const review = { apiVersion: 'authentication.orch.io/v1', kind: 'TokenReview', spec };
  const answer = await server.post<{
    readonly status: { readonly authenticated?: boolean; readonly user?: User; readonly audiences?: readonly string[] };
  }>('/apis/authentication.orch.io/v1/tokenreviews', review);
  assert.equal(answer.status, 201, answer.text);
  return answer.json.status;
};

/** A provider, a folder for what is configured, and servers that go with them. */
async function setUp() {
  const provider = await OpenIdProvider.start(people, [rsaKey('first')]);
  const directory = mkdtempSync(join(tmpdir(), 'orch-oidc-'));
  const caFile = join(directory, 'ca.crt');
  writeFileSync(caFile, provider.certificateAuthority);
  return {
    provider,
    caFile,
    configFile: join(directory, 'authentication.yaml'),
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    },
  };
}

describe('a server with --oidc-* flags', () => {
  let parts: Awaited<ReturnType<typeof setUp>>;
  let server: OrchProcess;
  const held = new AsyncDisposableStack();
  let jane: string;
  before(async () => {
    parts = held.use(await setUp());
    const { provider, caFile } = parts;
    const flags = [
      `--oidc-issuer-url=${provider.url}`,
      `--oidc-client-id=${provider.clientId}`,
      '--oidc-username-claim=sub',
      '--oidc-username-prefix=oidc:',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=oidc:',
      '--oidc-required-claim=email=jane@example.com',
      `--oidc-ca-file=${caFile}`,
      '--oidc-signing-algs=RS256,ES256',
    ];
    await provider.down();
    server = held.use(await OrchProcess.start({ flags }));
  });
  after(() => held.disposeAsync());

  test('starts while the provider is down, and knows its tokens soon after it is there', async () => {
    await parts.provider.up();
    jane = await parts.provider.login('jane');
    await until(
      async () => (await whoIs(server, jane)) !== undefined,
      () => server.log,
    );
  });

  test('knows name and groups', async () => {
    const user = await whoIs(server, jane);
    assert.equal(user?.username, 'oidc:jane');
    assert.deepEqual([...user.groups].sort(), ['oidc:dev', 'oidc:ops', 'system:authenticated']);
  });

  test('does not let in whom a claim is missing, nor whom the token was changed for', async () => {
    assert.equal(await whoIs(server, await parts.provider.login('joe')), undefined);
    const [header, , signature] = jane.split('.');
    const claims = Buffer.from(jane.split('.')[1] ?? '', 'base64url')
      .toString()
      .replace('"jane"', '"root"');
    assert.equal(
      await whoIs(server, [header, Buffer.from(claims).toString('base64url'), signature].join('.')),
      undefined,
    );
  });

  test('reviews tokens: they are for the API server, and for nobody else', async () => {
    const { authenticated, user, audiences } = await reviewOf(server, jane);
    assert.deepEqual([authenticated, user?.username], [true, 'oidc:jane']);
    assert.ok((audiences ?? []).length > 0);
    assert.notEqual((await reviewOf(server, jane, ['someone-else'])).authenticated, true);
    assert.notEqual((await reviewOf(server, `${jane}x`)).authenticated, true);
  });

  test('follows the provider when it changes its keys, and stays when it is gone', async () => {
    parts.provider.rotate([rsaKey('second')]);
    const later = await parts.provider.login('jane');
    await until(
      async () => (await whoIs(server, later)) !== undefined,
      () => server.log,
    );
    await parts.provider.down();
    assert.equal((await whoIs(server, later))?.username, 'oidc:jane');
    assert.equal(await whoIs(server, jane), undefined);
  });

  test('writes no token to its log', () => {
    for (const part of jane.split('.')) assert.ok(!server.log.includes(part));
  });
});

describe('a server with --authentication-config', () => {
  let parts: Awaited<ReturnType<typeof setUp>>;
  let server: OrchProcess;
  const held = new AsyncDisposableStack();
  before(async () => {
    parts = held.use(await setUp());
    writeFileSync(parts.configFile, configuration('"first:" + claims.sub'));
    server = held.use(await OrchProcess.start({ flags: [`--authentication-config=${parts.configFile}`] }));
  });
  after(() => held.disposeAsync());

  const configuration = (username: string): string =>
    JSON.stringify({
      apiVersion: 'apiserver.config.orch.io/v1beta1',
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: {
            url: parts.provider.url,
            certificateAuthority: parts.provider.certificateAuthority,
            audiences: ['other', parts.provider.clientId],
            audienceMatchPolicy: 'MatchAny',
          },
          claimMappings: {
            username: { expression: username },
            groups: { expression: 'claims.groups' },
            extra: [{ key: 'example.com/address', valueExpression: 'claims.email' }],
          },
          claimValidationRules: [{ expression: 'claims.email_verified == true', message: 'verify your address' }],
          userValidationRules: [{ expression: '!user.username.startsWith("system:")' }],
        },
      ],
    });
  const becomes = (token: string, username: string) =>
    until(
      async () => (await whoIs(server, token))?.username === username,
      () => server.log,
    );
  const metric = async (name: string, status: string): Promise<number> => {
    const { text } = await server.get('/metrics');
    const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(`status="${status}"`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const controller = 'apiserver_authentication_config_controller_automatic_reload';

  test('maps claims by expressions', async () => {
    const jane = await parts.provider.login('jane');
    await becomes(jane, 'first:jane');
    const user = await whoIs(server, jane);
    assert.ok(user?.groups.includes('ops'));
    assert.deepEqual(user?.extra?.['example.com/address'], ['jane@example.com']);
    assert.equal(await whoIs(server, await parts.provider.login('joe')), undefined);
  });

  test('keeps the old one where the new file is bad, and takes a good one', async () => {
    const jane = await parts.provider.login('jane');
    const failuresBefore = await metric(`${controller}s_total`, 'failure');
    writeFileSync(parts.configFile, configuration('claims.sub +'));
    await until(
      async () => (await metric(`${controller}s_total`, 'failure')) > failuresBefore,
      () => server.log,
    );
    assert.ok(Math.abs((await metric(`${controller}_last_timestamp_seconds`, 'failure')) - Date.now() / 1000) < 60);
    await becomes(jane, 'first:jane');
    const successesBefore = await metric(`${controller}s_total`, 'success');
    writeFileSync(parts.configFile, configuration('"second:" + claims.sub'));
    await becomes(jane, 'second:jane');
    assert.equal(await metric(`${controller}s_total`, 'success'), successesBefore + 1);
    assert.ok(Math.abs((await metric(`${controller}_last_timestamp_seconds`, 'success')) - Date.now() / 1000) < 60);
  });

  test('ends a provider that is taken out of the file, though another in it is away', async () => {
    const jane = await parts.provider.login('jane');
    await becomes(jane, 'second:jane');
    const { jwt, ...document } = JSON.parse(configuration('"second:" + claims.sub'));
    const away = { ...jwt[0], issuer: { ...jwt[0].issuer, url: 'https://127.0.0.1:1' } };
    writeFileSync(parts.configFile, JSON.stringify({ ...document, jwt: [away] }));
    await until(
      async () => (await whoIs(server, jane)) === undefined,
      () => server.log,
    );
    writeFileSync(parts.configFile, JSON.stringify({ ...document, jwt: [away, jwt[0]] }));
    await becomes(jane, 'second:jane');
  });

  test('times the tokens of each issuer', async () => {
    const { text } = await server.get('/metrics');
    assert.match(
      text,
      /^apiserver_authentication_jwt_authenticator_latency_seconds_count\{result="success",jwt_issuer_hash="sha256:[0-9a-f]{64}"\} [1-9]/m,
    );
  });
});
