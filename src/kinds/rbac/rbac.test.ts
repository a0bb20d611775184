import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { clusterRole } from './cluster-role.ts';
import { clusterRoleBinding } from './cluster-role-binding.ts';
import { role } from './role.ts';
import { roleBinding } from './role-binding.ts';

const group = 'rbac.authorization.orch.io';
const makers = { role, clusterRole, roleBinding, clusterRoleBinding };

test('RBAC: groups follow the dialect', () => {
  for (const make of Object.values(makers)) {
    assert.deepEqual([make(orch).group, make(kubernetes).group], [group, 'rbac.authorization.k8s.io']);
  }
});

test('RBAC: PUT creates, with or without a resourceVersion, under any name that a path can hold', () => {
  for (const make of Object.values(makers)) {
    const { createOnUpdate, unconditionalUpdate, nameFormat, subresources } = make(orch);
    assert.deepEqual([createOnUpdate, unconditionalUpdate, nameFormat, subresources], [true, true, 'pathSegment', []]);
  }
});

describe('rules', () => {
  const resources = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
  const paths = { nonResourceURLs: ['/x/*'], verbs: ['get'] };
  const both = 'rules cannot apply to both regular resources and non-resource URLs';
  const rows: { why: string; rules: object[]; cluster: string[]; namespaced?: string[] }[] = [
    { why: 'none', rules: [], cluster: [] },
    { why: 'resources', rules: [resources, { ...resources, resourceNames: ['a', 'b'] }], cluster: [] },
    {
      why: 'names of several resources',
      rules: [{ ...resources, resources: ['a', 'b'], resourceNames: ['x'] }],
      cluster: [],
    },
    { why: 'wildcards', rules: [{ apiGroups: ['*'], resources: ['*', '*/scale'], verbs: ['*'] }], cluster: [] },
    { why: 'verbs of nobody', rules: [{ ...resources, verbs: ['frobnicate'] }], cluster: [] },
    {
      why: 'no verbs',
      rules: [{ ...resources, verbs: [] }],
      cluster: ['rules[0].verbs: Required value: verbs must contain at least one value'],
    },
    {
      why: 'verbs left out',
      rules: [{ apiGroups: [''], resources: ['pods'] }],
      cluster: ['rules[0].verbs: Required value: verbs must contain at least one value'],
    },
    {
      why: 'nothing but a verb',
      rules: [resources, { verbs: ['get'] }],
      cluster: [
        'rules[1].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[1].resources: Required value: resource rules must supply at least one resource',
      ],
    },
    {
      why: 'nothing',
      rules: [{}],
      cluster: [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    },
    {
      why: 'paths',
      rules: [paths],
      cluster: [],
      namespaced: [
        'rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: namespaced rules cannot apply to non-resource URLs',
      ],
    },
    {
      why: 'paths and resources',
      rules: [{ ...paths, ...resources }],
      cluster: [`rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: ${both}`],
      namespaced: [
        'rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: namespaced rules cannot apply to non-resource URLs',
        `rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: ${both}`,
      ],
    },
    {
      why: 'paths and names',
      rules: [{ ...paths, resourceNames: ['a'] }],
      cluster: [`rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: ${both}`],
      namespaced: [
        'rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: namespaced rules cannot apply to non-resource URLs',
        `rules[0].nonResourceURLs: Invalid value: []string{"/x/*"}: ${both}`,
      ],
    },
  ];
  for (const { why, rules, cluster, namespaced = cluster } of rows) {
    test(why, () => {
      for (const [kind, errors] of [
        [clusterRole(orch), cluster],
        [role(orch), namespaced],
      ] as const) {
        assert.deepEqual(create(kind, { rules }).errors, errors, kind.kind);
        assert.deepEqual(update(kind, {}, { rules }).errors, errors, kind.kind);
      }
    });
  }

  test('the number of errors is bounded', () => {
    const { errors } = create(role(orch), { rules: Array.from({ length: limits.roleRulesMax }, () => ({})) });
    assert.equal(errors.length, limits.findingsMax);
  });

  test('a role without rules has an empty list of them', () => {
    assert.deepEqual(create(role(orch), {}).object['rules'], []);
    assert.deepEqual(create(clusterRole(orch), { rules: null }).object['rules'], []);
  });
});

describe('aggregation', () => {
  const path = 'aggregationRule.clusterRoleSelectors';
  const rows: [string, Sent, string[]][] = [
    ['labels', { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }, []],
    ['everything', { clusterRoleSelectors: [{}] }, []],
    [
      'no selectors',
      {},
      [`${path}: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`],
    ],
    [
      'no values',
      { clusterRoleSelectors: [{}, { matchExpressions: [{ key: 'a', operator: 'In' }] }] },
      [
        `${path}[1].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
        `${path}[1]: Invalid value: "null": invalid label selector.`,
      ],
    ],
    [
      'an unknown operator',
      { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: 'Near' }] }] },
      [
        `${path}[0].matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
        `${path}[0]: Invalid value: "null": invalid label selector.`,
      ],
    ],
  ];
  for (const [why, aggregationRule, errors] of rows) {
    test(why, () => assert.deepEqual(create(clusterRole(orch), { aggregationRule }).errors, errors));
  }
});

describe('bindings', () => {
  const viewRef = { apiGroup: group, kind: 'ClusterRole', name: 'view' };
  const user = { kind: 'User', apiGroup: group, name: 'jane' };
  const account = { kind: 'ServiceAccount', name: 'robot', namespace: 'team' };
  const rows: { why: string; sent: Sent; namespaced: string[]; cluster?: string[] }[] = [
    { why: 'nobody', sent: { roleRef: viewRef }, namespaced: [] },
    {
      why: 'each kind',
      sent: { roleRef: viewRef, subjects: [user, { ...user, kind: 'Group' }, account] },
      namespaced: [],
    },
    {
      why: 'names like system ones',
      sent: { roleRef: viewRef, subjects: [{ ...user, name: 'system:a b/c' }] },
      namespaced: [],
    },
    {
      why: 'a role',
      sent: { roleRef: { ...viewRef, kind: 'Role' } },
      namespaced: [],
      cluster: ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
    },
    {
      why: 'no role',
      sent: {},
      namespaced: [
        'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
        'roleRef.name: Required value',
      ],
      cluster: ['roleRef.kind: Unsupported value: "": supported values: "ClusterRole"', 'roleRef.name: Required value'],
    },
    {
      why: 'a role of another group',
      sent: { roleRef: { ...viewRef, apiGroup: 'x.io' } },
      namespaced: [`roleRef.apiGroup: Unsupported value: "x.io": supported values: "${group}"`],
    },
    {
      why: 'a role that no path can name',
      sent: { roleRef: { ...viewRef, name: 'a/b%' } },
      namespaced: [
        `roleRef.name: Invalid value: "a/b%": may not contain '/'`,
        `roleRef.name: Invalid value: "a/b%": may not contain '%'`,
      ],
    },
    {
      why: 'an unknown kind of subject',
      sent: { roleRef: viewRef, subjects: [user, { kind: 'Robot', name: 'r' }] },
      namespaced: ['subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
    },
    {
      why: 'subjects without names',
      sent: { roleRef: viewRef, subjects: [{ ...user, name: '' }, { kind: 'Group' }, { ...account, name: '' }] },
      namespaced: [
        'subjects[0].name: Required value',
        'subjects[1].name: Required value',
        'subjects[2].name: Required value',
      ],
    },
    {
      why: 'a user of another group',
      sent: { roleRef: viewRef, subjects: [{ ...user, apiGroup: 'x.io' }] },
      namespaced: [`subjects[0].apiGroup: Unsupported value: "x.io": supported values: "${group}"`],
    },
    {
      why: 'an account in a group',
      sent: { roleRef: viewRef, subjects: [{ ...account, apiGroup: group }] },
      namespaced: [`subjects[0].apiGroup: Unsupported value: "${group}": supported values: ""`],
    },
    {
      why: 'an account of no namespace',
      sent: { roleRef: viewRef, subjects: [{ kind: 'ServiceAccount', name: 'robot' }] },
      namespaced: [],
      cluster: ['subjects[0].namespace: Required value'],
    },
  ];
  for (const { why, sent, namespaced, cluster = namespaced } of rows) {
    test(why, () => {
      assert.deepEqual(create(roleBinding(orch), sent).errors, namespaced);
      assert.deepEqual(create(clusterRoleBinding(orch), sent).errors, cluster);
    });
  }

  test('the name of a service account subject is checked', () => {
    const { errors } = create(roleBinding(orch), { roleRef: viewRef, subjects: [{ ...account, name: 'Robot' }] });
    assert.match(errors.join(), /^subjects\[0\]\.name: Invalid value: "Robot": a lowercase RFC 1123 subdomain/);
  });

  test('missing API groups are defaulted', () => {
    const { object, errors } = create(roleBinding(orch), {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    });
    assert.deepEqual(errors, []);
    assert.deepEqual(object['roleRef'], { apiGroup: group, kind: 'Role', name: 'r' });
    assert.deepEqual(object['subjects'], [
      { kind: 'User', apiGroup: group, name: 'u' },
      { kind: 'Group', apiGroup: group, name: 'g' },
      { kind: 'ServiceAccount', name: 's' },
    ]);
  });

  test('roleRef is immutable, all else may change', () => {
    for (const kind of [roleBinding(orch), clusterRoleBinding(orch)]) {
      const old = { roleRef: viewRef, subjects: [user] };
      assert.deepEqual(update(kind, old, { roleRef: { kind: 'ClusterRole', name: 'view' } }).errors, []);
      const roleRef = { ...viewRef, name: 'edit' };
      assert.deepEqual(update(kind, old, { ...old, roleRef }).errors, [
        `roleRef: Invalid value: rbac.RoleRef{APIGroup:"${group}", Kind:"ClusterRole", Name:"edit"}: cannot change roleRef`,
      ]);
    }
  });

  test('columns', () => {
    const sent = {
      metadata: { creationTimestamp: '2026-01-05T00:00:00Z' },
      roleRef: viewRef,
      subjects: [
        user,
        { ...user, name: 'joe' },
        { kind: 'Group', name: 'dev' },
        account,
        { kind: 'ServiceAccount', name: 's' },
      ],
    };
    for (const kind of [roleBinding(orch), clusterRoleBinding(orch)]) {
      assert.deepEqual(row(kind, sent), {
        Name: 'one',
        Role: 'ClusterRole/view',
        Age: '5d',
        '*Users': 'jane, joe',
        '*Groups': 'dev',
        '*ServiceAccounts': 'team/robot, /s',
      });
    }
  });
});

test('roles: columns', () => {
  const sent = { metadata: { creationTimestamp: '2026-01-05T00:00:00Z' } };
  for (const kind of [role(orch), clusterRole(orch)]) {
    assert.deepEqual(row(kind, sent), { Name: 'one', 'Created At': '2026-01-05T00:00:00Z' });
  }
});

describe('what the index of roles holds of one object is bounded', () => {
  const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
  const rules = (count: number): Sent => ({ rules: Array.from({ length: count }, () => rule) });
  const names = (count: number): Sent => ({ rules: [{ ...rule, resourceNames: Array(count - 3).fill('a') }] });
  const subjects = (count: number): Sent => ({
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'r' },
    subjects: Array.from({ length: count }, (_, n) => ({ kind: 'User', name: `u${n}` })),
  });
  for (const [what, makes, sent, max, message] of [
    ['rules', [role, clusterRole], rules, limits.roleRulesMax, 'items'],
    ['terms', [role, clusterRole], names, limits.roleTermsMax, 'verbs, groups, resources, names and paths in all'],
    ['subjects', [roleBinding, clusterRoleBinding], subjects, limits.bindingSubjectsMax, 'items'],
  ] as const) {
    const field = what === 'terms' ? 'rules' : what;
    const tooMany = (count: number) => [`${field}: Too many: ${count}: must have at most ${max} ${message}`];
    for (const make of makes) {
      const kind = make(orch);
      test(`${what} of a ${kind.kind}; one that has more may keep or lose some`, () => {
        assert.deepEqual(create(kind, sent(max)).errors, []);
        assert.deepEqual(create(kind, sent(max + 1)).errors, tooMany(max + 1));
        assert.deepEqual(update(kind, sent(max), sent(max + 1)).errors, tooMany(max + 1));
        assert.deepEqual(update(kind, sent(max + 2), sent(max + 2)).errors, []);
        assert.deepEqual(update(kind, sent(max + 2), sent(max + 1)).errors, []);
        assert.deepEqual(update(kind, sent(max + 2), sent(max + 3)).errors, tooMany(max + 3));
      });
    }
  }
});
