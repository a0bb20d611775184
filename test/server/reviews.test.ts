import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { decodeMessage } from '../../src/codec/protobuf/decode.ts';
import { encodeEnvelope, openEnvelope } from '../../src/codec/protobuf/envelope.ts';
import { orch } from '../../src/dialect/orch.ts';
import { tokenRequestSchema } from '../../src/kinds/authentication/token-request.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import type { StructSchema } from '../../src/schema/schema.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Kinds that are answered and never stored, over HTTP, in every format. */

const tokens = new URL('../support/tokens.csv', import.meta.url).pathname;
const token = 'secret-of-jane';

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: [`--token-auth-file=${tokens}`] });
});
after(() => server[Symbol.asyncDispose]());

const authentication = '/apis/authentication.orch.io/v1';
const authorization = '/apis/authorization.orch.io/v1';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const protobuf = 'application/vnd.orch.protobuf';
const attributes = { verb: 'list', resource: 'configmaps', namespace: 'default' };

const jane = {
  username: 'jane',
  uid: 'jane-id',
  groups: ['readers', 'testers', 'system:authenticated'],
};

interface Review {
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

const schemaOf = (name: string): StructSchema => {
  const found = kinds(orch).find(({ kind }) => kind === name);
  assert.ok(found);
  return found.schema;
};

/** Sends and takes protobuf. */
async function inProtobuf(path: string, schema: StructSchema, object: { apiVersion: string; kind: string }) {
  const headers = { accept: protobuf, 'content-type': protobuf };
  const answer = await server.post(path, encodeEnvelope(schema, { ...object }), { headers });
  assert.equal(answer.headers['content-type'], protobuf);
  const { kind, apiVersion, raw } = openEnvelope(answer.bytes);
  assert.equal(answer.status, 201, answer.text);
  const value = decodeMessage(schema, raw);
  assert.deepEqual([kind, apiVersion], [object.kind, object.apiVersion]);
  return value as unknown as Review;
}

describe('who somebody is', () => {
  test('SelfSubjectReview: the caller', async () => {
    const { status, json } = await server.post<Review>(`${authentication}/selfsubjectreviews`, {}, { as: { token } });
    assert.equal(status, 201);
    assert.deepEqual(json.status, { userInfo: jane });
  });

  test('TokenReview: whoever has the token', async () => {
    const path = `${authentication}/tokenreviews`;
    const { json } = await server.post<Review>(path, { spec: { token } });
    const { audiences: _, ...status } = json.status;
    assert.deepEqual(status, { authenticated: true, user: jane });
    const { json: unknown } = await server.post<Review>(path, { spec: { token: 'x' } });
    assert.equal(unknown.status['authenticated'], undefined);
    assert.equal(typeof unknown.status['error'], 'string');
    const refused = await server.post(path, { spec: { token } }, { as: { token } });
    assert.equal(refused.status, 403);
    assert.equal(server.log.includes(token), false);
  });

  test('in protobuf, with lists in maps', async () => {
    const schema = schemaOf('SelfSubjectReview');
    const object = { apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' };
    const { status } = await inProtobuf(`${authentication}/selfsubjectreviews`, schema, object);
    const { extra, username } = status['userInfo'] as { username: string; extra: Record<string, readonly string[]> };
    assert.equal(username, 'orch-admin');
    assert.match(extra['authentication.orch.io/credential-id']?.[0] ?? '', /^X509SHA256=/);
  });
});

describe('what somebody may do', () => {
  test('in JSON: the caller', async () => {
    const path = `${authorization}/selfsubjectaccessreviews`;
    const ask = async (as: 'admin' | { token: string }) =>
      (await server.post<Review>(path, { spec: { resourceAttributes: attributes } }, { as })).json.status;
    assert.equal((await ask('admin'))['allowed'], true);
    assert.deepEqual(await ask({ token }), { allowed: false });
  });

  test('in YAML', async () => {
    const headers = { accept: 'application/yaml', 'content-type': 'application/yaml' };
    const body = Buffer.from('spec:\n  resourceAttributes: {verb: get, resource: configmaps}\n');
    const { text } = await server.post(`${authorization}/selfsubjectaccessreviews`, body, { headers });
    assert.match(text, /^ {2}allowed: true$/m);
  });

  test('in protobuf', async () => {
    const spec = { user: 'bob', extra: { scopes: ['a'] }, resourceAttributes: attributes };
    const object = { apiVersion: 'authorization.orch.io/v1', kind: 'SubjectAccessReview', spec };
    const path = `${authorization}/subjectaccessreviews`;
    const { spec: shown, status } = await inProtobuf(path, schemaOf('SubjectAccessReview'), object);
    assert.deepEqual(shown['extra'], { scopes: ['a'] });
    assert.equal(status['allowed'], false);
  });

  test('as metadata', async () => {
    const body = { spec: { resourceAttributes: attributes } };
    const headers = { accept: 'application/json;as=PartialObjectMetadata;g=meta.orch.io;v=v1' };
    const answer = await server.post<Review>(`${authorization}/selfsubjectaccessreviews`, body, { headers });
    assert.deepEqual([answer.status, answer.json.kind], [201, 'PartialObjectMetadata']);
  });

  test('in a namespace that is not there, of which the answer says nothing', async () => {
    const path = `${authorization}/namespaces/nowhere/localsubjectaccessreviews`;
    const spec = { user: 'bob', resourceAttributes: { ...attributes, namespace: 'nowhere' } };
    const { status, json } = await server.post<Review>(path, { spec });
    assert.deepEqual([status, json.status], [201, { allowed: false }]);
  });

  test('all of it', async () => {
    const path = `${authorization}/selfsubjectrulesreviews`;
    const { status, json } = await server.post<Review>(path, { spec: { namespace: 'default' } });
    assert.equal(status, 201);
    assert.ok(Array.isArray(json.status['resourceRules']) && Array.isArray(json.status['nonResourceRules']));
  });
});

describe('a token of a service account', () => {
  interface TokenRequest extends Review {
    readonly metadata: { readonly name: string; readonly namespace: string };
    readonly status: { readonly token: string; readonly expirationTimestamp: string };
  }

  const hasDefault = async () => (await server.get(`${accounts}/default`)).status === 200;

  test('identifies the account', async () => {
    await until(hasDefault, 'the default account is made');
    const { status, json } = await server.post<TokenRequest>(`${accounts}/default/token`, { spec: {} });
    assert.equal(status, 201);
    assert.deepEqual([json.metadata.name, json.metadata.namespace], ['default', 'default']);
    const as = { token: json.status.token };
    const { json: self } = await server.post<Review>(`${authentication}/selfsubjectreviews`, {}, { as });
    const { username } = self.status['userInfo'] as { username: string };
    assert.equal(username, 'system:serviceaccount:default:default');
  });

  test('in protobuf', async () => {
    await until(hasDefault, 'the default account is made');
    const spec = { audiences: ['vault'], expirationSeconds: 600 };
    const object = { apiVersion: 'authentication.orch.io/v1', kind: 'TokenRequest', spec };
    const answer = await inProtobuf(`${accounts}/default/token`, tokenRequestSchema, object);
    assert.deepEqual(answer.spec, { audiences: ['vault'], expirationSeconds: 600 });
    assert.match(String(answer.status['token']), /^[\w-]+\.[\w-]+\.[\w-]+$/);
  });

  for (const [what, path, body, code] of [
    ['of an account that is not there', `${accounts}/nobody/token`, {}, 404],
    ['in a namespace that is not there', '/api/v1/namespaces/nowhere/serviceaccounts/default/token', {}, 404],
    ['for too short a time', `${accounts}/default/token`, { spec: { expirationSeconds: 1 } }, 422],
    ['of another account than the path says', `${accounts}/default/token`, { metadata: { name: 'x' } }, 422],
    ['in another namespace than the path says', `${accounts}/default/token`, { metadata: { namespace: 'x' } }, 400],
  ] as const) {
    test(`${what}: ${code}`, async () => {
      await until(hasDefault, 'the default account is made');
      assert.equal((await server.post(path, body)).status, code);
    });
  }

  test('is only made, never read', async () => {
    const { status, headers } = await server.get(`${accounts}/default/token`);
    assert.deepEqual([status, headers['allow']], [405, 'POST']);
  });
});

test('a Secret that asks for a token of an account gets one that identifies it', async () => {
  const secrets = '/api/v1/namespaces/default/secrets';
  await server.post(accounts, { metadata: { name: 'holder' } });
  const made = await server.post(secrets, {
    metadata: { name: 'kept', annotations: { 'orch.io/service-account.name': 'holder' } },
    type: 'orch.io/service-account-token',
  });
  assert.equal(made.status, 201);
  const held = async (): Promise<string> => {
    const { json } = await server.get<{ data?: Readonly<Record<string, string>> }>(`${secrets}/kept`);
    return Buffer.from(json.data?.['token'] ?? '', 'base64').toString();
  };
  await until(async () => (await held()) !== '', 'the secret is filled');
  const as = { token: await held() };
  const { json } = await server.post<Review>(`${authentication}/selfsubjectreviews`, {}, { as });
  const { username } = json.status['userInfo'] as { username: string };
  assert.equal(username, 'system:serviceaccount:default:holder');
  await server.delete(`${accounts}/holder`);
  await until(async () => (await server.get(`${secrets}/kept`)).status === 404, 'the secret goes with its account');
  const refused = async () => (await server.post(`${authentication}/selfsubjectreviews`, {}, { as })).status === 401;
  await until(refused, 'the token is nobody any more');
});
