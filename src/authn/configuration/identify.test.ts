import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Cel, loadCel } from '../../cel/cel.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { JwtFields } from '../jwt.ts';
import { compileJwtAuthenticator } from './compile-jwt-authenticator.ts';
import type { JwtAuthenticatorFields } from './document.ts';

let cel: Cel;
before(async () => {
  cel = await loadCel();
});

type Rules = Omit<JwtAuthenticatorFields, 'issuer'>;

function identify(rules: Rules, claims: JwtFields, dialect = orch): UserInfo {
  const issuer = { url: 'https://issuer.example', audiences: ['orch'] };
  const fields = { issuer, ...rules };
  const compiled = compileJwtAuthenticator(fields, 'jwt[0]', {
    dialect,
    signingAlgorithms: ['RS256'],
    disallowedIssuers: [],
    cel,
  });
  assert.deepEqual(compiled.errors, []);
  return compiled.authenticator.identify(claims);
}

const username = { claim: 'sub', prefix: '' };
const mapping = (claimMappings: Rules['claimMappings']): Rules => ({ claimMappings: { username, ...claimMappings } });
const byName = (name: NonNullable<Rules['claimMappings']>['username']): Rules => ({
  claimMappings: name === undefined ? {} : { username: name },
});
const nobody = { uid: '', groups: [], extra: {} };

describe('what claims make of a user', () => {
  const email = { claim: 'email', prefix: 'mail:' };
  const users: readonly (readonly [what: string, rules: Rules, claims: JwtFields, user: Partial<UserInfo>])[] = [
    ['a name', mapping({}), { sub: 'jane' }, { username: 'jane' }],
    ['a name with a prefix', byName({ claim: 'sub', prefix: 'oidc:' }), { sub: 'jane' }, { username: 'oidc:jane' }],
    ['a name by an expression', byName({ expression: '"x:" + claims.sub' }), { sub: 'a' }, { username: 'x:a' }],
    ['an address without email_verified', byName(email), { email: 'a@b' }, { username: 'mail:a@b' }],
    ['an address that was verified', byName(email), { email: 'a@b', email_verified: true }, { username: 'mail:a@b' }],
    [
      'an address by another claim',
      byName({ claim: 'mail', prefix: '' }),
      { mail: 'a', email_verified: false },
      { username: 'a' },
    ],
    ['no groups', mapping({ groups: { claim: 'groups', prefix: 'g:' } }), { sub: 'a' }, { groups: [] }],
    [
      'groups that are null',
      mapping({ groups: { claim: 'groups', prefix: 'g:' } }),
      { sub: 'a', groups: null },
      { groups: [] },
    ],
    [
      'groups',
      mapping({ groups: { claim: 'groups', prefix: 'g:' } }),
      { sub: 'a', groups: ['x', 'y'] },
      { groups: ['g:x', 'g:y'] },
    ],
    ['one group', mapping({ groups: { claim: 'role', prefix: '' } }), { sub: 'a', role: 'x' }, { groups: ['x'] }],
    [
      'groups by an expression',
      mapping({ groups: { expression: 'claims.roles.split(",")' } }),
      { sub: 'a', roles: 'x,,y' },
      { groups: ['x', 'y'] },
    ],
    [
      'groups of two claims',
      mapping({ groups: { expression: 'claims.a + claims.b' } }),
      { sub: 'a', a: ['x'], b: ['y'] },
      { groups: ['x', 'y'] },
    ],
    [
      'a group by an expression',
      mapping({ groups: { expression: 'claims.role' } }),
      { sub: 'a', role: 'x' },
      { groups: ['x'] },
    ],
    [
      'an empty group by an expression',
      mapping({ groups: { expression: 'claims.role' } }),
      { sub: 'a', role: '' },
      { groups: [] },
    ],
    [
      'no group by an expression',
      mapping({ groups: { expression: 'claims.role' } }),
      { sub: 'a', role: null },
      { groups: [] },
    ],
    ['a uid', mapping({ uid: { claim: 'oid' } }), { sub: 'a', oid: '1' }, { uid: '1' }],
    ['a uid by an expression', mapping({ uid: { expression: 'claims.oid' } }), { sub: 'a', oid: '1' }, { uid: '1' }],
    [
      'extra attributes',
      mapping({
        extra: [
          { key: 'a.example/one', valueExpression: 'claims.one' },
          { key: 'a.example/many', valueExpression: 'claims.many' },
          { key: 'a.example/none', valueExpression: 'claims.none' },
          { key: 'a.example/empty', valueExpression: '""' },
          { key: 'a.example/list', valueExpression: '[]' },
        ],
      }),
      { sub: 'a', one: 'x', many: ['x', '', 'y'], none: null },
      { extra: { 'a.example/one': ['x'], 'a.example/many': ['x', 'y'] } },
    ],
    [
      'the identity of the credential',
      mapping({}),
      { sub: 'a', jti: 'id' },
      { extra: { 'authentication.orch.io/credential-id': ['JTI=id'] } },
    ],
    ['a credential id that is not a string', mapping({}), { sub: 'a', jti: 7 }, { extra: {} }],
  ];
  for (const [what, rules, claims, user] of users) {
    it(what, () => assert.deepEqual(identify(rules, claims), { ...nobody, username: 'a', ...user }));
  }

  it('the credential id under the key of the other dialect', () => {
    const { extra } = identify(mapping({}), { sub: 'a', jti: 'id' }, kubernetes);
    assert.deepEqual(extra, { 'authentication.kubernetes.io/credential-id': ['JTI=id'] });
  });

  const failing: readonly (readonly [what: string, rules: Rules, claims: JwtFields, message: RegExp])[] = [
    ['no name', mapping({}), {}, /claim "sub" is not present/],
    [
      'a claim named like an inherited property',
      byName({ claim: 'toString', prefix: '' }),
      {},
      /claim "toString" is not present/,
    ],
    ['an empty name', mapping({}), { sub: '' }, /the username is empty/],
    ['an empty name with a prefix', byName({ claim: 'sub', prefix: 'oidc:' }), { sub: '' }, /the username is empty/],
    ['a name that is null', mapping({}), { sub: null }, /the username is empty/],
    ['a name that is a number', mapping({}), { sub: 7 }, /claim "sub" is not a string/],
    ['an empty name by an expression', byName({ expression: 'claims.sub' }), { sub: '' }, /the username is empty/],
    [
      'a name by an expression that is a list',
      byName({ expression: 'claims.sub' }),
      { sub: ['a'] },
      /username expression must return a string/,
    ],
    [
      'an expression that fails',
      byName({ expression: 'claims.sub' }),
      {},
      /username expression 'claims.sub' resulted in error: no such key: sub/,
    ],
    [
      'an address that was not verified',
      byName({ claim: 'email', prefix: '' }),
      { email: 'a', email_verified: false },
      /email not verified/,
    ],
    [
      'email_verified as a string',
      byName({ claim: 'email', prefix: '' }),
      { email: 'a', email_verified: 'true' },
      /email not verified/,
    ],
    [
      'groups that are numbers',
      mapping({ groups: { claim: 'groups', prefix: '' } }),
      { sub: 'a', groups: [1] },
      /claim "groups" is neither a string nor a list/,
    ],
    [
      'groups that are an object',
      mapping({ groups: { claim: 'groups', prefix: '' } }),
      { sub: 'a', groups: {} },
      /claim "groups" is neither/,
    ],
    [
      'groups by an expression that are numbers',
      mapping({ groups: { expression: 'claims.groups' } }),
      { sub: 'a', groups: [1] },
      /groups expression must return/,
    ],
    [
      'groups by an expression that are a map',
      mapping({ groups: { expression: 'claims.groups' } }),
      { sub: 'a', groups: {} },
      /groups expression must return/,
    ],
    ['no uid', mapping({ uid: { claim: 'oid' } }), { sub: 'a' }, /claim "oid" is not present/],
    [
      'a uid by an expression that is a number',
      mapping({ uid: { expression: 'claims.oid' } }),
      { sub: 'a', oid: 1 },
      /uid expression must return a string/,
    ],
    [
      'an extra attribute that is a number',
      mapping({ extra: [{ key: 'a.example/n', valueExpression: 'claims.n' }] }),
      { sub: 'a', n: 1 },
      /extra a\.example\/n expression must return/,
    ],
  ];
  for (const [what, rules, claims, message] of failing) {
    it(`nobody: ${what}`, () => assert.throws(() => identify(rules, claims), { name: 'ClaimError', message }));
  }
});

describe('rules', () => {
  const claimRule = (rule: object): Rules => ({ ...mapping({}), claimValidationRules: [rule] });
  const userRule = (expression: string, message = ''): Rules => ({
    ...mapping({
      groups: { expression: 'claims.?groups.orValue([])' },
      extra: [{ key: 'a.example/team', valueExpression: 'claims.?team.orValue("")' }],
    }),
    userValidationRules: [{ expression, message }],
  });

  it('accept claims that satisfy them', () => {
    const domain = { claim: 'hd', requiredValue: 'example.com' };
    assert.equal(identify(claimRule(domain), { sub: 'a', hd: 'example.com' }).username, 'a');
    const short = { expression: 'claims.exp - claims.nbf <= 86400' };
    assert.equal(identify(claimRule(short), { sub: 'a', nbf: 1, exp: 86_401 }).username, 'a');
    assert.equal(identify(claimRule({ claim: 'empty' }), { sub: 'a', empty: '' }).username, 'a');
    const rules = [
      "!user.username.startsWith('system:')",
      "user.groups.all(group, !group.startsWith('system:'))",
      "user.uid == '' && user.extra.size() == 0",
      "!('a.example/team' in user.extra)",
    ];
    for (const rule of rules) assert.equal(identify(userRule(rule), { sub: 'a', groups: ['b'] }).username, 'a', rule);
    assert.equal(identify(userRule("user.extra['a.example/team'] == ['x']"), { sub: 'a', team: 'x' }).username, 'a');
  });

  const failing: readonly (readonly [what: string, rules: Rules, claims: JwtFields, message: RegExp])[] = [
    [
      'a claim that is missing',
      claimRule({ claim: 'hd', requiredValue: 'x' }),
      { sub: 'a' },
      /claim "hd" is not present/,
    ],
    [
      'a claim with another value',
      claimRule({ claim: 'hd', requiredValue: 'x' }),
      { sub: 'a', hd: 's3cret' },
      /^openid connect: required claim "hd" does not have the value that it must have$/,
    ],
    [
      'a claim that is a number',
      claimRule({ claim: 'n', requiredValue: '1' }),
      { sub: 'a', n: 1 },
      /claim "n" is not a string/,
    ],
    [
      'a claim that is a list',
      claimRule({ claim: 'n', requiredValue: 'x' }),
      { sub: 'a', n: ['x'] },
      /claim "n" is not a string/,
    ],
    [
      'an expression that is false',
      claimRule({ expression: 'claims.sub != "a"', message: 'not you' }),
      { sub: 'a' },
      /^openid connect: claim validation expression 'claims.sub != "a"' failed: not you$/,
    ],
    [
      'an expression that fails',
      claimRule({ expression: 'claims.level > 2' }),
      { sub: 'a' },
      /claim validation expression 'claims.level > 2' resulted in error: no such key: level/,
    ],
    [
      'a user that a rule rejects',
      userRule("!user.username.startsWith('system:')", 'reserved'),
      { sub: 'system:admin' },
      /user validation expression .* failed: reserved$/,
    ],
    [
      'a group that a rule rejects',
      userRule("user.groups.all(g, !g.startsWith('system:'))"),
      { sub: 'a', groups: ['system:masters'] },
      /failed$/,
    ],
  ];
  for (const [what, rules, claims, message] of failing) {
    it(`refuse ${what}`, () => assert.throws(() => identify(rules, claims), { name: 'ClaimError', message }));
  }

  it('accept names that begin with system: unless a rule forbids them', () => {
    assert.equal(identify(mapping({}), { sub: 'system:admin' }).username, 'system:admin');
  });

  it('share one cost budget', () => {
    const groups = Array.from({ length: 3_000 }, (_, index) => `g${index}`);
    const many = Array.from({ length: 64 }, (_, index) => ({
      expression: `claims.groups.all(a, claims.groups.exists(b, a == b || ${index} < 0))`,
    }));
    const rules: Rules = { ...mapping({}), claimValidationRules: many };
    assert.throws(() => identify(rules, { sub: 'a', groups }), {
      name: 'ClaimError',
      message: /costs more than it may/,
    });
  });
});
