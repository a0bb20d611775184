import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { ManualClock } from '../base/time/clock.ts';
import { orch } from '../dialect/orch.ts';
import { formatTime } from '../meta/time.ts';
import type { Credentials } from '../outbound/credentials/credentials.ts';
import { bareWorld, TlsFixture } from '../outbound/tls-fixture.ts';
import { AccountCredentialsError, accountCredentials } from './account-credentials.ts';
import { ApiClient, ApiError } from './api-client.ts';
import { httpTransport } from './http-transport.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';

const accounts = '/api/v1/namespaces/orch-system/serviceaccounts';
const tokenRequest = `POST ${accounts}/worker/token`;
const hourMs = 3_600_000;

let clock: ManualClock;
let server: ScriptedServer;
let credentials: Credentials;
let warnings: string[];

beforeEach(() => {
  clock = new ManualClock();
  server = new ScriptedServer();
  warnings = [];
  credentials = accountCredentials({
    client: new ApiClient(server, 'test/1'),
    account: { namespace: 'orch-system', name: 'worker' },
    clock,
    logger: { ...silentLogger, warn: (_message, fields) => warnings.push(String(fields?.['error'])) },
    dialect: orch,
  });
});

const issued = (token: unknown, lifetimeMs = hourMs) => ({
  status: { token, expirationTimestamp: formatTime(clock.now() + lifetimeMs) },
});
const issue = (token: string, lifetimeMs?: number): void => server.answer(201, issued(token, lifetimeMs));
const refuse = (code: number, reason: string, message = reason): void =>
  server.answer(code, { kind: 'Status', status: 'Failure', code, reason, message });
const sent = async (): Promise<string | undefined> => (await credentials.current()).authorization;

describe('a token of a service account', () => {
  it('is requested on first use, once for concurrent callers', async () => {
    issue('one');
    assert.deepEqual(server.requests, []);
    assert.deepEqual(await Promise.all([sent(), sent()]), ['Bearer one', 'Bearer one']);
    assert.equal(await sent(), 'Bearer one');
    assert.deepEqual(server.requests, [tokenRequest]);
    assert.deepEqual(JSON.parse(String(server.sent[0]?.body)), {
      kind: 'TokenRequest',
      apiVersion: 'authentication.orch.io/v1',
      spec: { expirationSeconds: 3_600 },
    });
  });

  it('creates the account if it does not exist', async () => {
    refuse(404, 'NotFound');
    server.answer(201, {});
    issue('one');
    assert.equal(await sent(), 'Bearer one');
    assert.deepEqual(server.requests, [tokenRequest, `POST ${accounts}`, tokenRequest]);
    const { kind, metadata } = JSON.parse(String(server.sent[1]?.body));
    assert.deepEqual([kind, metadata], ['ServiceAccount', { namespace: 'orch-system', name: 'worker' }]);
  });

  it('tolerates concurrent creation of the account', async () => {
    refuse(404, 'NotFound');
    refuse(409, 'AlreadyExists');
    issue('one');
    assert.equal(await sent(), 'Bearer one');
  });

  for (const [what, lifetimeMs, usedMs] of [
    ['four fifths of its time', hourMs, 2_880_000],
    ['those of a shorter time than was asked for', hourMs / 2, 1_440_000],
    ['eight minutes where the clocks differ', -hourMs, 480_000],
  ] as const) {
    it(`is used for ${what}`, async () => {
      issue('one', lifetimeMs);
      await sent();
      clock.advance(usedMs - 1);
      assert.equal(await sent(), 'Bearer one');
      clock.advance(1);
      issue('two');
      assert.equal(await sent(), 'Bearer two');
    });
  }

  it('stays in use if it cannot be replaced, and is requested again later', async () => {
    issue('one');
    await sent();
    clock.advance(hourMs * 0.8);
    server.drop();
    assert.equal(await sent(), 'Bearer one');
    clock.advance(limits.accountTokenRetryMs - 1);
    assert.equal(await sent(), 'Bearer one');
    assert.equal(server.requests.length, 2);
    clock.advance(1);
    issue('two');
    assert.equal(await sent(), 'Bearer two');
  });
});

describe('a token that the server refuses', () => {
  it('is replaced once for concurrent rejected requests', async () => {
    issue('one');
    const one = await credentials.current();
    issue('two');
    const others = await Promise.all([credentials.refused(one), credentials.refused(one)]);
    assert.deepEqual(others, [{ authorization: 'Bearer two' }, { authorization: 'Bearer two' }]);
    assert.deepEqual(await credentials.refused(one), { authorization: 'Bearer two' });
    assert.equal(server.requests.length, 2);
  });

  it('is not used again even if it cannot be replaced', async () => {
    issue('one');
    const one = await credentials.current();
    server.drop();
    await assert.rejects(credentials.refused(one), AccountCredentialsError);
    server.drop();
    await assert.rejects(credentials.current(), AccountCredentialsError);
    issue('two');
    assert.equal(await sent(), 'Bearer two');
  });
});

describe('no token', () => {
  it('is not an ApiError, is logged once, and is retried', async () => {
    const fails = async (message: RegExp): Promise<void> =>
      assert.rejects(sent(), (error) => {
        assert.ok(error instanceof AccountCredentialsError && !(error instanceof ApiError));
        assert.match(error.message, message);
        return true;
      });
    refuse(403, 'Forbidden', 'not you');
    await fails(/^no token of the service account orch-system\/worker: not you$/);
    // The account exists, but the server issues no tokens.
    refuse(404, 'NotFound');
    refuse(409, 'AlreadyExists');
    refuse(404, 'NotFound', 'no such thing');
    await fails(/no such thing/);
    refuse(404, 'NotFound');
    refuse(403, 'Forbidden', 'make none');
    await fails(/make none/);
    assert.equal(warnings.length, 1);
    issue('one');
    assert.equal(await sent(), 'Bearer one');
  });

  for (const [what, answer, message] of [
    ['no object', [], /has no status$/],
    ['no status', {}, /has no status$/],
    ['no token', { status: { expirationTimestamp: formatTime(0) } }, /has no token/],
    ['a token that would end the header', { status: { token: 's3cret\r\nx: y' } }, /has no token/],
    ['no time', { status: { token: 's3cret' } }, /does not say when/],
    ['a time that is none', { status: { token: 's3cret', expirationTimestamp: 's3cret' } }, /does not say when/],
  ] as const) {
    it(`an answer with ${what}`, async () => {
      server.answer(201, answer);
      await assert.rejects(sent(), message);
      assert.doesNotMatch(warnings.join(), /s3cret/);
    });
  }

  it('after close: the request in flight ends', async () => {
    const asked = sent();
    credentials.close();
    await assert.rejects(asked, AccountCredentialsError);
    assert.deepEqual(warnings, []);
  });
});

describe('requests with tokens of a service account', () => {
  let tls: TlsFixture;
  before(async () => {
    tls = new TlsFixture();
    await tls.listen();
  });
  after(async () => tls.close());

  it('carry only the token, and are retried with a new one after 401', async () => {
    const seen: unknown[] = [];
    tls.handle = ({ headers }, response) => {
      seen.push([headers.authorization, headers['impersonate-user']]);
      response.writeHead(headers.authorization === 'Bearer two' ? 200 : 401).end();
    };
    const impersonation = { user: 'jane', uid: undefined, groups: [], extra: {} };
    const credential = { type: 'stored', authorization: { type: 'token', token: 'program' } } as const;
    const connection = tls.connection('/', { credential, impersonation });
    const transport = httpTransport(connection, { ...bareWorld, clock, credentials });
    issue('one');
    issue('two');
    const { status } = await transport.send({ method: 'GET', target: '/' });
    transport.close();
    assert.equal(status, 200);
    assert.deepEqual(seen, [
      ['Bearer one', undefined],
      ['Bearer two', undefined],
    ]);
    clock.advance(hourMs);
    await assert.rejects(credentials.refused(await credentials.current()), AccountCredentialsError);
  });
});
