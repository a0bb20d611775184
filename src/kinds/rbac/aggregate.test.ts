import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rule } from '../../authz/rbac/bootstrap-policy/policy-objects.ts';
import { makeRole } from '../../authz/rbac/rbac-objects-fixture.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { aggregate, sameRules } from './aggregate.ts';

const labelled = (name: string, labels: Record<string, string>, ...resources: readonly string[]): ApiObject => {
  const role = makeRole('', name, ...resources.map((each) => rule('get', each)));
  return { ...role, metadata: { ...role.metadata, labels } };
};

const sum = (name: string, ...clusterRoleSelectors: readonly object[]): ApiObject => ({
  ...makeRole('', name),
  aggregationRule: { clusterRoleSelectors },
});

const to = (value: string) => ({ matchLabels: { to: value } });
const expression = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 && { values }) }],
});

describe('aggregate', () => {
  const roles = [
    labelled('c', { to: 'x', team: 'one' }, 'pods', 'nodes'),
    labelled('a', { to: 'x' }, 'secrets'),
    labelled('b', { to: 'y', team: 'two' }, 'configmaps', 'pods'),
    labelled('d', { constructor: 'x' }, 'events'),
    makeRole('', 'e', rule('get', 'leases')),
  ];
  const rows: [why: string, selectors: readonly object[], resources: string][] = [
    ['by label, in the order of names', [to('x')], 'secrets pods nodes'],
    ['by several selectors, in their order, each rule once', [to('y'), to('x')], 'configmaps pods secrets nodes'],
    ['by a label that nothing has', [to('z')], ''],
    ['by several labels', [{ matchLabels: { to: 'x', team: 'one' } }], 'pods nodes'],
    ['by values', [expression('to', 'In', 'y', 'z')], 'configmaps pods'],
    ['by other values', [expression('to', 'NotIn', 'x')], 'configmaps pods events leases'],
    ['by keys', [expression('team', 'Exists')], 'configmaps pods nodes'],
    ['by absent keys', [expression('to', 'DoesNotExist')], 'events leases'],
    ['by both', [{ ...to('x'), ...expression('team', 'DoesNotExist') }], 'secrets'],
    ['by nothing: everything', [{}], 'secrets configmaps pods nodes events leases'],
    ['by no selector: nothing', [], ''],
    ['by names that mean something to the language', [expression('toString', 'Exists')], ''],
    ['by such a label', [{ matchLabels: { constructor: 'x' } }], 'events'],
  ];
  for (const [why, selectors, resources] of rows) {
    test(why, () => {
      const role = sum('sum', ...selectors);
      const rules = aggregate(role, [role, ...roles]);
      assert.equal(rules?.flatMap((each) => each.resources ?? []).join(' '), resources);
    });
  }

  test('no rules for a role without an aggregationRule, or with an invalid one', () => {
    assert.equal(aggregate(roles[0] as ApiObject, roles), undefined);
    assert.equal(aggregate(sum('sum', expression('to', 'Near', 'x')), roles), undefined);
  });

  test('a role never selects itself', () => {
    const role = { ...sum('sum', {}), rules: [rule('*', '*')] };
    assert.deepEqual(aggregate(role, [role]), []);
  });

  test('roles that select each other converge to the rules of both', () => {
    const [one, two] = [
      { ...sum('one', to('one')), metadata: { name: 'one', labels: { to: 'two' } } },
      { ...sum('two', to('two')), metadata: { name: 'two', labels: { to: 'one' } } },
    ];
    const all = [one, two, labelled('a', { to: 'one' }, 'pods'), labelled('b', { to: 'two' }, 'nodes')] as ApiObject[];
    let rounds = 0;
    for (let changed = true; changed; rounds++) {
      changed = false;
      for (const role of [one, two] as ApiObject[]) {
        const rules = aggregate(role, all) ?? [];
        if (sameRules(rules, (role['rules'] ?? []) as typeof rules)) continue;
        role['rules'] = rules;
        changed = true;
      }
    }
    assert.ok(rounds <= 4, String(rounds));
    for (const role of [one, two] as ApiObject[]) {
      const resources = (role['rules'] as ReturnType<typeof rule>[]).flatMap((each) => each.resources ?? []);
      assert.deepEqual(resources.sort(), ['nodes', 'pods']);
    }
  });

  test('rules are equal regardless of empty lists, and differ if the order does', () => {
    const pods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
    const nodes = { ...pods, resources: ['nodes'] };
    assert.equal(sameRules([pods], [{ ...pods, resourceNames: [], nonResourceURLs: [] }]), true);
    assert.equal(sameRules([pods, nodes], [nodes, pods]), false);
    assert.equal(sameRules([pods], [pods, pods]), false);
    assert.equal(sameRules([pods], [{ ...pods, resourceNames: ['x'] }]), false);
  });
});
