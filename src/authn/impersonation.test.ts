import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { showing } from './credentials-fixture.ts';
import { impersonatedUser, impersonationAttributes, readImpersonation } from './impersonation.ts';

type Headers = Readonly<Record<string, string | readonly string[]>>;

const read = (headers: Headers) => readImpersonation(showing({ headers }));

/** The access checks in short form: `resource[/subresource].group namespace/name`. */
function asked(headers: Headers): readonly string[] {
  const impersonation = read(headers);
  assert.ok(impersonation);
  return impersonationAttributes(impersonation, orch).map((attributes) => {
    const { type, verb, version, group, resource, subresource, namespace, name } = attributes;
    assert.deepEqual([type, verb, version], ['resource', 'impersonate', group === '' ? '' : 'v1']);
    const what = subresource === '' ? resource : `${resource}/${subresource}`;
    return `${what}${group && `.${group}`} ${namespace && `${namespace}/`}${name}`;
  });
}

const groups = (headers: Headers): readonly string[] => {
  const impersonation = read(headers);
  assert.ok(impersonation);
  return impersonatedUser(impersonation).groups;
};

describe('the impersonated identity', () => {
  for (const [what, headers, expected] of [
    ['nobody', { accept: '*/*' }, undefined],
    ['a user', { 'impersonate-user': 'jane' }, { username: 'jane' }],
    ['the first of several users', { 'impersonate-user': ['jane', 'root'] }, { username: 'jane' }],
    ['the first of several users that is not empty', { 'impersonate-user': ['', 'jane'] }, { username: 'jane' }],
    ['a user with a comma', { 'impersonate-user': 'jane, root' }, { username: 'jane, root' }],
    ['a user in UTF-8', { 'impersonate-user': 'jÃ¼rgen' }, { username: 'jürgen' }],
    ['with an uid', { 'impersonate-user': 'jane', 'impersonate-uid': '7' }, { username: 'jane', uid: '7' }],
    [
      'with groups, each a line',
      { 'impersonate-user': 'jane', 'impersonate-group': ['b, c', 'a', ''] },
      { username: 'jane', groups: ['b, c', 'a', ''] },
    ],
    [
      'with extra values',
      {
        'impersonate-user': 'jane',
        'impersonate-extra-scopes': ['a', 'b'],
        'impersonate-extra-example.org%2fKey': 'c',
        'impersonate-extra-__proto__': 'd',
      },
      {
        username: 'jane',
        extra: Object.fromEntries([
          ['scopes', ['a', 'b']],
          ['example.org/key', ['c']],
          ['__proto__', ['d']],
        ]),
      },
    ],
  ] as const) {
    it(what, () => {
      const all = expected && { uid: '', groups: [], extra: {}, ...expected };
      assert.deepEqual(read(headers), all);
    });
  }

  for (const [what, headers] of [
    ['an uid without a user', { 'impersonate-uid': '7' }],
    ['a group without a user', { 'impersonate-group': 'a' }],
    ['an empty user', { 'impersonate-user': '' }],
    ['an empty uid without a user', { 'impersonate-uid': '' }],
    ['an empty group without a user', { 'impersonate-group': '' }],
    ['an extra value without a user', { 'impersonate-extra-a': '' }],
    ['a group with an empty user', { 'impersonate-user': '', 'impersonate-group': 'a' }],
    ['an unknown header', { 'impersonate-user': 'jane', 'impersonate-groups': 'a' }],
    ['only an unknown header', { 'impersonate-role': 'a' }],
    ['bytes that are not UTF-8', { 'impersonate-user': 'j\xfcrgen' }],
    ...['%00', '%0a', '%1F', '%7f'].map(
      (code) =>
        [
          `a key with the character ${code}`,
          { 'impersonate-user': 'jane', [`impersonate-extra-a${code}`]: 'x' },
        ] as const,
    ),
    ['bytes that are not UTF-8 in a group', { 'impersonate-user': 'jane', 'impersonate-group': '\xff' }],
  ] as const) {
    it(`${what} is a bad request`, () => assert.throws(() => read(headers), { code: 400 }));
  }
});

describe('the access checks', () => {
  for (const [what, headers, expected] of [
    ['a user', { 'impersonate-user': 'jane' }, ['users jane']],
    ['a service account', { 'impersonate-user': 'system:serviceaccount:ci:bot.1' }, ['serviceaccounts ci/bot.1']],
    [
      'names that are not valid service accounts',
      { 'impersonate-user': 'system:serviceaccount:ci:Bot' },
      ['users system:serviceaccount:ci:Bot'],
    ],
    [
      'a namespace that cannot be',
      { 'impersonate-user': 'system:serviceaccount:c.i:bot' },
      ['users system:serviceaccount:c.i:bot'],
    ],
    ['one part too few', { 'impersonate-user': 'system:serviceaccount:ci' }, ['users system:serviceaccount:ci']],
    ['one part too many', { 'impersonate-user': 'system:serviceaccount:a:b:c' }, ['users system:serviceaccount:a:b:c']],
    [
      'all, in order',
      {
        'impersonate-uid': '7',
        'impersonate-extra-scopes': ['x', 'y'],
        'impersonate-extra-a%2fb': 'z',
        'impersonate-group': ['one', 'two'],
        'impersonate-user': 'jane',
      },
      [
        'users jane',
        'groups one',
        'groups two',
        'userextras/scopes.authentication.orch.io x',
        'userextras/scopes.authentication.orch.io y',
        'userextras/a/b.authentication.orch.io z',
        'uids.authentication.orch.io 7',
      ],
    ],
  ] as const) {
    it(what, () => assert.deepEqual(asked(headers), expected));
  }

  it('has the group of the dialect', () => {
    const impersonation = { username: 'jane', uid: '7', groups: [], extra: {} };
    assert.equal(impersonationAttributes(impersonation, kubernetes)[1]?.group, 'authentication.k8s.io');
  });
});

describe('groups', () => {
  const account = 'system:serviceaccount:ci:bot';
  for (const [what, user, named, expected] of [
    ['of a user', 'jane', [], ['system:authenticated']],
    ['that were named', 'jane', ['a', 'b'], ['a', 'b', 'system:authenticated']],
    ['with that of all', 'jane', ['system:authenticated', 'a'], ['system:authenticated', 'a']],
    ['with that of nobody', 'jane', ['system:unauthenticated'], ['system:unauthenticated']],
    [
      'of a service account',
      account,
      [],
      ['system:serviceaccounts', 'system:serviceaccounts:ci', 'system:authenticated'],
    ],
    ['that were named for one', account, ['a'], ['a', 'system:authenticated']],
    ['of what is no service account', `${account}:x`, [], ['system:authenticated']],
    ['of the anonymous user', 'system:anonymous', [], ['system:unauthenticated']],
    ['named for that one', 'system:anonymous', ['a'], ['a', 'system:unauthenticated']],
    [
      'of all for that one',
      'system:anonymous',
      ['system:authenticated'],
      ['system:authenticated', 'system:unauthenticated'],
    ],
    ['of nobody for that one', 'system:anonymous', ['system:unauthenticated'], ['system:unauthenticated']],
  ] as const) {
    it(what, () => assert.deepEqual(groups({ 'impersonate-user': user, 'impersonate-group': named }), expected));
  }
});
