import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../base/time/clock.ts';
import { orch } from '../dialect/orch.ts';
import { makeCertificate } from '../pki/certificate-fixture.ts';
import { TrustPool } from '../pki/trust-pool.ts';
import type { UserInfo } from '../request/user-info.ts';
import { withAnonymous } from './anonymous.ts';
import { clientCertificateAuthenticator } from './client-certificate.ts';
import { isUnauthorized, showing } from './credentials-fixture.ts';
import { credentialHeaders, refuseListedIdentity, requestHeaderNames } from './identity-headers.ts';
import { requestHeaderAuthenticator } from './request-header.ts';
import { unionAuthenticator } from './union.ts';

type Headers = Readonly<Record<string, string | readonly string[]>>;

const clock = new ManualClock(Date.now());
const proxies = makeCertificate({ name: 'proxies', authority: true });
const users = makeCertificate({ name: 'users', authority: true });
const { certificate: proxy } = makeCertificate({ name: 'front', issuer: proxies });
const { certificate: otherProxy } = makeCertificate({ name: 'side', issuer: proxies });
const { certificate: nameless } = makeCertificate({ name: '', issuer: proxies });
const { certificate: person } = makeCertificate({ name: 'front', issuer: users });
const names = requestHeaderNames({
  username: [' X-Remote-User ', 'x-second-user'],
  uid: ['X-Remote-Uid'],
  group: ['X-Remote-Group', 'X-Team'],
  extraPrefix: ['X-Remote-Extra-', 'X-More-'],
});
const pool = new TrustPool(proxies.cert, clock);
const any = requestHeaderAuthenticator({ pool, allowedNames: [], names });
const one = requestHeaderAuthenticator({ pool, allowedNames: ['back', 'front'], names });
const said = (headers: Headers): UserInfo | undefined =>
  any.authenticate(showing({ certificate: proxy, headers })) as UserInfo | undefined;
const told = (more: Partial<UserInfo>): UserInfo => ({ username: 'jane', uid: '', groups: [], extra: {}, ...more });

describe('the headers of a proxy', () => {
  const rows: readonly (readonly [what: string, headers: Headers, user: UserInfo | undefined])[] = [
    ['a name', { 'x-remote-user': 'jane' }, told({})],
    ['no name', { 'x-remote-group': 'admins', 'x-remote-uid': '1' }, undefined],
    ['an empty name', { 'x-remote-user': '' }, undefined],
    ['the first header that is not empty', { 'x-remote-user': '', 'x-second-user': 'jane' }, told({})],
    ['the first header, not the second', { 'x-remote-user': 'jane', 'x-second-user': 'root' }, told({})],
    ['the first line of a header', { 'x-remote-user': ['jane', 'root'] }, told({})],
    ['a first line that is empty', { 'x-remote-user': ['', 'root'], 'x-second-user': 'jane' }, told({})],
    ['a comma in a name', { 'x-remote-user': 'jane, root' }, told({ username: 'jane, root' })],
    ['an uid', { 'x-remote-user': 'jane', 'x-remote-uid': ['7', '8'] }, told({ uid: '7' })],
    [
      'all groups of all headers, but for empty ones',
      { 'x-remote-user': 'jane', 'x-team': 'c', 'x-remote-group': ['a, b', '', 'd'] },
      told({ groups: ['a, b', 'd', 'c'] }),
    ],
    [
      'extra values, in the order of prefixes and lines',
      { 'x-remote-user': 'jane', 'x-more-scopes': 'c', 'x-remote-extra-scopes': ['a', ''] },
      told({ extra: { scopes: ['a', '', 'c'] } }),
    ],
    [
      'keys with encoded characters, in lower case',
      { 'x-remote-user': 'jane', 'x-remote-extra-example.org%2fa%20b': 'x', 'x-remote-extra-%41': 'y' },
      told({ extra: { 'example.org/a b': ['x'], a: ['y'] } }),
    ],
    [
      'keys that only look encoded',
      { 'x-remote-user': 'jane', 'x-remote-extra-100%': 'x', 'x-remote-extra-%ff': 'y', 'x-remote-extra-a+b': 'z' },
      told({ extra: { '100%': ['x'], '%ff': ['y'], 'a+b': ['z'] } }),
    ],
    [
      'keys named like inherited properties',
      { 'x-remote-user': 'jane', 'x-remote-extra-__proto__': 'x', 'x-remote-extra-constructor': 'y' },
      told({
        extra: Object.fromEntries([
          ['__proto__', ['x']],
          ['constructor', ['y']],
        ]),
      }),
    ],
    [
      'names in UTF-8, as they come from the wire',
      { 'x-remote-user': 'jÃ¼rgen', 'x-remote-group': 'kÃ¶che' },
      told({ username: 'jürgen', groups: ['köche'] }),
    ],
    ['other headers', { 'x-remote-users': 'root', 'remote-user': 'root' }, undefined],
  ];
  for (const [what, headers, user] of rows) it(what, () => assert.deepEqual(said(headers), user));

  it('are rejected if they are not UTF-8', () => {
    assert.throws(() => said({ 'x-remote-user': 'j\xfcrgen' }), isUnauthorized);
    assert.throws(() => said({ 'x-remote-user': 'jane', 'x-remote-group': '\xff' }), isUnauthorized);
  });
});

describe('a proxy', () => {
  const headers = { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' };
  it('is authenticated only by a certificate of the proxy authorities', () => {
    assert.equal(any.authenticate(showing({ headers })), undefined);
    for (const shown of [{ certificate: person }, { certificateError: 'CERT_HAS_EXPIRED' }]) {
      assert.throws(() => any.authenticate(showing({ ...shown, headers })), isUnauthorized);
      assert.throws(() => any.authenticate(showing(shown)), isUnauthorized, 'without headers too');
    }
  });

  it('must have one of the allowed names', () => {
    assert.ok(one.authenticate(showing({ certificate: proxy, headers })));
    assert.ok(any.authenticate(showing({ certificate: nameless, headers })));
    for (const certificate of [otherProxy, nameless]) {
      assert.throws(() => one.authenticate(showing({ certificate, headers })), isUnauthorized);
    }
  });

  const both = withAnonymous(
    unionAuthenticator([
      one,
      clientCertificateAuthenticator({ dialect: orch, pool: new TrustPool(users.cert, clock) }),
    ]),
    'allow',
  );
  const seen = async (shown: Parameters<typeof showing>[0]): Promise<string> => {
    try {
      const { username, groups } = await both.authenticate(showing(shown));
      return [username, ...groups].join(' ');
    } catch (error) {
      assert.ok(isUnauthorized(error));
      return '401';
    }
  };
  const rows: readonly (readonly [what: string, shown: Parameters<typeof showing>[0], seen: string])[] = [
    ['a proxy with headers', { certificate: proxy, headers }, 'root system:masters system:authenticated'],
    ['a proxy without headers is no user', { certificate: proxy }, '401'],
    ['a proxy that is not allowed', { certificate: otherProxy, headers }, '401'],
    ['a user with headers is that user', { certificate: person, headers }, 'front system:authenticated'],
    ['nobody with headers', { headers }, 'system:anonymous system:unauthenticated'],
    [
      'a proxy that speaks for an anonymous user',
      {
        certificate: proxy,
        headers: { 'x-remote-user': 'system:anonymous', 'x-remote-group': 'system:unauthenticated' },
      },
      'system:anonymous system:unauthenticated',
    ],
    [
      'a proxy that names the group of unauthenticated users',
      { certificate: proxy, headers: { 'x-remote-user': 'jane', 'x-remote-group': 'system:unauthenticated' } },
      'jane system:unauthenticated',
    ],
    [
      'an anonymous user without the group',
      { certificate: proxy, headers: { 'x-remote-user': 'system:anonymous' } },
      'system:anonymous',
    ],
  ];
  for (const [what, shown, expected] of rows) it(what, async () => assert.equal(await seen(shown), expected));
});

describe('names of headers', () => {
  it('are trimmed and in lower case', () => {
    assert.deepEqual(requestHeaderNames({ username: [' X-A\t', 'b'] }), {
      username: ['x-a', 'b'],
      uid: [],
      group: [],
      extraPrefix: [],
    });
  });

  for (const bad of ['', '  ', 'a b', 'a:', 'ä', 'a\r\nb']) {
    it(`${JSON.stringify(bad)} is none`, () => {
      for (const kind of ['username', 'uid', 'group', 'extraPrefix'])
        assert.throws(() => requestHeaderNames({ [kind]: [bad] }), TypeError);
    });
  }

  it('hidden from the request are the conventional and the configured ones', () => {
    const [usual, configured] = [credentialHeaders(undefined), credentialHeaders(names)];
    for (const name of ['authorization', 'x-remote-user', 'x-remote-group', 'x-remote-uid', 'x-remote-extra-a']) {
      assert.deepEqual([usual(name), configured(name)], [true, true], name);
    }
    for (const name of ['x-second-user', 'x-team', 'x-more-', 'x-more-a']) {
      assert.deepEqual([usual(name), configured(name)], [false, true], name);
    }
    for (const name of ['accept', 'x-remote', 'x-forwarded-for', 'impersonate-user', 'x-remote-users']) {
      assert.deepEqual([usual(name), configured(name)], [false, false], name);
    }
  });

  it('must not be listed in Connection', () => {
    const check = (value: string | undefined) => refuseListedIdentity(value, credentialHeaders(names));
    for (const value of [
      undefined,
      '',
      'close',
      'keep-alive',
      'Keep-Alive, X-Forwarded-For',
      'TE',
      ', ,',
      'x-remote',
    ]) {
      check(value);
    }
    for (const value of [
      'x-remote-user',
      'close, X-Remote-Group',
      'keep-alive ,\tX-MORE-a',
      'x-team,close',
      'Impersonate-User',
      'impersonate-extra-a',
      'authorization',
    ]) {
      assert.throws(() => check(value), { code: 400, message: /^header Connection must not list "/ });
    }
  });
});
