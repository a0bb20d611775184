import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRequestInfo } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import { type PolicyRule, policyEvaluator } from './policy.ts';

const any: PolicyRule = {
  level: 'Metadata',
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: [],
  omitManagedFields: undefined,
};
const jane: UserInfo = { username: 'jane', uid: '', groups: ['dev', 'ops'], extra: {} };
const policy = { rules: [], omitStages: [], omitManagedFields: false } as const;

const pod = 'GET /api/v1/namespaces/a/pods/p';
const log = 'GET /api/v1/namespaces/a/pods/p/log';
const status = 'PUT /api/v1/namespaces/a/pods/p/status';
const node = 'GET /api/v1/nodes/n';
const lease = 'GET /apis/coordination.orch.io/v1/namespaces/a/leases/l';
const core = (...resources: string[]) => [{ group: '', resources, resourceNames: [] }];
const named = (...resourceNames: string[]) => [{ group: '', resources: ['pods'], resourceNames }];

/** Each rule with requests that it matches, and others. */
const rules: readonly (readonly [what: string, rule: Partial<PolicyRule>, yes: string[], no: string[]])[] = [
  ['nothing said', {}, [pod, log, node, 'GET /healthz', 'POST /api/v1/pods'], []],
  ['a user', { users: ['john', 'jane'] }, [pod], []],
  ['another user', { users: ['john'] }, [], [pod]],
  ['a group', { userGroups: ['x', 'ops'] }, [pod], []],
  ['another group', { userGroups: ['jane'] }, [], [pod]],
  [
    'verbs',
    { verbs: ['get', 'watch'] },
    [pod, 'GET /healthz', 'GET /api/v1/pods?watch=1'],
    ['GET /api/v1/pods', status],
  ],
  ['a resource', { resources: core('pods') }, [pod, 'GET /api/v1/pods'], [log, status, node, lease, 'GET /healthz']],
  ['a subresource', { resources: core('pods/log') }, [log], [pod, status, 'GET /api/v1/namespaces/a/x/p/log']],
  ['all of a resource', { resources: core('pods/*') }, [pod, log, status], [node]],
  ['a subresource of all', { resources: core('*/status') }, [status, 'GET /api/v1/nodes/n/status'], [pod, log]],
  ['all resources', { resources: core('*') }, [pod, log, node], [lease, 'GET /version']],
  ['a group', { resources: core() }, [pod, log, node], [lease, 'GET /version']],
  [
    'another group',
    { resources: [{ group: 'coordination.orch.io', resources: [], resourceNames: [] }] },
    [lease],
    [pod],
  ],
  ['one of several', { resources: [...core('nodes'), ...core('pods')] }, [pod, node], [log]],
  ['a name', { resources: named('q', 'p') }, [pod], []],
  ['another name', { resources: named('q') }, [], [pod, 'GET /api/v1/pods']],
  ['a namespace', { namespaces: ['a'] }, [pod, log, lease, 'GET /api/v1/namespaces/a'], [node, 'GET /healthz']],
  ['no namespace', { namespaces: [''] }, [node, 'GET /api/v1/pods'], [pod, 'GET /healthz']],
  [
    'both',
    { namespaces: ['a', ''], resources: core('pods') },
    [pod, 'GET /api/v1/pods'],
    ['GET /api/v1/namespaces/b/pods'],
  ],
  ['a path', { nonResourceURLs: ['/healthz'] }, ['GET /healthz'], ['GET /healthz/ping', pod]],
  [
    'a path and below',
    { nonResourceURLs: ['/healthz*'] },
    ['GET /healthz', 'GET /healthz/ping'],
    ['GET /version', pod],
  ],
  ['all paths', { nonResourceURLs: ['*'] }, ['GET /healthz', 'GET /api/v1'], [pod]],
  ['all conditions together', { users: ['jane'], verbs: ['get'], resources: core('pods') }, [pod], [status]],
];

const request = (text: string) => parseRequestInfo(...(text.split(' ') as [string, string]));

describe('a rule of an audit policy', () => {
  for (const [what, rule, yes, no] of rules) {
    it(`of ${what}`, () => {
      const evaluate = policyEvaluator({ ...policy, rules: [{ ...any, ...rule }] });
      for (const text of yes) assert.equal(evaluate(request(text), jane).level, 'Metadata', text);
      for (const text of no) assert.equal(evaluate(request(text), jane).level, 'None', text);
    });
  }

  it('counts alike whatever was asked before', () => {
    const [texts, users] = [[...new Set(rules.flatMap(([, , yes, no]) => [...yes, ...no]))], [jane, undefined]];
    const questions = texts.flatMap((text) => users.map((user) => ({ text, user })));
    for (const [what, rule] of rules) {
      const written = { ...policy, rules: [{ ...any, ...rule }] };
      const evaluate = policyEvaluator(written);
      const alone = questions.map(({ text, user }) => policyEvaluator(written)(request(text), user).level);
      for (const first of questions) {
        for (const [at, { text, user }] of questions.entries()) {
          evaluate(request(first.text), first.user);
          assert.equal(evaluate(request(text), user).level, alone[at], `${what}: ${text} after ${first.text}`);
        }
      }
    }
  });

  it('of users or groups matches nobody who is unknown', () => {
    for (const rule of [{ users: ['jane'] }, { userGroups: ['dev'] }]) {
      const evaluate = policyEvaluator({ ...policy, rules: [{ ...any, ...rule }] });
      assert.equal(evaluate(request(pod), undefined).level, 'None');
    }
    assert.equal(policyEvaluator({ ...policy, rules: [any] })(request(pod), undefined).level, 'Metadata');
  });

  it('counts if it is the first that matches', () => {
    const levels = ['None', 'Request', 'RequestResponse'] as const;
    const evaluate = policyEvaluator({
      ...policy,
      rules: levels.map((level, index) => ({ ...any, level, verbs: index === 0 ? ['list'] : [] })),
    });
    assert.equal(evaluate(request(pod), jane).level, 'Request');
    assert.equal(evaluate(request('GET /api/v1/pods'), jane).level, 'None');
  });

  it('omits stages beside those of the policy, and may keep managed fields that the policy omits', () => {
    const evaluate = policyEvaluator({
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        { ...any, verbs: ['get'], omitStages: ['Panic'], omitManagedFields: false },
        { ...any, verbs: ['list'] },
      ],
    });
    assert.deepEqual(evaluate(request(pod), jane), {
      level: 'Metadata',
      omitStages: new Set(['RequestReceived', 'Panic']),
      omitManagedFields: false,
    });
    assert.deepEqual(evaluate(request('GET /api/v1/pods'), jane), {
      level: 'Metadata',
      omitStages: new Set(['RequestReceived']),
      omitManagedFields: true,
    });
  });
});
