import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import {
  account,
  as,
  binding,
  bindingsPath,
  everythingRules,
  Folder,
  grant,
  group,
  make,
  outcome,
  rbacGroup,
  refusal,
  role,
  roleRef,
  rolesPath,
  rule,
  user,
} from '../support/authorization.ts';
import { OrchProcess, type RequestOptions } from '../support/orch-process.ts';

/** Nobody gives away what they do not hold (spec section 5.8), whatever the verb, and whatever the way around it. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const everyVerb = 'get list create update patch delete deletecollection';
const onRbac = { group: rbacGroup };
const merge = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };
const secrets = rule('get', 'secrets');
const pods = rule('get list', 'pods');

before(async () => {
  const names = ['writer', 'teamster', 'escalator', 'named', 'binder', 'one', 'root', 'holder', 'updater', 'edge'];
  const users = { ...Object.fromEntries(names.map((name) => [name, []])), chief: ['chiefs'] };
  server = held.use(await OrchProcess.start({ flags: [folder.tokens(users)] }));
  for (const name of ['team', 'other']) await make(server, '/api/v1/namespaces', { metadata: { name } });
  const all = 'roles clusterroles rolebindings clusterrolebindings';
  // May write all of them everywhere, and holds beside that nothing but reading pods.
  await grant(server, 'writer', [rule(everyVerb, all, onRbac), pods], [user('writer')]);
  await grant(server, 'teamster', [rule(everyVerb, 'roles rolebindings', onRbac), secrets], [user('teamster')], 'team');
  await make(server, rolesPath(), role('reads-secrets', [secrets]));
  await make(server, rolesPath(), role('reads-pods', [pods]));
});
after(() => held.disposeAsync());

const says = (name: string, method: string, path: string, options: RequestOptions) =>
  outcome(server, method, path, { ...options, as: as(name) });
const status = (name: string, method: string, path: string, options: RequestOptions): Promise<number> =>
  says(name, method, path, options).then(([code]) => code);

const object = (kind: string, rest: object) => ({ apiVersion: `${rbacGroup}/v1`, kind, ...rest });

/** Fails unless the request is refused as an attempt to give away this. */
async function refused(
  name: string,
  [method, path, options]: readonly [string, string, RequestOptions],
  ...missing: readonly string[]
): Promise<void> {
  const [code, message = ''] = await says(name, method, path, options);
  assert.equal(code, 403, `${method} ${path}: ${message}`);
  const groups = name === 'chief' ? '"chiefs" "system:authenticated"' : '"system:authenticated"';
  const who = `user "${name}" (groups=[${groups}])`;
  const [, why] = /is forbidden: (.*)$/s.exec(message) ?? [];
  assert.equal(why, `${who} is attempting to grant RBAC permissions not currently held:\n${missing.join('\n')}`);
}

const getSecrets = '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}';

describe('roles', () => {
  test('are created with what the creator holds, at that scope', async () => {
    for (const namespace of ['', 'team']) {
      assert.equal(await status('writer', 'POST', rolesPath(namespace), { body: role('pods', [pods]) }), 201);
      await refused('writer', ['POST', rolesPath(namespace), { body: role('s', [secrets]) }], getSecrets);
    }
    assert.equal(await status('teamster', 'POST', rolesPath('team'), { body: role('own', [secrets]) }), 201);
    await refused('teamster', ['POST', rolesPath('team'), { body: role('pods-too', [secrets, pods]) }], getPods);
    // What is held in one namespace is held in that one.
    const [code, message] = await says('teamster', 'POST', rolesPath('other'), { body: role('own', [secrets]) });
    const sentence = { by: 'teamster', verb: 'create', resource: 'roles', group: rbacGroup, namespace: 'other' };
    assert.deepEqual([code, message], [403, refusal(sentence)]);
  });

  test('the whole refusal', async () => {
    const body = role('x', [rule('get list', 'secrets', { names: ['a'] }), ...everythingRules]);
    const { json } = await server.post<Record<string, unknown>>(rolesPath(), body, { as: as('writer') });
    assert.deepEqual(json, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `clusterroles.${rbacGroup} "x" is forbidden: user "writer" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list"]}
{APIGroups:["*"], Resources:["*"], Verbs:["*"]}
{NonResourceURLs:["*"], Verbs:["*"]}`,
      reason: 'Forbidden',
      details: { name: 'x', group: rbacGroup, kind: 'clusterroles' },
      code: 403,
    });
    assert.equal((await server.get(`${rolesPath()}/x`)).status, 404);
  });

  test('are changed with what who changes them holds: by every verb', async () => {
    for (const [namespace, kind] of [
      ['', 'ClusterRole'],
      ['team', 'Role'],
    ] as const) {
      const collection = rolesPath(namespace);
      await make(server, collection, role('grows', [pods]));
      const path = `${collection}/grows`;
      const more = role('grows', [pods, secrets]);
      const applied = object(kind, more);
      for (const request of [
        ['PUT', path, { body: more }],
        ['PATCH', path, { body: { rules: more.rules }, headers: merge }],
        ['PATCH', path, { body: [{ op: 'add', path: '/rules/-', value: secrets }], headers: jsonPatch }],
        ['PATCH', `${path}?fieldManager=m&force=true`, { body: applied, headers: apply }],
        ['PUT', `${path}?dryRun=All`, { body: more }],
        ['PUT', `${collection}/new`, { body: role('new', [secrets]) }],
        ['PATCH', `${collection}/new?fieldManager=m`, { body: object(kind, role('new', [secrets])), headers: apply }],
      ] as const) {
        await refused('writer', request as never, getSecrets);
      }
      assert.equal((await server.get(`${collection}/new`)).status, 404);
      const { json } = await server.get<{ rules: unknown }>(path);
      assert.deepEqual(json.rules, [pods]);
      // To take something away, or to change what is no permission, needs nothing.
      const labelled = { body: { metadata: { labels: { a: 'b' } } }, headers: merge };
      assert.equal(await status('writer', 'PATCH', path, labelled), 200);
      assert.equal(await status('writer', 'PUT', path, { body: role('grows', []) }), 200);
    }
  });

  test('that hold more than the writer are left alone, but for finalizers and owners', async () => {
    await make(server, rolesPath(), role('strong', [secrets]));
    const path = `${rolesPath()}/strong`;
    await refused(
      'writer',
      ['PATCH', path, { body: { metadata: { labels: { a: 'b' } } }, headers: merge }],
      getSecrets,
    );
    const mark = { body: { metadata: { finalizers: ['test/held'] } }, headers: merge };
    assert.equal(await status('writer', 'PATCH', path, mark), 200);
    const free = { body: { metadata: { finalizers: null } }, headers: merge };
    assert.equal(await status('writer', 'PATCH', path, free), 200);
    assert.equal(await status('writer', 'DELETE', path, {}), 200);
  });

  test('a wildcard is more than all that there is', async () => {
    const verbs = 'create delete deletecollection get list patch update watch';
    await grant(
      server,
      'holder',
      [rule(`${verbs} * `.trim(), 'pods'), rule('create', 'clusterroles', onRbac)],
      [user('holder')],
    );
    const create = (rules: readonly object[]) =>
      status('holder', 'POST', rolesPath(), { body: { metadata: { generateName: 'w-' }, rules } });
    assert.equal(await create([rule('*', 'pods')]), 201);
    assert.equal(await create([rule('*', 'pods', { names: ['p'] })]), 201);
    assert.equal(await create([rule('*', 'pods/status')]), 403);
    assert.equal(await create([rule('*', '*')]), 403);
    assert.equal(await create([rule('get', 'pods', { group: '*' })]), 403);
    assert.equal(await create([{ verbs: ['get'], nonResourceURLs: ['/metrics'] }]), 403);
    assert.equal(await create([{ verbs: ['get'], nonResourceURLs: ['/api/*', '/version'] }]), 201, 'as everybody');
  });

  test('escalate lets give what is not held: of all roles, or of those that it names', async () => {
    await grant(server, 'escalator', [rule('create update escalate', 'clusterroles', onRbac)], [user('escalator')]);
    assert.equal(await status('escalator', 'POST', rolesPath(), { body: role('any', everythingRules) }), 201);
    assert.equal(await status('escalator', 'POST', rolesPath('team'), { body: role('any', [secrets]) }), 403);
    const rules = [
      rule('create update patch', 'roles', onRbac),
      rule('escalate', 'roles', { ...onRbac, names: ['n'] }),
    ];
    await grant(server, 'named', rules, [user('named')], 'team');
    await make(server, rolesPath('team'), role('n', []));
    await make(server, rolesPath('team'), role('m', []));
    const put = (name: string): Promise<number> =>
      status('named', 'PUT', `${rolesPath('team')}/${name}`, { body: role(name, [secrets]) });
    assert.equal(await put('n'), 200);
    await refused('named', ['PUT', `${rolesPath('team')}/m`, { body: role('m', [secrets]) }], getSecrets);
    await server.delete(`${rolesPath('team')}/n`);
    // A POST has its name in the body, where the rule does not see it.
    await refused('named', ['POST', rolesPath('team'), { body: role('n', [secrets]) }], getSecrets);
  });

  test('escalate by name holds for a write that creates what its path names', async () => {
    const body = object('Role', role('n', [secrets]));
    const path = `${rolesPath('team')}/n?fieldManager=m`;
    assert.equal(await status('named', 'PATCH', path, { body, headers: apply }), 201);
  });

  test('system:masters are not asked; cluster-admin holds everything', async () => {
    assert.equal((await server.post(rolesPath(), role('from-admin', everythingRules))).status, 201);
    await make(server, bindingsPath(), binding('root', 'ClusterRole', 'cluster-admin', user('root')));
    assert.equal(await status('root', 'POST', rolesPath(), { body: role('from-root', everythingRules) }), 201);
  });
});

const getPods = '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}';

describe('bindings', () => {
  test('give what the binder holds, at that scope', async () => {
    for (const namespace of ['', 'team']) {
      const ask = (name: string, to: string): [string, string, RequestOptions] => [
        'POST',
        bindingsPath(namespace),
        { body: binding(name, 'ClusterRole', to, user('writer')) },
      ];
      assert.equal(await status('writer', ...ask('pods', 'reads-pods')), 201);
      await refused('writer', ask('s', 'reads-secrets'), getSecrets);
    }
    const body = binding('own', 'ClusterRole', 'reads-secrets', user('edge'));
    assert.equal(await status('teamster', 'POST', bindingsPath('team'), { body }), 201);
    assert.equal(await status('edge', 'GET', '/api/v1/namespaces/team/secrets/absent', {}), 404);
    assert.equal(await status('edge', 'GET', '/api/v1/namespaces/other/secrets/absent', {}), 403);
    for (const to of ['cluster-admin', 'admin', 'view', 'edit']) {
      const { status: code } = await server.post(
        bindingsPath('team'),
        binding('up', 'ClusterRole', to, user('writer')),
        {
          as: as('teamster'),
        },
      );
      assert.equal(code, 403, to);
    }
  });

  test('are changed only by who holds what they give: subjects, by every verb', async () => {
    await make(server, bindingsPath('other'), binding('b', 'ClusterRole', 'reads-secrets', user('somebody')));
    const path = `${bindingsPath('other')}/b`;
    const taken = binding('b', 'ClusterRole', 'reads-secrets', user('writer'));
    for (const request of [
      ['PUT', path, { body: taken }],
      ['PATCH', path, { body: { subjects: taken.subjects }, headers: merge }],
      ['PATCH', path, { body: [{ op: 'replace', path: '/subjects/0/name', value: 'writer' }], headers: jsonPatch }],
      ['PATCH', `${path}?fieldManager=m&force=true`, { body: object('RoleBinding', taken), headers: apply }],
      ['PUT', `${bindingsPath('other')}/c`, { body: { ...taken, metadata: { name: 'c' } } }],
      [
        'PATCH',
        `${bindingsPath('other')}/c?fieldManager=m`,
        { body: object('RoleBinding', { ...taken, metadata: { name: 'c' } }), headers: apply },
      ],
    ] as const) {
      await refused('writer', request as never, getSecrets);
    }
    assert.equal(await status('writer', 'GET', '/api/v1/namespaces/other/secrets/absent', {}), 403);
  });

  test('to a role that is not there are not found for who may not bind it', async () => {
    for (const [namespace, kind, resource] of [
      ['team', 'Role', 'rolebindings'],
      ['team', 'ClusterRole', 'rolebindings'],
      ['', 'ClusterRole', 'clusterrolebindings'],
    ] as const) {
      const body = binding('ghost', kind, 'ghost', user('writer'));
      assert.deepEqual(await says('writer', 'POST', bindingsPath(namespace), { body }), [
        404,
        `${resource}.${rbacGroup} "ghost" not found`,
      ]);
    }
    // Otherwise who made one could fill the role in later, or wait until somebody does.
    assert.equal((await server.post(bindingsPath(), binding('ghost', 'ClusterRole', 'ghost'))).status, 201);
  });

  test('bind lets give a role that is not held: of those that it names, by kind and scope', async () => {
    const rules = (names: readonly string[]) => [
      rule('create update', 'rolebindings clusterrolebindings', onRbac),
      rule('bind', 'clusterroles', { ...onRbac, names }),
    ];
    await grant(server, 'binder', rules(['reads-secrets', 'later']), [user('binder')]);
    await grant(server, 'one', rules(['reads-secrets']), [user('one')], 'team');
    await make(server, rolesPath('team'), role('reads-secrets', [secrets]));
    const bind = (name: string, namespace: string, to: object): Promise<number> =>
      status(name, 'POST', bindingsPath(namespace), {
        body: { metadata: { generateName: 'b-' }, roleRef: to, subjects: [user('edge')] },
      });
    const named = roleRef('ClusterRole', 'reads-secrets');
    assert.equal(await bind('binder', '', named), 201);
    assert.equal(await bind('binder', 'other', named), 201);
    assert.equal(await bind('binder', '', roleRef('ClusterRole', 'later')), 201, 'which is not there yet');
    assert.equal(await bind('binder', '', roleRef('ClusterRole', 'cluster-admin')), 403);
    assert.equal(await bind('binder', 'team', roleRef('Role', 'reads-secrets')), 403, 'the same name, another kind');
    assert.equal(await bind('one', 'team', named), 201);
    assert.equal(await bind('one', 'other', named), 403);
    assert.equal(await bind('one', '', named), 403);
  });

  test('keep the role that they were made with', async () => {
    for (const [namespace, kind] of [
      ['', 'ClusterRoleBinding'],
      ['team', 'RoleBinding'],
    ] as const) {
      const collection = bindingsPath(namespace);
      await make(server, collection, binding('fixed', 'ClusterRole', 'reads-pods', user('edge')));
      const path = `${collection}/fixed`;
      const other = binding('fixed', 'ClusterRole', 'reads-secrets', user('edge'));
      for (const [method, query, options] of [
        ['PUT', '', { body: other }],
        ['PATCH', '', { body: { roleRef: { name: 'reads-secrets' } }, headers: merge }],
        ['PATCH', '?fieldManager=m&force=true', { body: object(kind, other), headers: apply }],
      ] as const) {
        const { status: code, json } = await server.request<{
          message: string;
          details: { causes: readonly { field: string }[] };
        }>(method, path + query, options);
        assert.equal(code, 422, `${method} ${path}`);
        assert.match(json.message, /cannot change roleRef/);
        assert.deepEqual(
          json.details.causes.map(({ field }) => field),
          ['roleRef'],
        );
      }
      // The group of the reference may be left out: it is the one that there is.
      const same = { ...other, roleRef: { kind: 'ClusterRole', name: 'reads-pods' } };
      assert.equal((await server.put(path, same)).status, 200);
    }
  });

  test('groups and accounts that bind hold what their bindings give them', async () => {
    const rules = [rule('create', 'rolebindings', onRbac), secrets];
    await grant(server, 'chiefs', rules, [group('chiefs'), account('team', 'chief')], 'team');
    const body = { metadata: { generateName: 'by-' }, roleRef: roleRef('ClusterRole', 'reads-secrets') };
    assert.equal(await status('chief', 'POST', bindingsPath('team'), { body }), 201);
    await make(server, '/api/v1/namespaces/team/serviceaccounts', { metadata: { name: 'chief' } });
    const token = (
      await server.post<{ status: { token: string } }>('/api/v1/namespaces/team/serviceaccounts/chief/token', {})
    ).json.status.token;
    assert.equal((await outcome(server, 'POST', bindingsPath('team'), { body, as: { token } }))[0], 201);
    assert.equal((await outcome(server, 'POST', bindingsPath('other'), { body, as: { token } }))[0], 403);
  });
});

describe('cluster roles that are the sum of others', () => {
  const sum = { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'test/into': 'sum' } }] } };
  const rulesOf = async (name: string): Promise<string> => {
    const { json } = await server.get<{ rules: readonly { resources: readonly string[] }[] | null }>(
      `${rolesPath()}/${name}`,
    );
    return (json.rules ?? [])
      .flatMap(({ resources }) => resources)
      .sort()
      .join();
  };
  const labelled = (name: string, ...rules: object[]) => ({
    metadata: { name, labels: { 'test/into': 'sum' } },
    rules,
  });

  test('are made, changed and unmade by who holds everything', async () => {
    const why = (name: string): string =>
      `clusterroles.${rbacGroup} "${name}" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
    const create = { body: { metadata: { name: 'mine' }, ...sum } };
    assert.deepEqual(await says('writer', 'POST', rolesPath(), create), [403, why('mine')]);
    await make(server, rolesPath(), role('plain', []));
    const patch = (name: string, body: object): Promise<readonly [number, string | undefined]> =>
      says('writer', 'PATCH', `${rolesPath()}/${name}`, { body, headers: merge });
    assert.deepEqual(await patch('plain', sum), [403, why('plain')]);
    await make(server, rolesPath(), { metadata: { name: 'sum' }, ...sum });
    assert.deepEqual(await patch('sum', { aggregationRule: null }), [403, why('sum')]);
    assert.deepEqual(await patch('sum', { metadata: { labels: { a: 'b' } } }), [403, why('sum')]);
    assert.equal(await status('root', 'POST', rolesPath(), { body: { metadata: { name: 'by-root' }, ...sum } }), 201);
  });

  test('are filled by the controller, and by nobody else', async () => {
    await make(server, rolesPath(), labelled('part-1', pods));
    await until(async () => (await rulesOf('sum')) === 'pods', 'the sum has what is there');
    await make(server, rolesPath(), labelled('part-2', secrets));
    await until(async () => (await rulesOf('sum')) === 'pods,secrets', 'and what comes');
    assert.equal((await server.put(`${rolesPath()}/sum`, { ...role('sum', everythingRules), ...sum })).status, 200);
    await until(async () => (await rulesOf('sum')) === 'pods,secrets', 'what somebody writes into it goes');
    await server.delete(`${rolesPath()}/part-2`);
    await until(async () => (await rulesOf('sum')) === 'pods', 'and what goes');
  });

  test('get nothing by labels from who does not hold it', async () => {
    await refused('writer', ['POST', rolesPath(), { body: labelled('part-3', secrets) }], getSecrets);
    const relabel = { body: { metadata: { labels: { 'test/into': 'sum' } } }, headers: merge };
    await refused('writer', ['PATCH', `${rolesPath()}/reads-secrets`, relabel], getSecrets);
    assert.equal(await rulesOf('sum'), 'pods');
  });

  test('admin, edit and view take in what is labelled for them', async () => {
    const part = { metadata: { name: 'more-view', labels: { [`${rbacGroup}/aggregate-to-view`]: 'true' } } };
    await make(server, rolesPath(), { ...part, rules: [rule('get', 'gadgets', { group: 'example.com' })] });
    for (const name of ['view', 'edit', 'admin']) {
      await until(async () => (await rulesOf(name)).includes('gadgets'), `${name} has them`);
    }
    const view = await rulesOf('view');
    assert.ok(!view.split(',').includes('secrets') && !view.includes('rolebindings'), view);
  });

  test('that take in each other come to rest', async () => {
    const from = (name: string, label: string) => ({
      metadata: { name, labels: { 'test/into': label === 'one' ? 'two' : 'one' } },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'test/into': label } }] },
    });
    await make(server, rolesPath(), from('ring-1', 'one'));
    await make(server, rolesPath(), from('ring-2', 'two'));
    await make(server, rolesPath(), { metadata: { name: 'leaf', labels: { 'test/into': 'one' } }, rules: [pods] });
    for (const name of ['ring-1', 'ring-2']) {
      await until(async () => (await rulesOf(name)) === 'pods', `${name} has them`);
    }
    const version = async (name: string): Promise<unknown> =>
      (await server.get<{ metadata: { resourceVersion: string } }>(`${rolesPath()}/${name}`)).json.metadata
        .resourceVersion;
    const before = await version('ring-1');
    await make(server, rolesPath(), role('unrelated', [pods]));
    assert.equal(await version('ring-1'), before);
  });
});

describe('what is no role', () => {
  test('is refused with its fields', async () => {
    const fields = async (path: string, body: object): Promise<readonly string[]> => {
      const {
        status: code,
        json,
        text,
      } = await server.post<{
        details: { causes: readonly { field: string }[] };
      }>(path, body);
      assert.equal(code, 422, text);
      return json.details.causes.map(({ field }) => field);
    };
    const bad = (rest: object) => ({ metadata: { name: 'bad' }, ...rest });
    assert.deepEqual(await fields(rolesPath('team'), bad({ rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] })), [
      'rules[0].nonResourceURLs',
    ]);
    assert.deepEqual(await fields(rolesPath(), bad({ rules: [{ apiGroups: [''], resources: ['pods'] }] })), [
      'rules[0].verbs',
    ]);
    assert.deepEqual(await fields(rolesPath(), bad({ aggregationRule: {} })), ['aggregationRule.clusterRoleSelectors']);
    assert.deepEqual(await fields(bindingsPath(), binding('bad', 'Role', 'x')), ['roleRef.kind']);
    assert.deepEqual(
      await fields(bindingsPath(), { ...binding('bad', 'ClusterRole', 'x'), subjects: [{ kind: 'ServiceAccount' }] }),
      ['subjects[0].name', 'subjects[0].namespace'],
    );
  });
});
