import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { masters } from '../masters.ts';
import { account, group, rule, urls, user } from './bootstrap-policy/policy-objects.ts';
import type { RbacIndex } from './rbac-index.ts';
import { indexOf, makeBinding, makeRole, makeUser, readQuestion } from './rbac-objects-fixture.ts';

const jane = makeUser('jane', 'dev', 'ops');
const reads = rule('get', 'configmaps');

const ask = (index: RbacIndex, question: string, who: UserInfo = jane): string => {
  const { verdict, reason } = index.authorize(readQuestion(question), who);
  return `${verdict}: ${reason}`;
};
const yes = (index: RbacIndex, question: string, who?: UserInfo): boolean =>
  ask(index, question, who).startsWith('allow');

describe('reasons', () => {
  const rows: [why: string, objects: ApiObject[], question: string, who: UserInfo, said: string][] = [
    [
      'a cluster role binding',
      [makeRole('', 'y', reads), makeBinding('', 'x', 'ClusterRole/y', user('jane'))],
      'get configmaps',
      jane,
      'allow: RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to User "jane"',
    ],
    [
      'a role binding of a cluster role',
      [makeRole('', 'y', reads), makeBinding('team', 'x', 'ClusterRole/y', group('ops'))],
      'get configmaps team',
      jane,
      'allow: RBAC: allowed by RoleBinding "x/team" of ClusterRole "y" to Group "ops"',
    ],
    [
      'an account of the namespace of the binding',
      [makeRole('team', 'y', reads), makeBinding('team', 'x', 'Role/y', { kind: 'ServiceAccount', name: 'robot' })],
      'get configmaps team',
      makeUser('system:serviceaccount:team:robot'),
      'allow: RBAC: allowed by RoleBinding "x/team" of Role "y" to ServiceAccount "robot/team"',
    ],
    [
      'an account of another namespace',
      [makeRole('team', 'y', reads), makeBinding('team', 'x', 'Role/y', account('other', 'robot'))],
      'get configmaps team',
      makeUser('system:serviceaccount:other:robot'),
      'allow: RBAC: allowed by RoleBinding "x/team" of Role "y" to ServiceAccount "robot/other"',
    ],
    [
      'an account by its name as a user',
      [makeRole('team', 'y', reads), makeBinding('team', 'x', 'Role/y', user('system:serviceaccount:other:robot'))],
      'get configmaps team',
      makeUser('system:serviceaccount:other:robot'),
      'allow: RBAC: allowed by RoleBinding "x/team" of Role "y" to User "system:serviceaccount:other:robot"',
    ],
    [
      'the first subject that the user is',
      [
        makeRole('', 'y', reads),
        makeBinding('', 'x', 'ClusterRole/y', group('a'), group('ops'), user('jane'), group('dev')),
      ],
      'get configmaps',
      jane,
      'allow: RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to Group "ops"',
    ],
    [
      'the first of several bindings, those of the cluster before',
      [
        makeRole('', 'y', reads),
        makeBinding('team', 'a', 'ClusterRole/y', user('jane')),
        makeBinding('', 'z', 'ClusterRole/y', user('jane')),
        makeBinding('', 'b', 'ClusterRole/y', user('jane')),
      ],
      'get configmaps team',
      jane,
      'allow: RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "y" to User "jane"',
    ],
    [
      'nothing that concerns the user',
      [makeBinding('', 'x', 'ClusterRole/y', user('joe'))],
      'get configmaps',
      jane,
      'noOpinion: ',
    ],
    [
      'a cluster role that is not there',
      [makeBinding('', 'x', 'ClusterRole/y', user('jane'))],
      'get configmaps',
      jane,
      'noOpinion: RBAC: clusterrole.rbac.authorization.orch.io "y" not found',
    ],
    [
      'a role that is not there, once, and only in its namespace',
      [makeBinding('team', 'x', 'Role/y', user('jane')), makeBinding('team', 'z', 'Role/y', group('dev'))],
      'get configmaps team',
      jane,
      'noOpinion: RBAC: role.rbac.authorization.orch.io "y" not found',
    ],
    [
      'a role that is not there, elsewhere',
      [makeBinding('team', 'x', 'Role/y', user('jane'))],
      'get configmaps other',
      jane,
      'noOpinion: ',
    ],
    [
      'several that are not there, and one of no kind',
      [
        makeBinding('', 'w', 'ClusterRole/y', user('jane')),
        makeBinding('team', 'x', 'Role/y', user('jane')),
        makeBinding('team', 'z', 'Robot/y', user('jane')),
      ],
      'get configmaps team',
      jane,
      'noOpinion: RBAC: [clusterrole.rbac.authorization.orch.io "y" not found, role.rbac.authorization.orch.io "y" not found, unsupported role reference kind: "Robot"]',
    ],
    [
      'what is missing does not hide what is there',
      [
        makeBinding('', 'a', 'ClusterRole/gone', user('jane')),
        makeRole('', 'y', reads),
        makeBinding('', 'x', 'ClusterRole/y', user('jane')),
      ],
      'get configmaps',
      jane,
      'allow: RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to User "jane"',
    ],
  ];
  for (const [why, objects, question, who, said] of rows) {
    test(why, () => assert.equal(ask(indexOf(objects), question, who), said));
  }

  test('a duplicate subject is reported by its first position', () => {
    const robot = 'system:serviceaccount:team:robot';
    for (const [first, second, said] of [
      [user(robot), account('team', 'robot'), `User "${robot}"`],
      [account('team', 'robot'), user(robot), 'ServiceAccount "robot/team"'],
    ] as const) {
      const index = indexOf([makeRole('', 'y', reads), makeBinding('', 'x', 'ClusterRole/y', first, second)]);
      assert.ok(ask(index, 'get configmaps', makeUser(robot)).endsWith(` to ${said}`));
    }
  });

  test('a service account without a namespace matches nobody, whatever the user name', () => {
    const index = indexOf([
      makeRole('', 'y', reads),
      makeBinding('', 'x', 'ClusterRole/y', { kind: 'ServiceAccount', name: 'robot' }),
    ]);
    assert.equal(yes(index, 'get configmaps', makeUser('system:serviceaccount::robot')), false);
  });

  test('of many missing roles only some are named', () => {
    const index = indexOf(
      Array.from({ length: 5_000 }, (_, i) =>
        makeBinding('', `b${i}`, `ClusterRole/r${i}`, i % 2 === 0 ? user('jane') : group('dev')),
      ),
    );
    assert.equal(ask(index, 'get configmaps').split(' not found').length - 1, limits.rbacMissingRolesShown);
  });
});

describe('changes', () => {
  test('a binding may precede its role, and a role may be deleted and recreated', () => {
    const index = indexOf([makeBinding('team', 'x', 'Role/y', user('jane'))]);
    assert.equal(yes(index, 'get configmaps team'), false);
    index.put('Role', makeRole('team', 'y', reads));
    assert.equal(yes(index, 'get configmaps team'), true);
    index.remove('Role', 'team', 'y');
    assert.equal(yes(index, 'get configmaps team'), false);
    index.put('Role', makeRole('team', 'y', rule('list', 'configmaps')));
    assert.deepEqual([yes(index, 'get configmaps team'), yes(index, 'list configmaps team')], [false, true]);
  });

  test('subjects removed from a binding lose its permissions at once', () => {
    const index = indexOf([
      makeRole('', 'y', reads),
      makeBinding('', 'x', 'ClusterRole/y', user('jane'), group('dev')),
    ]);
    const dev = makeUser('joe', 'dev');
    assert.deepEqual([yes(index, 'get configmaps'), yes(index, 'get configmaps', dev)], [true, true]);
    index.put('ClusterRoleBinding', makeBinding('', 'x', 'ClusterRole/y', user('jane')));
    assert.deepEqual([yes(index, 'get configmaps'), yes(index, 'get configmaps', dev)], [true, false]);
    index.remove('ClusterRoleBinding', '', 'x');
    assert.deepEqual([yes(index, 'get configmaps'), yes(index, 'get configmaps', dev)], [false, false]);
  });

  test('names are kept apart by kind and namespace', () => {
    const index = indexOf([
      makeRole('', 'y', reads),
      makeRole('team', 'y', rule('list', 'configmaps')),
      makeBinding('team', 'x', 'Role/y', user('jane')),
      makeBinding('', 'x', 'ClusterRole/y', user('joe')),
    ]);
    const joe = makeUser('joe');
    assert.deepEqual([yes(index, 'get configmaps team'), yes(index, 'list configmaps team')], [false, true]);
    index.remove('RoleBinding', 'team', 'x');
    index.remove('Role', 'team', 'y');
    assert.deepEqual([yes(index, 'list configmaps team'), yes(index, 'get configmaps team', joe)], [false, true]);
  });

  test('removing an unknown object has no effect', () => {
    const index = indexOf([]);
    for (const kind of ['Role', 'RoleBinding'] as const) index.remove(kind, 'team', 'x');
    for (const kind of ['ClusterRole', 'ClusterRoleBinding'] as const) index.remove(kind, '', 'x');
    assert.equal(yes(index, 'get configmaps'), false);
  });

  test('an object without its namespace is not cluster-wide', () => {
    const index = indexOf([makeRole('', 'y', reads), makeBinding('', 'z', 'ClusterRole/w', user('jane'))]);
    index.put('RoleBinding', makeBinding('', 'x', 'ClusterRole/y', user('jane')));
    index.put('Role', makeRole('', 'w', reads));
    assert.equal(yes(index, 'get configmaps'), false);
  });

  test('objects without required fields grant nothing', () => {
    const index = indexOf([]);
    const bare = { apiVersion: 'v1', kind: '', metadata: { name: 'x' } };
    index.put('ClusterRole', bare);
    index.put('ClusterRoleBinding', bare);
    index.put('ClusterRoleBinding', { ...bare, subjects: [{ kind: 'User', name: 'jane' }, {}] });
    assert.equal(ask(index, 'get configmaps'), 'noOpinion: RBAC: unsupported role reference kind: ""');
  });
});

describe('names of prototype properties', () => {
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString']) {
    test(name, () => {
      const index = indexOf([
        makeRole('', name, rule(name, name, { groups: [name], names: [name] }), urls(name, `/${name}`)),
        makeBinding('', name, `ClusterRole/${name}`, user(name), group(name)),
      ]);
      assert.equal(yes(index, `${name} ${name}@${name} - ${name}`, makeUser(name)), true);
      assert.equal(yes(index, `${name} /${name}`, makeUser('x', name)), true);
      assert.equal(yes(index, `${name} ${name}@${name} - x`, makeUser(name)), false);
      const empty = indexOf([makeRole('', 'y', reads), makeBinding('', 'x', 'ClusterRole/y', user('jane'))]);
      assert.equal(yes(empty, `${name} ${name}@${name} ${name} ${name}`, makeUser(name, name)), false);
      assert.equal(yes(empty, `${name} ${name}@${name} ${name} ${name}`), false);
    });
  }
});

describe('many', () => {
  test('any number of different requests leaves the decisions correct', () => {
    const index = indexOf([
      makeRole('', 'y', reads, urls('get', '/a/*')),
      makeBinding('', 'x', 'ClusterRole/y', user('jane')),
    ]);
    for (let i = 0; i < limits.rbacAnswersKept + 10; i++) assert.equal(yes(index, `get r${i}`), false);
    assert.equal(yes(index, 'get configmaps'), true);
    assert.equal(yes(index, 'get /a/b'), true);
    assert.equal(yes(index, `${'v'.repeat(100_000)} configmaps`), false);
    index.put('ClusterRole', makeRole('', 'y', rule('list', 'configmaps')));
    assert.deepEqual([yes(index, 'get configmaps'), yes(index, 'list configmaps')], [false, true]);
  });

  test('10,000 roles and 10,000 bindings of one user cost no more than one', () => {
    const index = indexOf(
      Array.from({ length: 10_000 }, (_, i) => [
        makeRole('team', `r${i}`, rule('get', 'configmaps', { names: [`c${i}`] })),
        makeBinding('team', `b${i}`, `Role/r${i}`, user('jane')),
      ]).flat(),
    );
    const start = performance.now();
    for (let i = 0; i < 10_000; i++) {
      assert.equal(yes(index, `get configmaps team c${i}`), true);
      assert.equal(yes(index, `get configmaps team d${i}`), false);
    }
    // Scanning every binding for every request would take minutes.
    assert.ok(performance.now() - start < 5_000);
  });
});

describe('rules of a user', () => {
  const index = indexOf([
    makeRole('', 'all', reads, urls('get', '/a')),
    makeRole('team', 'own', rule('list', 'secrets', { names: ['x'] })),
    makeBinding('', 'x', 'ClusterRole/all', user('jane'), group('dev')),
    makeBinding('team', 'x', 'Role/own', group('dev')),
    makeBinding('team', 'again', 'ClusterRole/all', group('ops')),
    makeBinding('team', 'ghost', 'Role/ghost', user('jane')),
  ]);
  const everywhere = { verbs: ['get'], apiGroups: [''], resources: ['configmaps'], resourceNames: [] };

  test('in a namespace and cluster-wide, each role once, with lookup errors', () => {
    assert.deepEqual(index.rulesFor(jane, 'team'), {
      resourceRules: [everywhere, { verbs: ['list'], apiGroups: [''], resources: ['secrets'], resourceNames: ['x'] }],
      pathRules: [{ verbs: ['get'], nonResourceURLs: ['/a'] }],
      incomplete: false,
      errors: ['role.rbac.authorization.orch.io "ghost" not found'],
    });
  });

  test('cluster-wide', () => {
    const { resourceRules, errors } = index.rulesFor(jane, '');
    assert.deepEqual([resourceRules, errors], [[everywhere], []]);
  });

  test('of an unbound user', () => {
    const nothing = { resourceRules: [], pathRules: [], incomplete: false, errors: [] };
    assert.deepEqual(index.rulesFor(makeUser('joe'), 'team'), nothing);
  });

  test('roles are found as bindings find them', () => {
    assert.equal(index.roleRules('ClusterRole', 'all', 'team')?.length, 2);
    assert.equal(index.roleRules('Role', 'own', 'team')?.length, 1);
    for (const [kind, name, namespace] of [
      ['Role', 'own', 'other'],
      ['Role', 'all', ''],
      ['Role', 'all', 'team'],
      ['ClusterRole', 'own', 'team'],
      ['Robot', 'all', ''],
    ] as const) {
      assert.equal(index.roleRules(kind, name, namespace), undefined, `${kind} ${name} ${namespace}`);
    }
  });
});

test('masters may do everything; others are left to the other authorizers', () => {
  for (const question of ['get configmaps', '* *@* a b', 'delete /x']) {
    assert.deepEqual(masters.authorize(readQuestion(question), makeUser('x', 'system:masters')), {
      verdict: 'allow',
      reason: '',
    });
    assert.deepEqual(masters.authorize(readQuestion(question), makeUser('system:masters', 'masters')), {
      verdict: 'noOpinion',
      reason: '',
    });
  }
});

test('bound subjects, in any namespace, until the last binding is removed', () => {
  const bindings = [
    makeBinding('', 'x', 'ClusterRole/y', user('jane'), group('dev')),
    makeBinding('team', 'x', 'Role/y', user('jane'), account('team', 'robot')),
    makeBinding('team', 'z', 'Role/y', group('dev'), group('dev')),
  ];
  const index = indexOf(bindings);
  const bound = (): readonly boolean[] => [
    index.isUserBound('jane'),
    index.isUserBound('system:serviceaccount:team:robot'),
    index.isGroupBound('dev'),
    index.isUserBound('kate') || index.isUserBound('dev') || index.isGroupBound('jane'),
  ];
  assert.deepEqual(bound(), [true, true, true, false]);
  index.remove('ClusterRoleBinding', '', 'x');
  assert.deepEqual(bound(), [true, true, true, false]);
  index.put('RoleBinding', makeBinding('team', 'x', 'Role/y', user('jane')));
  assert.deepEqual(bound(), [true, false, true, false]);
  index.remove('RoleBinding', 'team', 'x');
  index.remove('RoleBinding', 'team', 'z');
  assert.deepEqual(bound(), [false, false, false, false]);
});
