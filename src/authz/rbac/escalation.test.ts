import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../../meta/api-object.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ResourceAttributes } from '../authorizer.ts';
import { rule, urls, user } from './bootstrap-policy/policy-objects.ts';
import {
  checkBindingEscalation,
  checkRoleEscalation,
  type EscalationContext,
  type GuardedWrite,
} from './escalation.ts';
import { indexOf, makeBinding, makeRole, makeUser, rbacGroup } from './rbac-objects-fixture.ts';

const jane = makeUser('jane', 'dev', 'system:authenticated');
const rbac = { groups: [rbacGroup] };

/** Jane's rules, in the namespace `team` and cluster-wide. */
function contextOf(inTeam: ReturnType<typeof rule>[], inCluster: ReturnType<typeof rule>[] = []) {
  const asked: ResourceAttributes[] = [];
  const index = indexOf([
    makeRole('team', 'janes', ...inTeam),
    makeBinding('team', 'janes', 'Role/janes', user('jane')),
    makeRole('', 'janes', ...inCluster),
    makeBinding('', 'janes', 'ClusterRole/janes', user('jane')),
    makeRole('team', 'secrets', rule('get', 'secrets')),
    makeRole('', 'secrets', rule('get', 'secrets')),
    makeRole('', 'metrics', urls('get', '/metrics')),
  ]);
  const context: EscalationContext = {
    heldRules: (who, namespace) => index.heldRules(who, namespace),
    roleRules: (kind, name, namespace) => index.roleRules(kind, name, namespace),
    isAllowed: (attributes, who) => {
      asked.push(attributes);
      return index.authorize(attributes, who).verdict === 'allow';
    },
  };
  return { context, asked };
}

const plurals: Readonly<Record<string, string>> = {
  Role: 'roles',
  ClusterRole: 'clusterroles',
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
};

const writeOf = (object: ApiObject, more: Partial<GuardedWrite> = {}): GuardedWrite => ({
  user: jane,
  resource: { group: rbacGroup, resource: plurals[object.kind] ?? '' },
  namespace: object.metadata.namespace ?? '',
  requestName: object.metadata.name ?? '',
  object,
  old: undefined,
  signal: new AbortController().signal,
  ...more,
});

/** The code and message of a refusal, or `allowed`. */
async function outcome(
  check: (write: GuardedWrite, context: EscalationContext) => Promise<void>,
  write: GuardedWrite,
  context: EscalationContext,
): Promise<string> {
  try {
    await check(write, context);
    return 'allowed';
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return `${error.code} ${error.message}`;
  }
}

const not = (what: string, ...missing: string[]): string =>
  `403 ${what} is forbidden: user "jane" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n${missing.join('\n')}`;
const getSecrets = '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}';

describe('writing a role', () => {
  const role = makeRole('team', 'r', rule('get', 'secrets'));
  const clusterRole = makeRole('', 'r', rule('get', 'secrets'));
  const forbidden = not(`roles.${rbacGroup} "r"`, getSecrets);
  const rows: [
    why: string,
    write: GuardedWrite,
    held: [ReturnType<typeof rule>[], ReturnType<typeof rule>[]?],
    expected: string,
  ][] = [
    ['holding nothing', writeOf(role), [[]], forbidden],
    ['holding it', writeOf(role), [[rule('get list', 'secrets')]], 'allowed'],
    ['holding it in the cluster', writeOf(role), [[], [rule('get', 'secrets')]], 'allowed'],
    [
      'holding it in another namespace',
      writeOf(makeRole('other', 'r', rule('get', 'secrets'))),
      [[rule('get', 'secrets')]],
      forbidden,
    ],
    [
      'a cluster role, holding it in a namespace',
      writeOf(clusterRole),
      [[rule('get', 'secrets')]],
      not(`clusterroles.${rbacGroup} "r"`, getSecrets),
    ],
    ['a cluster role, holding it', writeOf(clusterRole), [[], [rule('get', 'secrets')]], 'allowed'],
    ['without rules', writeOf(makeRole('team', 'r')), [[]], 'allowed'],
    ['with escalate', writeOf(role), [[rule('escalate', 'roles', rbac)]], 'allowed'],
    ['with escalate on it', writeOf(role), [[rule('escalate', 'roles', { ...rbac, names: ['r'] })]], 'allowed'],
    ['with escalate on another', writeOf(role), [[rule('escalate', 'roles', { ...rbac, names: ['q'] })]], forbidden],
    [
      'a POST, with escalate on its name',
      writeOf(role, { requestName: '' }),
      [[rule('escalate', 'roles', { ...rbac, names: ['r'] })]],
      forbidden,
    ],
    ['with escalate on cluster roles', writeOf(role), [[rule('escalate', 'clusterroles', rbac)]], forbidden],
    ['with bind', writeOf(role), [[rule('bind', 'roles', rbac)]], forbidden],
    [
      'a cluster role, with escalate in a namespace',
      writeOf(clusterRole),
      [[rule('escalate', 'clusterroles', rbac)]],
      not(`clusterroles.${rbacGroup} "r"`, getSecrets),
    ],
    ['as a master', writeOf(role, { user: makeUser('root', 'system:masters') }), [[]], 'allowed'],
    [
      'missing permissions are listed, sorted',
      writeOf(
        makeRole('', 'r', urls('get', '/x'), rule('get list', 'pods secrets'), rule('get', 'pods', { names: ['a'] })),
      ),
      [[], [rule('get', 'secrets')]],
      not(
        `clusterroles.${rbacGroup} "r"`,
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["list"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
      ),
    ],
    ['an update that adds a rule', writeOf(role, { old: makeRole('team', 'r') }), [[]], forbidden],
    [
      'an update that keeps rules that are not held',
      writeOf({ ...role, metadata: { ...role.metadata, labels: { a: 'b' } } }, { old: role }),
      [[]],
      forbidden,
    ],
    [
      'an update of owners and finalizers only',
      writeOf(
        { ...role, metadata: { name: 'r', namespace: 'team' } },
        { old: { ...role, metadata: { ...role.metadata, finalizers: ['x/y'], resourceVersion: '5' } } },
      ),
      [[]],
      'allowed',
    ],
    [
      'an update of finalizers and rules',
      writeOf(
        { ...makeRole('team', 'r', rule('*', '*')) },
        { old: { ...role, metadata: { ...role.metadata, finalizers: ['x/y'] } } },
      ),
      [[]],
      not(`roles.${rbacGroup} "r"`, '{APIGroups:[""], Resources:["*"], Verbs:["*"]}'),
    ],
  ];
  for (const [why, write, held, expected] of rows) {
    test(why, async () =>
      assert.equal(await outcome(checkRoleEscalation, write, contextOf(...held).context), expected),
    );
  }

  test('a refusal names its object', async () => {
    await assert.rejects(checkRoleEscalation(writeOf(role), contextOf([]).context), (error) => {
      assert.ok(error instanceof StatusError);
      assert.deepEqual(error.details, { name: 'r', group: rbacGroup, kind: 'roles' });
      return true;
    });
  });

  test('the requests to the authorizers', async () => {
    const { context, asked } = contextOf([]);
    await outcome(checkRoleEscalation, writeOf(role), context);
    const expected = {
      type: 'resource',
      verb: 'escalate',
      group: rbacGroup,
      version: '*',
      resource: 'roles',
      subresource: '',
    };
    assert.deepEqual(asked, [{ ...expected, namespace: 'team', name: 'r' }]);
  });

  test('a refusal lists references to missing roles', async () => {
    const index = indexOf([makeBinding('team', 'b', 'Role/ghost', user('jane'))]);
    const context = {
      ...contextOf([]).context,
      heldRules: (who: UserInfo, namespace: string) => index.heldRules(who, namespace),
    };
    assert.equal(
      await outcome(checkRoleEscalation, writeOf(role), context),
      `${forbidden}; resolution errors: [role.${rbacGroup} "ghost" not found]`,
    );
  });

  test('a role too broad to check is refused', async () => {
    const words = Array.from({ length: 300 }, (_, i) => `w${i}`).join(' ');
    const held = Array.from({ length: 300 }, (_, i) => rule(`w${i}`, '*', { groups: ['*'] }));
    const broad = makeRole('team', 'r', rule(words, words, { groups: words.split(' ') }));
    assert.match(
      await outcome(checkRoleEscalation, writeOf(broad), contextOf(held).context),
      /^403 .*\nand more than could be checked$/s,
    );
  });
});

describe('writing an aggregated role', () => {
  const sum = { ...makeRole('', 'sum'), aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } };
  const refusal = `403 clusterroles.${rbacGroup} "sum" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
  const resources = rule('*', '*', { groups: ['*'] });
  const rows: [why: string, write: GuardedWrite, inCluster: ReturnType<typeof rule>[], expected: string][] = [
    ['holding nothing', writeOf(sum), [], refusal],
    ['holding every resource', writeOf(sum), [resources], 'allowed'],
    ['holding every resource and path', writeOf(sum), [resources, urls('*', '*')], 'allowed'],
    ['with escalate', writeOf(sum), [rule('escalate', 'clusterroles', rbac)], 'allowed'],
    ['an end of it', writeOf(makeRole('', 'sum'), { old: sum }), [], refusal],
    ['selecting nothing', writeOf({ ...sum, aggregationRule: {} }), [], 'allowed'],
  ];
  for (const [why, write, held, expected] of rows) {
    test(why, async () =>
      assert.equal(await outcome(checkRoleEscalation, write, contextOf([], held).context), expected),
    );
  }

  test('holding every verb of every resource lets escalate too; paths are needed without it', async () => {
    const { context } = contextOf([], [resources]);
    const withoutEscalate = { ...context, isAllowed: () => false };
    assert.equal(await outcome(checkRoleEscalation, writeOf(sum), withoutEscalate), refusal);
  });
});

describe('writing a binding', () => {
  const binding = makeBinding('team', 'b', 'Role/secrets', user('joe'));
  const ofCluster = makeBinding('team', 'b', 'ClusterRole/secrets', user('joe'));
  const everywhere = makeBinding('', 'b', 'ClusterRole/secrets', user('joe'));
  const forbidden = not(`rolebindings.${rbacGroup} "b"`, getSecrets);
  const rows: [
    why: string,
    write: GuardedWrite,
    held: [ReturnType<typeof rule>[], ReturnType<typeof rule>[]?],
    expected: string,
  ][] = [
    ['holding nothing', writeOf(binding), [[]], forbidden],
    ['holding it', writeOf(binding), [[rule('get', 'secrets')]], 'allowed'],
    ['of a cluster role, holding it in the namespace', writeOf(ofCluster), [[rule('get', 'secrets')]], 'allowed'],
    [
      'everywhere, holding it in a namespace',
      writeOf(everywhere),
      [[rule('get', 'secrets')]],
      not(`clusterrolebindings.${rbacGroup} "b"`, getSecrets),
    ],
    ['everywhere, holding it', writeOf(everywhere), [[], [rule('get', 'secrets')]], 'allowed'],
    ['to nobody', writeOf({ ...binding, subjects: [] }), [[]], forbidden],
    ['with bind', writeOf(binding), [[rule('bind', 'roles', rbac)]], 'allowed'],
    ['with bind on the role', writeOf(binding), [[rule('bind', 'roles', { ...rbac, names: ['secrets'] })]], 'allowed'],
    ['with bind on another', writeOf(binding), [[rule('bind', 'roles', { ...rbac, names: ['b'] })]], forbidden],
    ['with bind on the cluster role of that name', writeOf(binding), [[rule('bind', 'clusterroles', rbac)]], forbidden],
    [
      'of a cluster role, with bind in the namespace',
      writeOf(ofCluster),
      [[rule('bind', 'clusterroles', rbac)]],
      'allowed',
    ],
    [
      'everywhere, with bind in a namespace',
      writeOf(everywhere),
      [[rule('bind', 'clusterroles', rbac)]],
      not(`clusterrolebindings.${rbacGroup} "b"`, getSecrets),
    ],
    ['with escalate', writeOf(binding), [[rule('escalate', 'roles', rbac)]], forbidden],
    [
      'a POST, with bind on the role',
      writeOf(binding, { requestName: '' }),
      [[rule('bind', 'roles', { ...rbac, names: ['secrets'] })]],
      'allowed',
    ],
    ['as a master', writeOf(binding, { user: makeUser('root', 'system:masters') }), [[]], 'allowed'],
    [
      'of a missing role',
      writeOf(makeBinding('team', 'b', 'Role/ghost')),
      [[rule('*', '*')]],
      `404 rolebindings.${rbacGroup} "ghost" not found`,
    ],
    [
      'of a missing cluster role',
      writeOf(makeBinding('', 'b', 'ClusterRole/ghost')),
      [[]],
      `404 clusterrolebindings.${rbacGroup} "ghost" not found`,
    ],
    [
      'of a missing role, with bind',
      writeOf(makeBinding('team', 'b', 'Role/ghost')),
      [[rule('bind', 'roles', rbac)]],
      'allowed',
    ],
    [
      'of a role of another namespace',
      writeOf(makeBinding('other', 'b', 'Role/secrets')),
      [[], [rule('get', 'secrets')]],
      `404 rolebindings.${rbacGroup} "secrets" not found`,
    ],
    [
      'of nothing known',
      writeOf(makeBinding('team', 'b', 'Robot/secrets')),
      [[]],
      '400 unsupported role reference kind: "Robot"',
    ],
    [
      'everywhere, of paths',
      writeOf(makeBinding('', 'b', 'ClusterRole/metrics')),
      [[]],
      not(`clusterrolebindings.${rbacGroup} "b"`, '{NonResourceURLs:["/metrics"], Verbs:["get"]}'),
    ],
    ['an update of subjects', writeOf(binding, { old: { ...binding, subjects: [] } }), [[]], forbidden],
    [
      'an update of finalizers only',
      writeOf(binding, { old: { ...binding, metadata: { ...binding.metadata, finalizers: ['x/y'] } } }),
      [[]],
      'allowed',
    ],
  ];
  for (const [why, write, held, expected] of rows) {
    test(why, async () =>
      assert.equal(await outcome(checkBindingEscalation, write, contextOf(...held).context), expected),
    );
  }

  test('the requests to the authorizers', async () => {
    const { context, asked } = contextOf([]);
    await outcome(checkBindingEscalation, writeOf(ofCluster), context);
    const expected = {
      type: 'resource',
      verb: 'bind',
      group: rbacGroup,
      version: '*',
      resource: 'clusterroles',
      subresource: '',
    };
    assert.deepEqual(asked, [{ ...expected, namespace: 'team', name: 'secrets' }]);
  });
});
