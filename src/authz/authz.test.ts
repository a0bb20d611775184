import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRequestInfo } from '../request/request-info.ts';
import { anonymousUser, type UserInfo } from '../request/user-info.ts';
import { type Attributes, forbidden, type ResourceAttributes } from './authorizer.ts';
import { ruleOfThumb } from './rule-of-thumb.ts';

const master: UserInfo = { username: 'root', uid: '', groups: ['system:masters', 'system:authenticated'], extra: {} };
const jane: UserInfo = { username: 'jane', uid: '', groups: ['dev', 'system:authenticated'], extra: {} };

describe('the rule of thumb', () => {
  const secrets = '/api/v1/namespaces/default/secrets';
  for (const [method, target, masters, users, anonymous] of [
    ['GET', `${secrets}/s`, true, true, false],
    ['HEAD', `${secrets}/s`, true, true, false],
    ['GET', secrets, true, true, false],
    ['GET', `${secrets}?watch=1`, true, true, false],
    ['POST', secrets, true, false, false],
    ['PUT', `${secrets}/s`, true, false, false],
    ['PATCH', `${secrets}/s`, true, false, false],
    ['DELETE', `${secrets}/s`, true, false, false],
    ['DELETE', secrets, true, false, false],
    ['GET', '/metrics', true, true, false],
    ['POST', '/metrics', true, false, false],
    ['GET', '/', true, true, false],
    ['GET', '/version', true, true, true],
    ['GET', '/version/', true, true, true],
    ['GET', '/versions', true, true, false],
    ['GET', '/healthz', true, true, true],
    ['HEAD', '/livez', true, true, true],
    ['GET', '/readyz/store?verbose', true, true, true],
    ['POST', '/healthz', true, false, false],
    ['GET', '/healthzz', true, true, false],
    ['GET', '/api', true, true, true],
    ['GET', '/api/v1', true, true, true],
    ['GET', '/apis', true, true, true],
    ['GET', '/apis/coordination.orch.io', true, true, true],
    ['GET', '/apis/coordination.orch.io/v1', true, true, true],
    ['GET', '/apis/coordination.orch.io/v1/leases', true, true, false],
    ['GET', '/openapi/v2', true, true, true],
    ['GET', '/openapi/v3/api/v1', true, true, true],
    ['GET', '/foo', true, true, false],
  ] as const) {
    it(`${method} ${target}`, () => {
      const info: Attributes = parseRequestInfo(method, target);
      const verdicts = [master, jane, anonymousUser].map((user) => ruleOfThumb.authorize(info, user));
      const expected = [masters, users, anonymous].map((allowed) => (allowed ? 'allow' : 'noOpinion'));
      assert.deepEqual(
        verdicts.map((decision) => (decision instanceof Promise ? 'late' : decision.verdict)),
        expected,
      );
    });
  }
});

describe('a refusal', () => {
  const list: ResourceAttributes = {
    type: 'resource',
    verb: 'list',
    group: '',
    version: 'v1',
    resource: 'configmaps',
    subresource: '',
    namespace: 'default',
    name: '',
  };
  const cases: readonly (readonly [Attributes, string, object])[] = [
    [
      list,
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default"',
      { kind: 'configmaps' },
    ],
    [
      { ...list, namespace: '' },
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" at the cluster scope',
      { kind: 'configmaps' },
    ],
    [
      { ...list, verb: 'get', name: 'x', subresource: 'status' },
      'configmaps "x" is forbidden: User "jane" cannot get resource "configmaps/status" in API group "" in the namespace "default"',
      { name: 'x', kind: 'configmaps' },
    ],
    [
      { ...list, verb: 'update', group: 'coordination.orch.io', resource: 'leases', name: '<b>' },
      'leases.coordination.orch.io "<b>" is forbidden: User "jane" cannot update resource "leases" in API group "coordination.orch.io" in the namespace "default"',
      { name: '<b>', group: 'coordination.orch.io', kind: 'leases' },
    ],
    [{ type: 'path', verb: 'get', path: '/x' }, 'forbidden: User "jane" cannot get path "/x"', {}],
    [{ type: 'path', verb: 'get', path: '/<i>&' }, 'forbidden: User "jane" cannot get path "/&lt;i&gt;&amp;"', {}],
  ];
  for (const [attributes, message, details] of cases) {
    it(message, () => {
      const { code, reason, message: text, details: about } = forbidden(attributes, jane).toStatus();
      assert.deepEqual([code, reason, text, about], [403, 'Forbidden', message, details]);
    });
  }

  it('ends with what the authorizer said', () => {
    assert.match(forbidden(list, jane, 'no binding').message, / in the namespace "default": no binding$/);
  });
});
