import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UserInfo } from '../request/user-info.ts';
import { alwaysAllow, alwaysDeny } from './always.ts';
import type { Authorizer, Decision } from './authorizer.ts';
import { makeUser, readQuestion } from './rbac/rbac-objects-fixture.ts';
import { noRules, type RuleResolver, type UserRules, unlistable } from './rule-resolver.ts';
import { unionAuthorizer, unionRules } from './union.ts';

const jane = makeUser('jane', 'dev');
const question = readQuestion('get pods team x');

const allow: Decision = { verdict: 'allow', reason: 'yes' };
const deny: Decision = { verdict: 'deny', reason: 'no' };
const silent: Decision = { verdict: 'noOpinion', reason: '' };
const shrug: Decision = { verdict: 'noOpinion', reason: 'who knows' };
const failed: Decision = { verdict: 'noOpinion', reason: '', evaluationError: 'down' };
const both: Decision = { verdict: 'noOpinion', reason: 'hm', evaluationError: 'slow' };
const troubled: Decision = { verdict: 'allow', reason: 'so be it', evaluationError: 'half' };

const cases: readonly (readonly [name: string, said: readonly Decision[], expected: Decision, asked: number])[] = [
  ['nobody', [], silent, 0],
  ['the first allows', [allow, deny], allow, 1],
  ['the first denies', [deny, allow], deny, 1],
  ['who has no opinion leaves it to the next', [shrug, allow], allow, 2],
  ['a denial after no opinion', [silent, deny, allow], deny, 2],
  ['what was said before a decision is forgotten', [both, failed, allow], allow, 3],
  ['a decision keeps its own error', [failed, troubled], troubled, 2],
  ['nobody decides, nobody says why', [silent, silent], silent, 2],
  ['reasons are joined', [shrug, silent, both], { ...silent, reason: 'who knows\nhm', evaluationError: 'slow' }, 3],
  ['errors are joined', [failed, both], { verdict: 'noOpinion', reason: 'hm', evaluationError: '[down, slow]' }, 2],
  ['an error once', [failed, failed], failed, 2],
];

function authorizers(said: readonly Decision[], isLate: (index: number) => boolean) {
  const asked: number[] = [];
  const list = said.map(
    (decision, index): Authorizer => ({
      authorize(attributes, user) {
        assert.equal(attributes, question);
        assert.equal(user, jane);
        asked.push(index);
        return isLate(index) ? Promise.resolve(decision) : decision;
      },
    }),
  );
  return { union: unionAuthorizer(list), asked };
}

describe('a union of authorizers', () => {
  for (const [name, said, expected, count] of cases) {
    it(`${name}, at once`, () => {
      const { union, asked } = authorizers(said, () => false);
      assert.deepEqual(union.authorize(question, jane), expected);
      assert.deepEqual(asked, [...said.keys()].slice(0, count));
    });
    for (const [when, isLate] of [
      ['late', () => true],
      ['the first late', (index: number) => index === 0],
      ['the others late', (index: number) => index > 0],
    ] as const) {
      it(`${name}, ${when}`, async () => {
        const { union, asked } = authorizers(said, isLate);
        assert.deepEqual(await union.authorize(question, jane), expected);
        assert.deepEqual(asked, [...said.keys()].slice(0, count));
      });
    }
  }

  it('stops after an exception: a later authorizer could allow what this one would have denied', async () => {
    const broken: Authorizer = {
      authorize() {
        throw new TypeError('fault');
      },
    };
    const late: Authorizer = { authorize: () => Promise.reject(new TypeError('fault')) };
    assert.throws(() => unionAuthorizer([broken, alwaysAllow]).authorize(question, jane), /fault/);
    await assert.rejects(async () => unionAuthorizer([late, alwaysAllow]).authorize(question, jane), /fault/);
  });
});

describe('AlwaysAllow and AlwaysDeny', () => {
  const nobody: UserInfo = makeUser('system:anonymous', 'system:unauthenticated');
  it('allow everything and nothing', () => {
    for (const asked of [question, readQuestion('delete /x')]) {
      assert.deepEqual(alwaysAllow.authorize(asked, nobody), { verdict: 'allow', reason: '' });
      assert.deepEqual(alwaysDeny.authorize(asked, jane), { verdict: 'noOpinion', reason: 'Everything is forbidden.' });
    }
  });

  it('AlwaysDeny leaves the decision to later authorizers, as in kube-apiserver', () => {
    assert.deepEqual(unionAuthorizer([alwaysDeny, alwaysAllow]).authorize(question, jane), {
      verdict: 'allow',
      reason: '',
    });
  });
});

describe('a union of rules', () => {
  const rules = (verb: string, more: Partial<UserRules> = {}): UserRules => ({
    resourceRules: [{ verbs: [verb], apiGroups: [''], resources: ['pods'], resourceNames: [] }],
    pathRules: [{ verbs: [verb], nonResourceURLs: ['/x'] }],
    incomplete: false,
    errors: [],
    ...more,
  });
  const resolver = (answer: UserRules | Promise<UserRules>): RuleResolver => ({ rulesFor: () => answer });
  const joined = {
    resourceRules: [...rules('get').resourceRules, ...rules('list').resourceRules],
    pathRules: [...rules('get').pathRules, ...rules('list').pathRules],
  };

  it('has the rules of all, in order', () => {
    const union = unionRules([resolver(rules('get')), resolver(noRules), resolver(rules('list'))]);
    assert.deepEqual(union.rulesFor(jane, 'team'), { ...joined, incomplete: false, errors: [] });
  });

  it('waits for asynchronous resolvers', async () => {
    const union = unionRules([resolver(Promise.resolve(rules('get'))), resolver(rules('list'))]);
    assert.deepEqual(await union.rulesFor(jane, 'team'), { ...joined, incomplete: false, errors: [] });
  });

  it('is incomplete if one of them is, with each error once', () => {
    const union = unionRules([
      resolver(rules('get', { errors: ['no role'] })),
      unlistable('webhook'),
      unlistable('webhook'),
      resolver(rules('list', { errors: ['no role', 'other'] })),
    ]);
    assert.deepEqual(union.rulesFor(jane, 'team'), {
      ...joined,
      incomplete: true,
      errors: ['no role', 'webhook authorizer does not support user rule resolution', 'other'],
    });
  });

  it('is empty without resolvers and for AlwaysDeny, and everything for AlwaysAllow', () => {
    assert.deepEqual(unionRules([]).rulesFor(jane, ''), noRules);
    assert.deepEqual(unionRules([alwaysDeny]).rulesFor(jane, ''), noRules);
    assert.deepEqual(unionRules([alwaysDeny, alwaysAllow]).rulesFor(jane, ''), {
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] }],
      pathRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
      errors: [],
    });
  });
});
