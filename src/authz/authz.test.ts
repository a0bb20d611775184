import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UserInfo } from '../request/user-info.ts';
import { type Attributes, forbidden, type ResourceAttributes } from './authorizer.ts';

const jane: UserInfo = { username: 'jane', uid: '', groups: ['dev', 'system:authenticated'], extra: {} };

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

  it('ends with the reason of the authorizer', () => {
    assert.match(forbidden(list, jane, 'no binding').message, / in the namespace "default": no binding$/);
  });
});
