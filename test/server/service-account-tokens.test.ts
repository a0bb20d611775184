import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { loopbackCertificate } from '../../src/authn/oidc/provider-fixture.ts';
import { makeSigningKey, signRaw } from '../../src/authn/service-account/token-fixture.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { forClients, makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { keyToPem } from '../../src/pki/keys.ts';
import { readSigningKey, type SigningKey } from '../../src/pki/token-keys.ts';
import { requestToken } from '../support/all-authenticators.ts';
import { Command } from '../support/command.ts';
import { nameOf, reviewToken, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Tokens of service accounts (spec sections 2.3, 5.3) from request to revocation, by every flag that they have. */

const [issuer, oldIssuer] = ['https://new.example.com', 'https://old.example.com'];
const audiences = ['api-one', 'api-two'];
const core = '/api/v1/namespaces/default';

const folder = mkdtempSync(join(tmpdir(), 'tokens-'));
/** Writes a file as deployment tools do, at once; its path. */
function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
  return path;
}
const pemOf = ({ privateKey }: SigningKey): string => keyToPem(privateKey);
const publicPem = ({ publicKey }: SigningKey): string => publicKey.export({ type: 'spki', format: 'pem' }).toString();

const signing = makeSigningKey('ES256');
const rsa = makeSigningKey('RS256');
const wide = makeSigningKey('ES384');
const stranger = makeSigningKey('ES256');
const certified = makeCertificate({ name: 'signer' });

const held = new AsyncDisposableStack();
let server: OrchProcess;
let other: OrchProcess;
before(async () => {
  [server, other] = await Promise.all([
    OrchProcess.start({
      flags: [
        `--service-account-issuer=${issuer}`,
        `--service-account-issuer=${oldIssuer}`,
        `--service-account-signing-key-file=${file('signing.key', pemOf(signing))}`,
        `--service-account-key-file=${file('two.pem', publicPem(rsa) + pemOf(wide))}`,
        `--service-account-key-file=${file('signer.crt', certified.cert)}`,
        `--api-audiences=${audiences}`,
        '--service-account-max-token-expiration=2h',
      ],
    }),
    OrchProcess.start({
      flags: [
        '--service-account-lookup=false',
        '--service-account-extend-token-expiration=false',
        '--service-account-jwks-uri=https://keys.example.com/jwks',
      ],
    }),
  ]);
  held.use(server);
  held.use(other);
  await make(server, 'serviceaccounts', 'robot');
});
after(async () => {
  await held.disposeAsync();
  rmSync(folder, { recursive: true });
});

interface Made {
  readonly metadata: { readonly name: string; readonly uid: string };
}

async function make(at: OrchProcess, resource: string, name: string, more: object = {}): Promise<Made> {
  const { status, text, json } = await at.post<Made>(`${core}/${resource}`, { metadata: { name }, ...more });
  assert.equal(status, 201, text);
  return json;
}

const remove = async (at: OrchProcess, resource: string, name: string): Promise<void> => {
  const { status, text } = await at.delete(`${core}/${resource}/${name}?gracePeriodSeconds=0`);
  assert.ok(status <= 202, text);
};

const pod = (name: string, more: object = {}): Promise<Made> =>
  make(server, 'pods', name, {
    ...more,
    spec: {
      serviceAccountName: 'robot',
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'example.com/c' }],
    },
  });

const now = (): number => Math.floor(Date.now() / 1000);

/** Claims of robot as the server itself writes them, good for an hour. */
async function claimsOfRobot(more: Readonly<Record<string, unknown>> = {}): Promise<Record<string, unknown>> {
  const { json } = await server.get<Made>(`${core}/serviceaccounts/robot`);
  const { name, uid } = json.metadata;
  return {
    iss: issuer,
    sub: 'system:serviceaccount:default:robot',
    aud: audiences,
    iat: now(),
    nbf: now(),
    exp: now() + 3600,
    'orch.io': { namespace: 'default', serviceaccount: { name, uid } },
    ...more,
  };
}

const robot = 'system:serviceaccount:default:robot';
const seen = (token: string, at = server) => nameOf(at, { token });

describe('a token that is asked for', () => {
  test('is signed in the name of the first issuer, and for the audiences of the API server', async () => {
    const token = await requestToken(server, 'robot');
    const { iss, aud, sub, iat = 0, exp = 0, nbf } = decodeJwt(token);
    assert.deepEqual([iss, aud, sub, exp - iat, nbf], [issuer, audiences, robot, 3600, iat]);
    assert.deepEqual(decodeProtectedHeader(token), { alg: 'ES256', kid: signing.id });
    const { jti } = decodeJwt(token);
    assert.deepEqual(await whoIs(server, { token }), {
      username: robot,
      uid: (await server.get<Made>(`${core}/serviceaccounts/robot`)).json.metadata.uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: { 'authentication.orch.io/credential-id': [`JTI=${jti}`] },
    });
  });

  test('for others is theirs: reviewed for them, nobody here', async () => {
    const token = await requestToken(server, 'robot', { audiences: ['vault', 'other'] });
    assert.equal(await seen(token), 401);
    assert.equal((await reviewToken(server, token)).authenticated, undefined);
    const { authenticated, audiences: found, user } = await reviewToken(server, token, ['x', 'other', 'vault']);
    assert.deepEqual([authenticated, found, user.username], [true, ['other', 'vault'], robot]);
  });

  test('lives no longer than --service-account-max-token-expiration, and the client is told', async () => {
    const path = `${core}/serviceaccounts/robot/token`;
    const { json, headers } = await server.post<{
      readonly spec: { readonly expirationSeconds: number };
      readonly status: { readonly token: string; readonly expirationTimestamp: string };
    }>(path, { spec: { expirationSeconds: 10_000 } });
    assert.equal(json.spec.expirationSeconds, 7200);
    assert.match(String(headers['warning']), /10000 seconds shortened to 7200 seconds/);
    const { exp = 0, iat = 0 } = decodeJwt(json.status.token);
    assert.deepEqual([exp - iat, Date.parse(json.status.expirationTimestamp)], [7200, exp * 1000]);
  });

  test('by a pod for itself is extended, unless --service-account-extend-token-expiration says otherwise', async () => {
    const { metadata } = await pod('injected');
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: metadata.name, uid: metadata.uid };
    const token = await requestToken(server, 'robot', { boundObjectRef, expirationSeconds: 3607 });
    const { exp = 0, iat = 0, 'orch.io': own } = decodeJwt<{ 'orch.io': { warnafter: number } }>(token);
    assert.deepEqual([exp - iat, own.warnafter - iat], [365 * 86_400, 3607]);
    assert.equal(await seen(token), robot);
    const { text } = await server.get('/metrics');
    assert.match(text, /^serviceaccount_valid_tokens_total 1$/m);
    await make(other, 'serviceaccounts', 'robot');
    await make(other, 'pods', 'injected', {
      spec: { serviceAccountName: 'robot', containers: [{ name: 'c', image: 'example.com/c' }] },
    });
    const short = decodeJwt(
      await requestToken(other, 'robot', {
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'injected' },
        expirationSeconds: 3607,
      }),
    );
    assert.equal((short.exp ?? 0) - (short.iat ?? 0), 3607);
  });
});

describe('a token is known', () => {
  test('by every key of every file, whoever signed it: public, private, or that of a certificate', async () => {
    const claims = await claimsOfRobot();
    const ofCertificate: SigningKey = { ...signing, privateKey: certified.privateKey };
    for (const [what, token] of [
      ['public RSA', signRaw(rsa, { alg: 'RS256' }, claims)],
      ['private ES384', signRaw(wide, { alg: 'ES384' }, claims)],
      ['certificate', signRaw(ofCertificate, { alg: 'ES256' }, claims)],
      ['by its id', signRaw(rsa, { alg: 'RS256', kid: rsa.id }, claims)],
    ] as const) {
      assert.deepEqual([what, await seen(token)], [what, robot]);
    }
  });

  test('of every issuer', async () => {
    assert.equal(await seen(signRaw(rsa, { alg: 'RS256' }, await claimsOfRobot({ iss: oldIssuer }))), robot);
  });

  test('while clocks are a little apart', async () => {
    for (const [what, more, expected] of [
      ['signed ahead', { iat: now() + 30, nbf: now() + 30 }, robot],
      ['ended just now', { exp: now() - 30 }, robot],
      ['signed far ahead', { iat: now() + 90, nbf: now() + 90 }, 401],
      ['ended before', { exp: now() - 90 }, 401],
    ] as const) {
      const token = signRaw(rsa, { alg: 'RS256' }, await claimsOfRobot(more));
      assert.deepEqual([what, await seen(token)], [what, expected]);
    }
  });

  test('and no other: 401', async () => {
    const claims = await claimsOfRobot();
    const ours = { namespace: 'default', serviceaccount: { name: 'robot', uid: 'another' } };
    const hmac = (): string => {
      const [header, body] = signRaw(rsa, { alg: 'RS256' }, claims).split('.');
      return `${header}.${body}.${Buffer.from('x').toString('base64url')}`;
    };
    for (const [what, token] of [
      ['of a strange key', signRaw(stranger, { alg: 'ES256' }, claims)],
      ['of a strange key with the id of a known one', signRaw(stranger, { alg: 'ES256', kid: signing.id }, claims)],
      ['of a known key under a strange id', signRaw(rsa, { alg: 'RS256', kid: 'nobody' }, claims)],
      ['of another issuer', signRaw(rsa, { alg: 'RS256' }, { ...claims, iss: 'https://else.example.com' })],
      ['of another account', signRaw(rsa, { alg: 'RS256' }, { ...claims, 'orch.io': ours })],
      ['of two accounts', signRaw(rsa, { alg: 'RS256' }, { ...claims, sub: 'system:serviceaccount:default:root' })],
      ['without an end', signRaw(rsa, { alg: 'RS256' }, { ...claims, exp: undefined })],
      ['with an end that is no number', signRaw(rsa, { alg: 'RS256' }, { ...claims, exp: 'never' })],
      ['that brings its own key', signRaw(stranger, { alg: 'ES256', jwk: stranger.jwk }, claims)],
      ['with critical fields', signRaw(rsa, { alg: 'RS256', crit: ['b64'], b64: false }, claims)],
      ['of another signature', hmac()],
      ['of the key of PS256 for RS256', signRaw(rsa, { alg: 'PS256' }, claims)],
      ['of a path for a name', signRaw(rsa, { alg: 'RS256' }, pathNamed(claims))],
    ] as const) {
      assert.deepEqual([what, await seen(token)], [what, 401]);
    }
  });

  const pathNamed = (claims: Readonly<Record<string, unknown>>) => ({
    ...claims,
    sub: 'system:serviceaccount:default:../x/robot',
    'orch.io': { namespace: 'default', serviceaccount: { name: '../x/robot', uid: 'u' } },
  });
});

describe('a token ends with what it stands on', () => {
  const bound = (kind: string, { metadata }: Made) => ({
    boundObjectRef: { apiVersion: 'v1', kind, name: metadata.name, uid: metadata.uid },
  });
  const rows: readonly (readonly [what: string, resource: string, kind: string])[] = [
    ['its pod', 'pods', 'Pod'],
    ['its secret', 'secrets', 'Secret'],
  ];
  for (const [what, resource, kind] of rows) {
    test(`${what}, at once, also when there is another of that name`, async () => {
      const name = `bound-${resource}`;
      const again = () => (kind === 'Pod' ? pod(name) : make(server, resource, name));
      const token = await requestToken(server, 'robot', bound(kind, await again()));
      assert.equal(await seen(token), robot);
      await remove(server, resource, name);
      assert.equal(await seen(token), 401);
      await again();
      assert.equal(await seen(token), 401);
      assert.equal((await reviewToken(server, token)).authenticated, undefined);
    });
  }

  test('its node', async () => {
    const { json } = await server.post<Made>('/api/v1/nodes', { metadata: { name: 'node-1' } });
    const token = await requestToken(server, 'robot', bound('Node', json));
    const user = await whoIs(server, { token });
    assert.ok(typeof user === 'object');
    assert.deepEqual(user.extra?.['authentication.orch.io/node-name'], ['node-1']);
    await server.delete('/api/v1/nodes/node-1');
    assert.equal(await seen(token), 401);
  });

  test('its account, at once, also when there is another of that name', async () => {
    await make(server, 'serviceaccounts', 'brief');
    const token = await requestToken(server, 'brief');
    assert.equal(await seen(token), 'system:serviceaccount:default:brief');
    await remove(server, 'serviceaccounts', 'brief');
    assert.equal(await seen(token), 401);
    await make(server, 'serviceaccounts', 'brief');
    assert.equal(await seen(token), 401);
    assert.equal(await seen(await requestToken(server, 'brief')), 'system:serviceaccount:default:brief');
  });

  test('not yet while its pod is being deleted: it may have to say goodbye', async () => {
    const made = await pod('leaving', { metadata: { name: 'leaving', finalizers: ['example.com/wait'] } });
    const token = await requestToken(server, 'robot', bound('Pod', made));
    await remove(server, 'pods', 'leaving');
    const { json } = await server.get<{ metadata: { deletionTimestamp?: string } }>(`${core}/pods/leaving`);
    assert.ok(json.metadata.deletionTimestamp !== undefined);
    assert.equal(await seen(token), robot);
    const headers = { 'content-type': 'application/merge-patch+json' };
    await server.request('PATCH', `${core}/pods/leaving`, { body: { metadata: { finalizers: null } }, headers });
    assert.equal(await seen(token), 401);
  });
});

describe('keys are rotated without a restart', () => {
  test('a new one signs as soon as it is there; the old one is known as long as its file says so', async () => {
    const before = await requestToken(server, 'robot');
    const next = makeSigningKey('RS256');
    file('two.pem', publicPem(rsa) + publicPem(signing));
    file('signing.key', pemOf(next));
    const kidOfNew = async () => decodeProtectedHeader(await requestToken(server, 'robot')).kid;
    await until(async () => (await kidOfNew()) === next.id, 'the new key signs');
    const wideToken = signRaw(wide, { alg: 'ES384' }, await claimsOfRobot());
    await until(async () => (await seen(wideToken)) === 401, 'a key that was taken away is unknown');
    assert.equal(await seen(before), robot);
    assert.equal(await seen(await requestToken(server, 'robot')), robot);
    file('two.pem', publicPem(rsa));
    await until(async () => (await seen(before)) === 401, 'the old key is unknown');
  });

  test('a damaged file changes nothing, and is told', async () => {
    const token = await requestToken(server, 'robot');
    file('signing.key', 'nothing');
    await until(() => /keys of tokens stay as they are/.test(server.log), 'it is logged');
    assert.equal(await seen(token), robot);
    assert.equal(await seen(await requestToken(server, 'robot')), robot);
  });
});

describe('others can verify tokens', () => {
  const configuration = '/.well-known/openid-configuration';
  const keySet = '/openid/v1/jwks';
  type Keys = Parameters<typeof createLocalJWKSet>[0];

  test('with what the server publishes, to service accounts', async () => {
    const token = await requestToken(server, 'robot', { audiences: ['vault'] });
    const shown = { token: await requestToken(server, 'robot') };
    const found = await send(server, 'GET', configuration, { shown });
    assert.deepEqual([found.status, found.headers['content-type']], [200, 'application/json'], found.text);
    const document = JSON.parse(found.text);
    assert.deepEqual([document.issuer, new URL(document.jwks_uri).pathname], [issuer, keySet]);
    const keys = await send(server, 'GET', keySet, { shown });
    assert.deepEqual([keys.status, keys.headers['content-type']], [200, 'application/jwk-set+json']);
    assert.doesNotMatch(keys.text, /"(d|p|q|dp|dq|qi)":/, 'no private part');
    const verified = await jwtVerify(token, createLocalJWKSet(JSON.parse(keys.text) as Keys), {
      issuer,
      audience: 'vault',
    });
    assert.equal(verified.payload.sub, robot);
  });

  test('at the place of --service-account-jwks-uri', async () => {
    const { json } = await other.get<{ jwks_uri: string }>(configuration);
    assert.equal(json.jwks_uri, 'https://keys.example.com/jwks');
  });

  test('but strangers are not told', async () => {
    for (const path of [configuration, keySet]) assert.equal((await send(server, 'GET', path)).status, 403);
  });
});

describe('tokens that are kept in Secrets', () => {
  async function keptToken(at: OrchProcess, name: string, account: string): Promise<string> {
    await make(at, 'secrets', name, {
      metadata: { name, annotations: { 'orch.io/service-account.name': account } },
      type: 'orch.io/service-account-token',
    });
    const data = async () => (await at.get<{ data?: { token?: string } }>(`${core}/secrets/${name}`)).json.data;
    await until(async () => (await data())?.token !== undefined, 'the secret is filled');
    return Buffer.from((await data())?.token ?? '', 'base64').toString();
  }

  test('end with the Secret, and are noted', async () => {
    const token = await keptToken(server, 'kept', 'robot');
    assert.equal(await seen(token), robot);
    const labels = async () =>
      (await server.get<{ metadata: { labels?: Record<string, string> } }>(`${core}/secrets/kept`)).json.metadata
        .labels;
    const today = new Date().toISOString().slice(0, 10);
    await until(async () => (await labels())?.['orch.io/legacy-token-last-used'] === today, 'the use is noted');
    await remove(server, 'secrets', 'kept');
    assert.equal(await seen(token), 401);
  });

  test('end with a label that says so', async () => {
    const token = await keptToken(server, 'marked', 'robot');
    assert.equal(await seen(token), robot);
    const body = { metadata: { labels: { 'orch.io/legacy-token-invalid-since': '2026-01-01' } } };
    const headers = { 'content-type': 'application/merge-patch+json' };
    await server.request('PATCH', `${core}/secrets/marked`, { body, headers });
    assert.equal(await seen(token), 401);
  });

  test('go on without it where --service-account-lookup=false', async () => {
    await make(other, 'serviceaccounts', 'keeper');
    const token = await keptToken(other, 'kept', 'keeper');
    await remove(other, 'secrets', 'kept');
    assert.equal(await seen(token, other), 'system:serviceaccount:default:keeper');
    const asked = await requestToken(other, 'keeper');
    await remove(other, 'serviceaccounts', 'keeper');
    assert.equal(await seen(asked, other), 401, 'those that were asked for end all the same');
  });
});

describe('without --service-account-key-file the key of --tls-private-key-file verifies', () => {
  const serving = loopbackCertificate();
  const key = (): SigningKey => readSigningKey(Buffer.from(serving.key), 'tls.key');
  const flags = (): string[] => [
    `--tls-cert-file=${file('tls.crt', serving.cert)}`,
    `--tls-private-key-file=${file('tls.key', serving.key)}`,
  ];

  test('beside the one that signs', async () => {
    await using up = await OrchProcess.start({
      flags: [
        ...flags(),
        `--service-account-issuer=${issuer}`,
        `--service-account-signing-key-file=${file('other.key', pemOf(signing))}`,
      ],
    });
    const { metadata } = await make(up, 'serviceaccounts', 'robot');
    const own = { namespace: 'default', serviceaccount: { name: 'robot', uid: metadata.uid } };
    const claims = { iss: issuer, sub: robot, aud: issuer, exp: now() + 60, 'orch.io': own };
    assert.equal(await seen(signRaw(key(), { alg: 'ES256' }, claims), up), robot);
    assert.equal(await seen(signRaw(stranger, { alg: 'ES256' }, claims), up), 401);
    assert.equal(await seen(await requestToken(up, 'robot'), up), robot);
  });

  test('tokens of Secrets, where none signs; then there is no TokenRequest', async () => {
    const admins = makeCertificate({ name: 'admins', authority: true });
    const admin = makeCertificate({
      name: 'admin',
      organizations: ['system:masters'],
      uses: [forClients],
      issuer: admins,
    });
    await using command = new Command(
      'apiserver',
      `--data-dir=${join(folder, 'apiserver')}`,
      '--secure-port=0',
      `--client-ca-file=${file('admins.pem', admins.cert)}`,
      ...flags(),
    );
    const [, port] = await command.prints(/"url":"https:\/\/127\.0\.0\.1:(\d+)"/);
    const place = { port: Number(port), credentials: { ca: serving.cert } };
    const shown = { cert: admin.cert, key: admin.key };
    const post = async (resource: string, body: unknown) => {
      const answer = await send(place, 'POST', `${core}/${resource}`, { shown, body });
      return { status: answer.status, json: JSON.parse(answer.text) as Made };
    };
    const { json: account } = await post('serviceaccounts', { metadata: { name: 'robot' } });
    const claim = (name: string): string => `orch.io/serviceaccount/${name}`;
    const token = signRaw(
      key(),
      { alg: 'ES256' },
      {
        iss: 'orch/serviceaccount',
        sub: robot,
        [claim('namespace')]: 'default',
        [claim('secret.name')]: 'kept',
        [claim('service-account.name')]: 'robot',
        [claim('service-account.uid')]: account.metadata.uid,
      },
    );
    const annotations = { 'orch.io/service-account.name': 'robot' };
    const kept = await post('secrets', {
      metadata: { name: 'kept', annotations },
      type: 'orch.io/service-account-token',
      stringData: { token },
    });
    assert.equal(kept.status, 201);
    assert.equal(await nameOf(place, { token }), robot);
    assert.equal(await nameOf(place, { token: token.slice(0, -4) }), 401);
    assert.equal((await post('serviceaccounts/robot/token', { spec: {} })).status, 404);
  });
});
