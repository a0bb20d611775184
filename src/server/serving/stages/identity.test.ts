import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withAnonymous } from '../../../authn/anonymous.ts';
import { unauthorized } from '../../../authn/authenticator.ts';
import { requestHeaderNames } from '../../../authn/identity-headers.ts';
import type { Authorizer, Decision, ResourceAttributes } from '../../../authz/authorizer.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { orch } from '../../../dialect/orch.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { parseRequestInfo } from '../../../request/request-info.ts';
import { anonymousUser, type UserInfo } from '../../../request/user-info.ts';
import { accessMetrics } from '../access-metrics.ts';
import { ExchangeFixture } from '../exchange-fixture.ts';
import { newContext, type RequestContext } from '../request-context.ts';
import { authenticate } from './authenticate.ts';
import { impersonate } from './impersonate.ts';

const clock = new ManualClock();
const access = accessMetrics(new Metrics(), orch);
const upToDate = () => undefined;

type Headers = Readonly<Record<string, string | readonly string[]>>;

const jane: UserInfo = { username: 'jane', uid: '1', groups: ['a'], extra: { scopes: ['x'] } };
const context = (headers: Headers, user = jane): RequestContext => ({
  ...newContext(new ExchangeFixture('GET', '/version', { headers })),
  info: parseRequestInfo('GET', '/version'),
  user,
});

describe('the stage authenticate', () => {
  const requestHeaders = requestHeaderNames({ username: ['x-who'], extraPrefix: ['x-more-'] });
  const headers = {
    accept: '*/*',
    authorization: 'Bearer x',
    'x-remote-user': 'root',
    'x-remote-extra-a': 'b',
    'x-who': 'root',
    'x-more-a': 'b',
    'impersonate-user': 'root',
  };

  it('counts who has no credential apart from those whose does not hold', async () => {
    const metrics = new Metrics();
    const counted = { clock, access: accessMetrics(metrics, orch), requestHeaders };
    const refuse = { authenticate: () => undefined };
    const unheld = unauthorized(new Error('unknown token'));
    for (const authenticator of [
      withAnonymous(refuse, 'refuse'),
      withAnonymous({ authenticate: () => Promise.reject(unheld) }, 'refuse'),
      withAnonymous({ authenticate: () => Promise.reject(new Error('the webhook is away')) }, 'refuse'),
      { authenticate: () => jane },
    ]) {
      const stage = authenticate({ authenticator, ...counted });
      await Promise.resolve()
        .then(() => stage.run(context({})))
        .catch(() => {});
    }
    const shown = metrics.render();
    for (const [result, count] of Object.entries({ success: 1, failure: 1, error: 2 })) {
      assert.ok(shown.includes(`authentication_attempts{result="${result}"} ${count}\n`), result);
      assert.ok(shown.includes(`authentication_duration_seconds_count{result="${result}"} ${count}\n`), result);
    }
  });

  for (const [when, user] of [
    ['at once', jane],
    ['later', Promise.resolve(jane)],
  ] as const) {
    it(`identifies the user, ${when}, and hides the credentials`, async () => {
      const one = context(headers, anonymousUser);
      const seen: unknown[] = [];
      const authenticator = {
        authenticate(credentials: { header(name: string): string | undefined }) {
          seen.push(credentials.header('authorization'), credentials.header('x-who'));
          return user;
        },
      };
      await authenticate({ authenticator, requestHeaders, clock, access }).run(one);
      assert.deepEqual(seen, ['Bearer x', 'root']);
      assert.equal(one.user, jane);
      assert.deepEqual(one.exchange.headerNames(), ['accept', 'impersonate-user']);
    });
  }

  it('hides the default proxy headers if no proxy is trusted', () => {
    const one = context(headers);
    void authenticate({ authenticator: { authenticate: () => jane }, clock, access }).run(one);
    assert.deepEqual(one.exchange.headerNames(), ['accept', 'x-who', 'x-more-a', 'impersonate-user']);
  });

  it('refuses identity headers listed as hop-by-hop, before authentication', () => {
    const authenticator = { authenticate: () => assert.fail('asked') };
    const stage = authenticate({ authenticator, requestHeaders, clock, access });
    for (const connection of ['X-Who', 'close, impersonate-user', 'authorization', ['close', 'x-more-b']]) {
      assert.throws(() => stage.run(context({ connection })), { code: 400 });
    }
  });
});

/** An authorizer that applies `allows` and records its calls. */
function authorizerOf(allows: (attributes: ResourceAttributes) => boolean | Promise<boolean>) {
  const asked: { readonly what: string; readonly user: UserInfo }[] = [];
  const decide = (allowed: boolean): Decision => ({
    verdict: allowed ? 'allow' : 'noOpinion',
    reason: allowed ? '' : 'no',
  });
  const authorizer: Authorizer = {
    authorize(attributes, user) {
      assert.ok(attributes.type === 'resource');
      asked.push({ what: `${attributes.resource} ${attributes.name}`, user });
      const allowed = allows(attributes);
      return allowed instanceof Promise ? allowed.then(decide) : decide(allowed);
    },
  };
  return { asked, authorizer };
}

describe('the stage impersonate', () => {
  const headers = {
    accept: '*/*',
    'impersonate-user': 'bob',
    'impersonate-group': ['b', 'c,d'],
    'impersonate-uid': '2',
    'impersonate-extra-team': 'blue',
  };

  it('passes requests without impersonation synchronously', () => {
    const { asked, authorizer } = authorizerOf(() => false);
    const one = context({ accept: '*/*' });
    assert.equal(impersonate({ authorizer, dialect: orch, clock, access, upToDate }).run(one), undefined);
    assert.deepEqual([one.user, 'impersonatedBy' in one, asked.length], [jane, false, 0]);
  });

  it('refuses an empty user instead of using the sender', async () => {
    const { asked, authorizer } = authorizerOf(() => true);
    const one = context({ 'impersonate-user': '' });
    await assert.rejects(async () => impersonate({ authorizer, dialect: orch, clock, access, upToDate }).run(one), {
      code: 400,
    });
    assert.deepEqual([one.user, 'impersonatedBy' in one, asked.length], [jane, false, 0]);
  });

  for (const [when, allows] of [
    ['at once', () => true],
    ['later', async () => true],
  ] as const) {
    it(`impersonates if allowed, ${when}, and keeps the sender`, async () => {
      const { asked, authorizer } = authorizerOf(allows);
      const one = context(headers);
      await impersonate({ authorizer, dialect: orch, clock, access, upToDate }).run(one);
      assert.deepEqual(one.user, {
        username: 'bob',
        uid: '2',
        groups: ['b', 'c,d', 'system:authenticated'],
        extra: { team: ['blue'] },
      });
      assert.equal(one.impersonatedBy, jane);
      assert.deepEqual(one.exchange.headerNames(), ['accept']);
      assert.deepEqual(
        asked.map(({ what }) => what),
        ['users bob', 'groups b', 'groups c,d', 'userextras blue', 'uids 2'],
      );
      assert.ok(asked.every(({ user }) => user === jane));
    });
  }

  for (const [missing, message] of [
    [
      'users',
      'users "bob" is forbidden: User "jane" cannot impersonate resource "users" in API group "" at the cluster scope: no',
    ],
    [
      'groups',
      'groups "b" is forbidden: User "jane" cannot impersonate resource "groups" in API group "" at the cluster scope: no',
    ],
    [
      'userextras',
      'userextras.authentication.orch.io "blue" is forbidden: User "jane" cannot impersonate resource "userextras/team" in API group "authentication.orch.io" at the cluster scope: no',
    ],
    [
      'uids',
      'uids.authentication.orch.io "2" is forbidden: User "jane" cannot impersonate resource "uids" in API group "authentication.orch.io" at the cluster scope: no',
    ],
  ] as const) {
    it(`is refused without ${missing}, and changes nothing`, async () => {
      const { asked, authorizer } = authorizerOf(({ resource }) => resource !== missing);
      const one = context(headers);
      await assert.rejects(async () => impersonate({ authorizer, dialect: orch, clock, access, upToDate }).run(one), {
        code: 403,
        message,
      });
      assert.deepEqual([one.user, 'impersonatedBy' in one], [jane, false]);
      assert.match(asked.at(-1)?.what ?? '', new RegExp(`^${missing} `), 'nothing is asked after a refusal');
    });
  }

  it('names the namespace of a service account', async () => {
    const { authorizer } = authorizerOf(() => false);
    const one = context({ 'impersonate-user': 'system:serviceaccount:ci:bot' });
    await assert.rejects(async () => impersonate({ authorizer, dialect: orch, clock, access, upToDate }).run(one), {
      code: 403,
      message:
        'serviceaccounts "bot" is forbidden: User "jane" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ci": no',
    });
  });

  it('without a user is a bad request', async () => {
    const { authorizer } = authorizerOf(() => true);
    const stage = impersonate({ authorizer, dialect: orch, clock, access, upToDate });
    for (const header of ['impersonate-group', 'impersonate-uid', 'impersonate-extra-a', 'impersonate-other']) {
      await assert.rejects(async () => stage.run(context({ [header]: 'x' })), { code: 400 });
    }
  });

  it('stops authorizing once the client is gone', async () => {
    const gone = new StatusError('Timeout', 'too late');
    const one = context(headers);
    const { asked, authorizer } = authorizerOf(() => {
      one.exchange.abort(gone);
      return true;
    });
    await assert.rejects(
      async () => impersonate({ authorizer, dialect: orch, clock, access, upToDate }).run(one),
      gone,
    );
    assert.equal(asked.length, 1);
    assert.equal(one.user, jane);
  });
});
