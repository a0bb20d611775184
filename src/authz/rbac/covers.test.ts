import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import type { PolicyRule } from '../../kinds/rbac/policy-rule.ts';
import { rule, urls } from './bootstrap-policy/policy-objects.ts';
import { covers } from './covers.ts';
import { describeRules } from './describe-rules.ts';

/** `missing`: the missing permissions, one line each; none if everything is held. */
const rows: [why: string, held: PolicyRule[], wanted: PolicyRule[], ...missing: string[]][] = [
  ['nothing wanted', [], []],
  ['nothing held', [], [rule('get', 'pods')], '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
  ['the same', [rule('get', 'pods')], [rule('get', 'pods')]],
  [
    'less',
    [rule('get list', 'pods secrets', { groups: ['', 'apps'] })],
    [rule('list', 'secrets', { groups: ['apps'] })],
  ],
  ['from several rules', [rule('get', 'pods'), rule('list', 'pods')], [rule('get list', 'pods')]],
  [
    'some of it',
    [rule('get', 'pods secrets')],
    [rule('get list watch', 'pods secrets')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
    '{APIGroups:[""], Resources:["secrets"], Verbs:["list" "watch"]}',
  ],
  [
    'another group',
    [rule('get', 'pods')],
    [rule('get', 'pods', { groups: ['x'] })],
    '{APIGroups:["x"], Resources:["pods"], Verbs:["get"]}',
  ],
  ['verbs by wildcard', [rule('*', 'pods')], [rule('get frobnicate *', 'pods')]],
  [
    'a wildcard is more than all that there is',
    [rule('get list watch create update patch delete deletecollection', 'pods')],
    [rule('*', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["*"]}',
  ],
  ['groups by wildcard', [rule('get', 'pods', { groups: ['*'] })], [rule('get', 'pods', { groups: ['', 'x', '*'] })]],
  [
    'all groups of one',
    [rule('get', 'pods')],
    [rule('get', 'pods', { groups: ['*'] })],
    '{APIGroups:["*"], Resources:["pods"], Verbs:["get"]}',
  ],
  ['resources by wildcard', [rule('get', '*')], [rule('get', 'pods pods/log */scale *')]],
  [
    'all resources of one',
    [rule('get', 'pods')],
    [rule('get', '*')],
    '{APIGroups:[""], Resources:["*"], Verbs:["get"]}',
  ],
  [
    'a subresource is not its resource',
    [rule('get', 'pods')],
    [rule('get', 'pods/log')],
    '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}',
  ],
  [
    'a resource is not its subresource',
    [rule('get', 'pods/log')],
    [rule('get', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ],
  ['a subresource of every resource', [rule('get', '*/status')], [rule('get', 'pods/status */status')]],
  [
    'that is no other',
    [rule('get', '*/status')],
    [rule('get', 'pods/log')],
    '{APIGroups:[""], Resources:["pods/log"], Verbs:["get"]}',
  ],
  [
    'nor of one',
    [rule('get', 'pods/status')],
    [rule('get', '*/status')],
    '{APIGroups:[""], Resources:["*/status"], Verbs:["get"]}',
  ],
  ['names of all', [rule('get', 'pods')], [rule('get', 'pods', { names: ['a', 'b'] })]],
  [
    'all of names',
    [rule('get', 'pods', { names: ['a'] })],
    [rule('get', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ],
  [
    'names of names',
    [rule('get', 'pods', { names: ['a', 'b'] })],
    [rule('get list', 'pods', { names: ['b', 'c'] })],
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["list"]}',
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["c"], Verbs:["get" "list"]}',
  ],
  [
    'names from several rules',
    [rule('get', 'pods', { names: ['a'] }), rule('get', 'pods', { names: ['b'] })],
    [rule('get', 'pods', { names: ['a', 'b'] })],
  ],
  ['paths', [urls('get', '/a /b')], [urls('get', '/b')]],
  [
    'other paths',
    [urls('get', '/a')],
    [urls('get post', '/a /b')],
    '{NonResourceURLs:["/a"], Verbs:["post"]}',
    '{NonResourceURLs:["/b"], Verbs:["get"]}',
    '{NonResourceURLs:["/b"], Verbs:["post"]}',
  ],
  ['paths below', [urls('get', '/a/*')], [urls('get', '/a/b /a/ /a/b/* /a/*')]],
  ['the path above', [urls('get', '/a/*')], [urls('get', '/a')], '{NonResourceURLs:["/a"], Verbs:["get"]}'],
  ['a wider prefix', [urls('get', '/a/b*')], [urls('get', '/a/*')], '{NonResourceURLs:["/a/*"], Verbs:["get"]}'],
  ['every path', [urls('*', '*')], [urls('get *', '/a /b/* *')]],
  [
    'every path is no resource',
    [urls('*', '*')],
    [rule('get', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
  ],
  [
    'every resource is no path',
    [rule('*', '*', { groups: ['*'] })],
    [urls('get', '/a')],
    '{NonResourceURLs:["/a"], Verbs:["get"]}',
  ],
  ['a path without its star', [urls('get', '/a*')], [urls('get', '/a /ab /a/b')]],
  [
    'nobody has verbs of another rule',
    [rule('get', 'pods'), rule('list', 'secrets')],
    [rule('list', 'pods')],
    '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}',
  ],
  ['a rule that says nothing', [], [{ verbs: ['get'] }, { verbs: [], apiGroups: [''], resources: ['pods'] }]],
];

describe('covers', () => {
  for (const [why, held, wanted, ...missing] of rows) {
    test(why, () => {
      const found = covers(held, wanted);
      assert.deepEqual([describeRules(found.missing), found.complete], [missing, true]);
    });
  }

  test('the check of a few kilobytes that stand for billions of permissions is abandoned, and they count as not held', () => {
    const words = Array.from({ length: 1_000 }, (_, i) => `w${i}`).join(' ');
    const huge = rule(words, words, { groups: words.split(' '), names: words.split(' ') });
    for (const held of [
      [],
      [rule('get', 'pods')],
      Array.from({ length: 1_000 }, (_, i) => rule(`w${i}`, '*', { groups: ['*'] })),
    ]) {
      const { missing, complete } = covers(held, [huge]);
      assert.equal(complete, false);
      assert.ok(missing.length <= limits.rbacMissingRulesShown);
    }
  });

  test('any number of permissions held as whole rules may be granted', () => {
    const words = Array.from({ length: 1_000 }, (_, i) => `w${i}`).join(' ');
    const huge = rule(words, words, { groups: words.split(' ') });
    const small = Array.from({ length: 1_000 }, (_, i) => rule('get', `r${i}`));
    for (const held of [
      [...small, rule('*', '*', { groups: ['*'] })],
      [...small, huge],
    ]) {
      assert.deepEqual(covers(held, [huge, huge, huge]), { missing: [], complete: true });
    }
  });

  test('a holder of thousands of rules may grant each of them', () => {
    const rules = Array.from({ length: 10_000 }, (_, i) => [
      rule('get list watch', `r${i}`, { groups: ['example.org'] }),
      rule('update', `r${i}/status`, { groups: ['example.org'] }),
    ]);
    const mine = rules.map(([own]) => own as PolicyRule);
    assert.deepEqual(covers(mine, [...mine].reverse()), { missing: [], complete: true });
    const statuses = rules.map(([, status]) => status as PolicyRule);
    const all = [rule('update', '*/status', { groups: ['*'] })];
    assert.deepEqual(covers([...mine, ...all], statuses), { missing: [], complete: true });
    assert.equal(covers(mine, statuses.slice(0, 5)).missing.length, 5);
  });

  test('the broadest rules are checked first', () => {
    const small = Array.from({ length: 2_000 }, (_, i) => rule('get', `r${i}`));
    const wanted = Array.from({ length: 2_000 }, (_, i) => rule('get list', `s${i}`));
    assert.deepEqual(covers([...small, rule('*', '*', { groups: ['*'] })], wanted), { missing: [], complete: true });
  });

  test('an abandoned check does not make later rules count as held', () => {
    const words = Array.from({ length: 200 }, (_, i) => `w${i}`).join(' ');
    const held = Array.from({ length: 200 }, (_, i) => rule(`w${i}`, '*', { groups: ['*'] }));
    const { complete } = covers(held, [rule(words, words, { groups: words.split(' ') }), rule('get', 'pods')]);
    assert.equal(complete, false);
  });
});
