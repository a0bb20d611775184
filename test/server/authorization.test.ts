import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import {
  account,
  as,
  asker,
  assertGets,
  binding,
  bindingsPath,
  Folder,
  grant,
  group,
  make,
  outcome,
  pathRefusal,
  rbacGroup,
  refusal,
  role,
  rolesPath,
  rule,
  user,
} from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What roles and bindings give, and what they do not, over HTTP. */

const held = new AsyncDisposableStack();
const folder = held.use(new Folder());
let server: OrchProcess;

const core = '/api/v1';
const inTeam = `${core}/namespaces/team`;
const inOther = `${core}/namespaces/other`;
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const merge = { 'content-type': 'application/merge-patch+json' };
const apply = { 'content-type': 'application/apply-patch+yaml' };

const users = {
  reader: [],
  lister: [],
  namer: [],
  deleter: [],
  sweeper: [],
  patcher: [],
  updater: [],
  maker: [],
  agent: [],
  observer: [],
  keeper: [],
  member: ['crew'],
  stranger: [],
  watcher: [],
  changing: [],
  dangling: [],
};

before(async () => {
  server = held.use(await OrchProcess.start({ flags: [folder.tokens(users)] }));
  for (const name of ['team', 'other']) await make(server, `${core}/namespaces`, { metadata: { name } });
  for (const namespace of [inTeam, inOther]) {
    for (const name of ['a', 'b', 'c']) await make(server, `${namespace}/configmaps`, configMap(name));
    await make(server, `${namespace}/secrets`, { metadata: { name: 's' } });
  }
});
after(() => held.disposeAsync());

const ask = asker(() => server);
const gets = (name: string, rows: Parameters<typeof assertGets>[2]): Promise<void> => assertGets(ask, name, rows);

describe('where a binding counts', () => {
  test('a role, in its namespace', async () => {
    await grant(server, 'reader', [rule('get list watch', 'configmaps')], [user('reader')], 'team');
    await gets('reader', [
      ['GET', `${inTeam}/configmaps`, 200],
      ['HEAD', `${inTeam}/configmaps`, 200],
      ['GET', `${inTeam}/configmaps/a`, 200],
      ['HEAD', `${inTeam}/configmaps/a`, 200],
      ['GET', `${inTeam}/configmaps/absent`, 404],
      ['GET', `${inTeam}/configmaps?watch=1`, 200],
      ['GET', `${core}/configmaps`, 403],
      ['GET', `${core}/configmaps?fieldSelector=metadata.namespace%3Dteam`, 403],
      ['GET', `${inOther}/configmaps`, 403],
      ['GET', `${inOther}/configmaps/absent`, 403],
      ['GET', `${core}/namespaces/nowhere/configmaps`, 403],
      ['GET', `${inTeam}/secrets`, 403],
      ['GET', inTeam, 403],
      ['POST', `${inTeam}/configmaps`, 403, { body: configMap('new') }],
      ['PUT', `${inTeam}/configmaps/a`, 403, { body: configMap('a') }],
      ['PATCH', `${inTeam}/configmaps/a`, 403, { body: '{}', headers: merge }],
      ['DELETE', `${inTeam}/configmaps/a`, 403],
      ['DELETE', `${inTeam}/configmaps`, 403],
    ]);
  });

  test('a cluster role: in one namespace, or everywhere', async () => {
    await make(server, rolesPath(), role('lists', [rule('list', 'configmaps nodes namespaces')]));
    await make(server, bindingsPath('team'), binding('lister', 'ClusterRole', 'lists', user('lister')));
    await gets('lister', [
      ['GET', `${inTeam}/configmaps`, 200],
      ['GET', `${inOther}/configmaps`, 403],
      ['GET', `${core}/configmaps`, 403],
      ['GET', `${core}/nodes`, 403],
      ['GET', `${core}/namespaces`, 403],
    ]);
    await make(server, bindingsPath(), binding('lister', 'ClusterRole', 'lists', user('lister')));
    await gets('lister', [
      ['GET', `${inOther}/configmaps`, 200],
      ['GET', `${core}/configmaps`, 200],
      ['GET', `${core}/nodes`, 200],
      ['GET', `${core}/namespaces`, 200],
      ['GET', `${core}/namespaces/team`, 403],
    ]);
  });

  test('a namespace itself lies in itself', async () => {
    await grant(server, 'keeper', [rule('get patch', 'namespaces')], [user('keeper')], 'team');
    await gets('keeper', [
      ['GET', inTeam, 200],
      ['PATCH', inTeam, 200, { body: '{"metadata":{"labels":{"kept":"yes"}}}', headers: merge }],
      ['GET', inOther, 403],
      ['GET', `${core}/namespaces`, 403],
      ['DELETE', inTeam, 403],
    ]);
  });

  test('groups, and service accounts by name and by their groups', async () => {
    await grant(server, 'crew', [rule('get', 'configmaps')], [group('crew')], 'team');
    assert.equal(await ask('member', 'GET', `${inTeam}/configmaps/a`), 200);
    assert.equal(await ask('stranger', 'GET', `${inTeam}/configmaps/a`), 403);

    for (const name of ['robot', 'other-robot']) {
      await make(server, `${inTeam}/serviceaccounts`, { metadata: { name } });
    }
    const token = async (name: string) => {
      const { json } = await server.post<{ status: { token: string } }>(`${inTeam}/serviceaccounts/${name}/token`, {});
      return { token: json.status.token };
    };
    const [robot, other] = [await token('robot'), await token('other-robot')];
    const read = async (shown: { token: string }, path: string) =>
      (await outcome(server, 'GET', path, { as: shown })).join(' ');
    await grant(server, 'robot', [rule('get', 'secrets')], [account('team', 'robot')], 'team');
    assert.match(await read(robot, `${inTeam}/secrets/s`), /^200/);
    const by = 'system:serviceaccount:team:other-robot';
    const place = { resource: 'secrets', namespace: 'team', name: 's' };
    assert.equal(await read(other, `${inTeam}/secrets/s`), `403 ${refusal({ by, verb: 'get', ...place })}`);
    await grant(server, 'robots', [rule('get', 'secrets')], [group('system:serviceaccounts:team')], 'other');
    for (const shown of [robot, other]) assert.match(await read(shown, `${inOther}/secrets/s`), /^200/);
    assert.equal(await ask('stranger', 'GET', `${inOther}/secrets/s`), 403);
  });

  test('a subject of a binding in a namespace is in that namespace unless it says otherwise', async () => {
    await make(server, `${inTeam}/serviceaccounts`, { metadata: { name: 'near' } });
    const token = (await server.post<{ status: { token: string } }>(`${inTeam}/serviceaccounts/near/token`, {})).json
      .status.token;
    await make(server, rolesPath('team'), role('near', [rule('list', 'pods')]));
    await make(server, bindingsPath('team'), {
      ...binding('near', 'Role', 'near'),
      subjects: [{ kind: 'ServiceAccount', name: 'near' }],
    });
    assert.deepEqual((await outcome(server, 'GET', `${inTeam}/pods`, { as: { token } }))[0], 200);
  });

  test('a role of the same name in another namespace is another role', async () => {
    await make(server, rolesPath('other'), role('dangling', [rule('get', 'configmaps')]));
    await make(server, bindingsPath('team'), binding('dangling', 'Role', 'dangling', user('dangling')));
    const [status, message = ''] = await outcome(server, 'GET', `${inTeam}/configmaps/a`, { as: as('dangling') });
    const place = { resource: 'configmaps', namespace: 'team', name: 'a' };
    const sentence = refusal({ by: 'dangling', verb: 'get', ...place });
    assert.deepEqual([status, message], [403, `${sentence}: RBAC: role.${rbacGroup} "dangling" not found`]);
    await make(server, rolesPath('team'), role('dangling', [rule('get', 'configmaps')]));
    assert.equal(await ask('dangling', 'GET', `${inTeam}/configmaps/a`), 200, 'it is there now');
    assert.equal(await ask('dangling', 'GET', `${inOther}/configmaps/a`), 403);
  });
});

describe('what a rule names', () => {
  test('resourceNames: one object, by name or by selecting that name', async () => {
    const rules = [rule('get list watch update patch delete deletecollection create', 'configmaps', { names: ['a'] })];
    await grant(server, 'namer', rules, [user('namer')], 'team');
    const select = (selector: string) => `${inTeam}/configmaps?fieldSelector=${encodeURIComponent(selector)}`;
    await gets('namer', [
      ['GET', `${inTeam}/configmaps/a`, 200],
      ['GET', `${inTeam}/configmaps/b`, 403],
      ['GET', `${inTeam}/configmaps/absent`, 403],
      ['GET', `${inTeam}/configmaps`, 403],
      ['GET', select('metadata.name=a'), 200],
      ['GET', select('metadata.name==a'), 200],
      ['GET', select('metadata.namespace=team,metadata.name=a'), 200],
      ['GET', `${select('metadata.name=a')}&watch=1`, 200],
      ['GET', select('metadata.name=b'), 403],
      ['GET', `${select('metadata.name=b')}&watch=1`, 403],
      ['GET', `${inTeam}/configmaps?watch=1`, 403],
      ['GET', select('metadata.name!=a'), 403],
      ['GET', select('metadata.namespace=team'), 403],
      ['GET', `${core}/configmaps?fieldSelector=metadata.name%3Da`, 403],
      ['PATCH', `${inTeam}/configmaps/a`, 200, { body: '{}', headers: merge }],
      ['PATCH', `${inTeam}/configmaps/b`, 403, { body: '{}', headers: merge }],
      // A name that is in the body only is not known when it is decided.
      ['POST', `${inTeam}/configmaps`, 403, { body: configMap('a') }],
      ['DELETE', `${inTeam}/configmaps`, 403],
      ['DELETE', select('metadata.name=a'), 403],
    ]);
  });

  test('no selector that selects more than the name passes for one that selects the name', async () => {
    const leaks: string[] = [];
    for (const selector of [
      'metadata.name!=a',
      'metadata.namespace!=z\\,metadata.name=a',
      'metadata.namespace!=z\\,metadata.name\\=a',
      'metadata.name!=z\\,metadata.name=a,metadata.namespace=team',
      'metadata.namespace!=\\\\,metadata.name=a',
      'metadata.name=a,metadata.name=b',
      'metadata.name=b,metadata.name=a',
      'xmetadata.name=a',
      'metadata.name=a\\,b',
      'metadata.name=',
      ',metadata.name=a,',
      ' metadata.name=a',
      'metadata.name = a',
      'metadata.name=a\n',
    ]) {
      const path = `${inTeam}/configmaps?fieldSelector=${encodeURIComponent(selector)}`;
      const { status, json } = await server.get<{ items: readonly { metadata: { name: string } }[] }>(path, {
        as: as('namer'),
      });
      const seen = status === 200 ? json.items.map(({ metadata }) => metadata.name) : [];
      if (seen.some((name) => name !== 'a')) leaks.push(`${selector}: ${seen}`);
      assert.ok([200, 400, 403].includes(status), `${selector}: ${status}`);
    }
    const twice = `${inTeam}/configmaps?fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db`;
    const { status, json } = await server.get<{ items: unknown[] }>(twice, { as: as('namer') });
    if (status === 200 && json.items.length > 1) leaks.push('given twice');
    assert.deepEqual(leaks, []);
  });

  test('delete is not deletecollection, and the other way round', async () => {
    await grant(server, 'deleter', [rule('delete', 'configmaps')], [user('deleter')], 'team');
    await grant(server, 'sweeper', [rule('deletecollection', 'configmaps')], [user('sweeper')], 'team');
    const nothing = `${inTeam}/configmaps?labelSelector=none%3Dsuch`;
    await gets('deleter', [
      ['DELETE', nothing, 403],
      ['DELETE', `${inTeam}/configmaps/b`, 200],
      ['DELETE', `${inTeam}/configmaps/`, 403],
    ]);
    await gets('sweeper', [
      ['DELETE', `${inTeam}/configmaps/c`, 403],
      ['DELETE', nothing, 200],
      ['DELETE', `${core}/configmaps?labelSelector=none%3Dsuch`, 403],
    ]);
    assert.equal((await server.get(`${inTeam}/configmaps/c`)).status, 200);
  });

  test('a subresource is not its resource', async () => {
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await make(server, `${inTeam}/pods`, pod);
    await grant(server, 'agent', [rule('get patch', 'pods/status')], [user('agent')], 'team');
    const patch = { body: '{"status":{"message":"seen"}}', headers: merge };
    await gets('agent', [
      ['GET', `${inTeam}/pods/p/status`, 200],
      ['PATCH', `${inTeam}/pods/p/status`, 200, patch],
      ['GET', `${inTeam}/pods/p`, 403],
      ['PATCH', `${inTeam}/pods/p`, 403, patch],
      ['PUT', `${inTeam}/pods/p/status`, 403, { body: pod }],
      ['POST', `${inTeam}/pods/p/eviction`, 403, { body: {} }],
      ['GET', `${inTeam}/nodes/p/status`, 403],
    ]);
    await grant(server, 'observer', [rule('get', 'pods */status')], [user('observer')]);
    await gets('observer', [
      ['GET', `${inTeam}/pods/p`, 200],
      ['GET', `${inTeam}/pods/p/status`, 200],
      ['GET', `${core}/namespaces/team/status`, 200],
      ['GET', `${inTeam}/pods/p/log`, 403],
      ['PATCH', `${inTeam}/pods/p/status`, 403, patch],
    ]);
    assert.deepEqual(
      (await outcome(server, 'POST', `${inTeam}/serviceaccounts/default/token`, { as: as('agent'), body: {} }))[1],
      refusal({
        by: 'agent',
        verb: 'create',
        resource: 'serviceaccounts/token',
        namespace: 'team',
        name: 'default',
      }),
    );
  });

  test('paths: those of cluster roles that are bound in the cluster', async () => {
    const metrics = [{ verbs: ['get'], nonResourceURLs: ['/metrics', '/livez/*'] }];
    assert.equal(await ask('watcher', 'GET', '/metrics'), 403);
    await make(server, rolesPath(), role('metrics', metrics));
    await make(server, bindingsPath('team'), binding('metrics', 'ClusterRole', 'metrics', user('watcher')));
    const [status, message] = await outcome(server, 'GET', '/metrics', { as: as('watcher') });
    assert.deepEqual([status, message], [403, pathRefusal('watcher', 'get', '/metrics')]);
    await make(server, bindingsPath(), binding('metrics', 'ClusterRole', 'metrics', user('watcher')));
    await gets('watcher', [
      ['GET', '/metrics', 200],
      ['GET', '/livez/ping', 200],
      ['HEAD', '/metrics', 403],
      ['POST', '/metrics', 403, { body: {} }],
      ['GET', '/metrics/more', 403],
      ['GET', '/readyz/ping', 403],
    ]);
    assert.equal((await server.post(rolesPath('team'), role('paths', metrics))).status, 422, 'no paths in a namespace');
  });
});

describe('writes that may come to be others', () => {
  before(async () => {
    await grant(server, 'patcher', [rule('get patch', 'configmaps leases secrets')], [user('patcher')], 'team');
    await grant(server, 'updater', [rule('get update', 'serviceaccounts')], [user('updater')], 'team');
    await grant(server, 'maker', [rule('patch create', 'configmaps', { names: ['made'] })], [user('maker')], 'team');
  });

  test('an apply that creates needs create; one that changes does not', async () => {
    const path = (name: string): string => `${inTeam}/configmaps/${name}?fieldManager=m`;
    const sent = (name: string) => ({ body: configMap(name), headers: apply });
    const [status, message] = await outcome(server, 'PATCH', path('new'), { ...sent('new'), as: as('patcher') });
    const place = { resource: 'configmaps', namespace: 'team', name: 'new' };
    assert.deepEqual([status, message], [403, refusal({ by: 'patcher', verb: 'create', ...place })]);
    await gets('patcher', [
      ['PATCH', `${path('new')}&dryRun=All`, 403, sent('new')],
      ['PATCH', `${path('new')}&force=true`, 403, sent('new')],
      ['PATCH', path('a'), 200, sent('a')],
      ['PATCH', `${inTeam}/configmaps/new`, 404, { body: '{}', headers: merge }],
    ]);
    assert.equal((await server.get(`${inTeam}/configmaps/new`)).status, 404);
    // The name stands in the path: a rule for this name holds.
    assert.equal(await ask('maker', 'PATCH', path('made'), sent('made')), 201);
    assert.equal(await ask('maker', 'PATCH', path('other'), sent('other')), 403);
  });

  test('a PUT that creates needs create', async () => {
    const path = `${inTeam}/serviceaccounts/put`;
    const options = { as: as('updater'), body: { metadata: { name: 'put' } } };
    const [status, message] = await outcome(server, 'PUT', path, options);
    const place = { resource: 'serviceaccounts', namespace: 'team', name: 'put' };
    assert.deepEqual([status, message], [403, refusal({ by: 'updater', verb: 'create', ...place })]);
    assert.equal((await server.get(path)).status, 404);
  });

  test('a PUT that changes does not', async () => {
    const path = `${inTeam}/serviceaccounts/default`;
    await until(async () => (await server.get(path)).status === 200, 'the default account is made');
    assert.equal(await ask('updater', 'PUT', path, { body: { metadata: { name: 'default' } } }), 200);
  });

  test('a dry run needs what the write needs', async () => {
    const body = configMap('dry');
    await gets('stranger', [
      ['POST', `${inTeam}/configmaps?dryRun=All`, 403, { body }],
      ['DELETE', `${inTeam}/configmaps/a?dryRun=All`, 403],
      ['DELETE', `${inTeam}/configmaps?dryRun=All`, 403],
    ]);
  });
});

describe('changes of roles and bindings', () => {
  const lists = `${inTeam}/configmaps`;
  const role403 = rolesPath('team');
  const put = async (path: string, body: object): Promise<void> => {
    const { status, text } = await server.put(path, body);
    assert.equal(status, 200, text);
  };

  test('count for the next request, again and again', async () => {
    await make(server, role403, role('changing', [rule('list', 'configmaps')]));
    const bound = binding('changing', 'Role', 'changing', user('changing'));
    for (let round = 0; round < 20; round++) {
      await make(server, bindingsPath('team'), bound);
      assert.equal(await ask('changing', 'GET', lists), 200, `granted, round ${round}`);
      await server.delete(`${bindingsPath('team')}/changing`);
      assert.equal(await ask('changing', 'GET', lists), 403, `taken away, round ${round}`);
    }
    await make(server, bindingsPath('team'), bound);
    for (let round = 0; round < 20; round++) {
      await put(`${role403}/changing`, role('changing', [rule('list', 'configmaps')]));
      assert.equal(await ask('changing', 'GET', lists), 200, `rules, round ${round}`);
      await put(`${role403}/changing`, role('changing', []));
      assert.equal(await ask('changing', 'GET', lists), 403, `no rules, round ${round}`);
    }
    await put(`${role403}/changing`, role('changing', [rule('list', 'configmaps')]));
    await put(`${bindingsPath('team')}/changing`, { ...bound, subjects: [user('somebody-else')] });
    assert.equal(await ask('changing', 'GET', lists), 403, 'another subject');
    await put(`${bindingsPath('team')}/changing`, bound);
    await server.delete(`${role403}/changing`);
    assert.equal(await ask('changing', 'GET', lists), 403, 'the role is gone');
  });

  test('count for the next request of each of many at once', async () => {
    await make(server, rolesPath(), role('many', [rule('list', 'nodes')]));
    const rounds = Object.keys(users).map(async (name) => {
      for (let round = 0; round < 5; round++) {
        await make(server, bindingsPath(), binding(`many-${name}`, 'ClusterRole', 'many', user(name)));
        assert.equal(await ask(name, 'GET', `${core}/nodes`), 200);
        await server.delete(`${bindingsPath()}/many-${name}`);
        const expected = name === 'lister' ? 200 : 403;
        assert.equal(await ask(name, 'GET', `${core}/nodes`), expected, name);
      }
    });
    await Promise.all(rounds);
  });

  test('are taken by those who have asked on the same connection before', async () => {
    await grant(server, 'same', [rule('get', 'configmaps')], [user('changing')], 'team');
    const path = `${inTeam}/configmaps/a`;
    const asked = Array.from({ length: 50 }, () => ask('changing', 'GET', path));
    assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]));
    await server.delete(`${bindingsPath('team')}/same`);
    const later = Array.from({ length: 50 }, () => ask('changing', 'GET', path));
    assert.deepEqual(new Set(await Promise.all(later)), new Set([403]));
  });

  test('do not end watches that are open', async () => {
    const rules = [rule('list watch', 'configmaps')];
    await grant(server, 'watched', rules, [group('system:serviceaccounts:team')], 'team');
    await make(server, `${inTeam}/serviceaccounts`, { metadata: { name: 'eye' } });
    const token = (await server.post<{ status: { token: string } }>(`${inTeam}/serviceaccounts/eye/token`, {})).json
      .status.token;
    const watch = server.watch(`${lists}?watch=1&fieldSelector=metadata.name%3Dlate`, { token });
    try {
      await watch.until(({ status }) => status === 200);
      await server.delete(`${bindingsPath('team')}/watched`);
      assert.equal((await outcome(server, 'GET', lists, { as: { token } }))[0], 403);
      await make(server, lists, configMap('late'));
      await server.delete(`${lists}/late`);
      await watch.until(({ events }) => events.length === 2);
      assert.deepEqual(
        watch.events.map(({ type }) => type),
        ['ADDED', 'DELETED'],
      );
    } finally {
      watch.close();
    }
  });

  test('a namespace that goes takes its bindings with it', async () => {
    await make(server, `${core}/namespaces`, { metadata: { name: 'short' } });
    await grant(server, 'short', [rule('list', 'configmaps')], [user('stranger')], 'short');
    const path = `${core}/namespaces/short/configmaps`;
    assert.equal(await ask('stranger', 'GET', path), 200);
    await server.delete(`${core}/namespaces/short`);
    await until(async () => (await server.get(`${core}/namespaces/short`)).status === 404, 'the namespace goes');
    assert.equal(await ask('stranger', 'GET', path), 403);
  });
});
