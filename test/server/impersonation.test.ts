import assert from 'node:assert/strict';
import https from 'node:https';
import { after, before, describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { requestToken } from '../support/all-authenticators.ts';
import { nameOf, type Shown, send, whoIs } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Requests on behalf of somebody else (spec sections 2.6, 5.7), by whom they are allowed to. */

let server: OrchProcess;
let admin: Shown;
/** May be some users, groups and accounts, and no others. */
let helper: Shown;
const rbac = '/apis/rbac.authorization.orch.io/v1';
const core = '/api/v1/namespaces/default';

before(async () => {
  server = await OrchProcess.start();
  admin = server.credentials;
  await server.post(`${core}/serviceaccounts`, { metadata: { name: 'helper' } });
  helper = { token: await requestToken(server, 'helper') };
  const impersonate = (apiGroups: string, resources: readonly string[], resourceNames: readonly string[]) => ({
    verbs: ['impersonate'],
    apiGroups: [apiGroups],
    resources,
    resourceNames,
  });
  const rules = [
    impersonate('', ['users'], ['bob', 'system:serviceaccount:default:a:b']),
    impersonate('', ['groups'], ['dev', 'ops, and more']),
    impersonate('authentication.orch.io', ['uids'], ['u-1']),
    impersonate('authentication.orch.io', ['userextras/scopes'], ['read']),
    { verbs: ['get', 'list', 'watch', 'create'], apiGroups: [''], resources: ['configmaps'] },
  ];
  await grant('helper', rules, { kind: 'ServiceAccount', name: 'helper', namespace: 'default' });
  const account = impersonate('', ['serviceaccounts'], ['robot']);
  const role = { metadata: { name: 'robot' }, rules: [account] };
  assert.equal((await server.post(`${rbac}/namespaces/default/roles`, role)).status, 201);
  const binding = {
    metadata: { name: 'robot' },
    subjects: [{ kind: 'ServiceAccount', name: 'helper', namespace: 'default' }],
    roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'Role', name: 'robot' },
  };
  assert.equal((await server.post(`${rbac}/namespaces/default/rolebindings`, binding)).status, 201);
});
after(() => server[Symbol.asyncDispose]());

async function grant(name: string, rules: unknown, subject: object): Promise<void> {
  assert.equal((await server.post(`${rbac}/clusterroles`, { metadata: { name }, rules })).status, 201);
  const roleRef = { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name };
  const body = { metadata: { name }, subjects: [subject], roleRef };
  assert.equal((await server.post(`${rbac}/clusterrolebindings`, body)).status, 201);
}

type Headers = NonNullable<Shown['headers']>;
const as = (shown: Shown, headers: Headers): Shown => ({ ...shown, headers });

describe('who is impersonated is who the request is from', () => {
  test('user, uid, groups and more', async () => {
    const headers = {
      'Impersonate-User': 'bob',
      'Impersonate-Uid': 'u-1',
      'Impersonate-Group': ['dev', 'ops, and more'],
      'Impersonate-Extra-Scopes': ['read', 'write'],
      'Impersonate-Extra-Example.com%2fTEAM': 'a',
    };
    assert.deepEqual(await whoIs(server, as(admin, headers)), {
      username: 'bob',
      uid: 'u-1',
      groups: ['dev', 'ops, and more', 'system:authenticated'],
      extra: { scopes: ['read', 'write'], 'example.com/team': ['a'] },
    });
  });

  test('nothing of the sender is left', async () => {
    assert.deepEqual(await whoIs(server, as(admin, { 'Impersonate-User': 'bob' })), {
      username: 'bob',
      groups: ['system:authenticated'],
    });
  });

  test('a service account has its groups, unless others are named', async () => {
    const account = { 'Impersonate-User': 'system:serviceaccount:default:robot' };
    const user = await whoIs(server, as(admin, account));
    assert.ok(typeof user === 'object');
    assert.deepEqual(user.groups, ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated']);
    const other = await whoIs(server, as(admin, { ...account, 'Impersonate-Group': 'dev' }));
    assert.deepEqual(typeof other === 'object' && other.groups, ['dev', 'system:authenticated']);
  });

  test('the anonymous user is not authenticated', async () => {
    for (const headers of [
      { 'Impersonate-User': 'system:anonymous' },
      { 'Impersonate-User': 'bob', 'Impersonate-Group': 'system:unauthenticated' },
    ]) {
      assert.equal(await nameOf(server, as(admin, headers)), 403, 'who may not ask who he is');
    }
  });
});

describe('who may only be some', () => {
  const rows: readonly (readonly [headers: Headers, expected: string])[] = [
    [{ 'Impersonate-User': 'bob' }, 'bob'],
    [{ 'Impersonate-User': 'system:serviceaccount:default:robot' }, 'system:serviceaccount:default:robot'],
    [
      {
        'Impersonate-User': 'bob',
        'Impersonate-Group': ['dev', 'ops, and more'],
        'Impersonate-Uid': 'u-1',
        'Impersonate-Extra-Scopes': 'read',
      },
      'bob',
    ],
    [{ 'Impersonate-User': 'root' }, 'users "root" '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': 'system:masters' }, 'groups "system:masters" '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': ['dev', 'root'] }, 'groups "root" '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': 'ops' }, 'groups "ops" '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Group': '' }, 'groups '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Uid': 'u-2' }, 'uids.authentication.orch.io "u-2" '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Extra-Scopes': 'write' }, 'userextras.authentication.orch.io "write" '],
    [{ 'Impersonate-User': 'bob', 'Impersonate-Extra-Other': 'read' }, 'userextras.authentication.orch.io "read" '],
    [
      { 'Impersonate-User': 'bob', 'Impersonate-Extra-Scopes%2Fx': 'read' },
      'userextras.authentication.orch.io "read" ',
    ],
    [{ 'Impersonate-User': 'system:serviceaccount:default:other' }, 'serviceaccounts "other" '],
    [{ 'Impersonate-User': 'system:serviceaccount:orch-system:robot' }, 'serviceaccounts "robot" '],
    [{ 'Impersonate-User': 'system:serviceaccount:default:a:b' }, 'system:serviceaccount:default:a:b'],
  ];
  for (const [headers, expected] of rows) {
    test(`${JSON.stringify(headers)}: ${expected}`, async () => {
      const path = '/apis/authentication.orch.io/v1/selfsubjectreviews';
      const { status, text } = await send(server, 'POST', path, { shown: as(helper, headers), body: {} });
      if (!expected.endsWith(' ')) return assert.equal(JSON.parse(text).status.userInfo.username, expected);
      assert.equal(status, 403, text);
      const { message, details } = JSON.parse(text);
      assert.ok(
        message.startsWith(`${expected}is forbidden: User "system:serviceaccount:default:helper" cannot `),
        text,
      );
      assert.match(message, /cannot impersonate resource/);
      assert.equal(typeof details.kind, 'string');
    });
  }

  test('of two names the first counts', async () => {
    for (const names of [
      ['bob', 'root'],
      ['', 'bob'],
    ]) {
      assert.equal(await nameOf(server, as(helper, { 'Impersonate-User': names })), 'bob');
    }
  });

  test('must say who: 400', async () => {
    for (const headers of [
      { 'Impersonate-Group': 'dev' },
      { 'Impersonate-User': '', 'Impersonate-Uid': 'u-1' },
      { 'Impersonate-User': '' },
      { 'Impersonate-Extra-Scopes': 'read' },
      { 'Impersonate-User': 'bob', 'Impersonate-Groups': 'dev' },
      { 'Impersonate-User': 'b\xffb' },
    ]) {
      assert.equal(await nameOf(server, as(helper, headers)), 400, JSON.stringify(headers));
    }
  });
});

describe('what is done on behalf of somebody', () => {
  test('is refused and allowed as it is for them, not for the sender', async () => {
    const shown = as(admin, { 'Impersonate-User': 'nobody-in-particular' });
    const { status, text } = await send(server, 'GET', `${core}/configmaps`, { shown });
    assert.equal(status, 403);
    assert.match(text, /User \\"nobody-in-particular\\" cannot list/);
    assert.equal((await send(server, 'GET', '/version', { shown })).status, 200);
  });

  test('writes as they would: managers and objects show nothing of it', async () => {
    const rules = [{ verbs: ['create', 'get'], apiGroups: [''], resources: ['configmaps'] }];
    await grant('writer', rules, { kind: 'Group', apiGroup: 'rbac.authorization.orch.io', name: 'writers' });
    const headers = { 'Impersonate-User': 'will', 'Impersonate-Group': 'writers', 'user-agent': 'tool/1.0' };
    const body = { metadata: { name: 'written' }, data: { a: 'b' } };
    const { status, text } = await send(server, 'POST', `${core}/configmaps`, { shown: as(admin, headers), body });
    assert.equal(status, 201, text);
    const { metadata } = JSON.parse(text);
    assert.deepEqual(
      metadata.managedFields.map(({ manager, operation }: Record<string, string>) => [manager, operation]),
      [['tool', 'Update']],
    );
    assert.doesNotMatch(text, /will|writers|orch-admin/);
  });

  test('watches as they would, for as long as the watch goes on', async () => {
    const rules = [{ verbs: ['watch', 'list'], apiGroups: [''], resources: ['configmaps'] }];
    await grant('watcher', rules, { kind: 'User', apiGroup: 'rbac.authorization.orch.io', name: 'wally' });
    const headers = { 'Impersonate-User': 'wally' };
    let received = '';
    const request = https.get(
      `${server.url}${core}/configmaps?watch=true`,
      { agent: false, ...server.credentials, headers },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          received += chunk;
        });
      },
    );
    request.on('error', () => {}); // it is ended below
    const lines = () => received.split('\n').slice(0, -1);
    const names = () => lines().map((line) => JSON.parse(line).object.metadata.name);
    await until(() => names().includes('written'), 'the watch has begun');
    await server.post(`${core}/configmaps`, { metadata: { name: 'later' } });
    await until(() => names().includes('later'), 'the watch goes on');
    request.destroy();
    const refused = await send(server, 'GET', `${core}/secrets?watch=true`, { shown: as(admin, headers) });
    assert.equal(refused.status, 403);
  });

  test('asks for tokens and reviews as they would', async () => {
    const shown = as(admin, { 'Impersonate-User': 'bob' });
    const token = `${core}/serviceaccounts/helper/token`;
    assert.equal((await send(server, 'POST', token, { shown, body: {} })).status, 403);
    const review = '/apis/authorization.orch.io/v1/selfsubjectaccessreviews';
    const body = { spec: { resourceAttributes: { verb: 'delete', resource: 'secrets' } } };
    const { text } = await send(server, 'POST', review, { shown, body });
    assert.deepEqual(JSON.parse(text).status, { allowed: false });
  });

  test('says nothing of itself to a credential that does not hold: 401', async () => {
    assert.equal(await nameOf(server, as({ token: 'x' }, { 'Impersonate-User': 'bob' })), 401);
    assert.equal((await send(server, 'GET', '/version', { shown: as({}, { 'Impersonate-User': 'bob' }) })).status, 403);
  });
});
