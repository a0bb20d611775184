import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { authorityOfAll } from '../../src/controllers/certificate-signing.ts';
import { chooseControllers } from '../../src/controllers/controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import { signerNames } from '../../src/dialect/signer-names.ts';
import { configMap } from '../../src/kinds/core/config-map.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { makeRequest, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import { createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { systemEnvironment } from '../../src/server/wiring/environment.ts';
import { type Document, Side, serverForSuite } from '../support/in-process-server.ts';
import { memoryConfiguration } from '../support/server-configuration.ts';

/** Several control planes over one store, in one process: nothing of one is seen in another. */

const jane: UserInfo = { username: 'jane', uid: '', groups: ['system:authenticated'], extra: {} };
const agent: UserInfo = { username: 'system:node:n1', uid: '', groups: ['system:nodes'], extra: {} };

const core = '/api/v1';
const configMaps = (namespace: string): string => `${core}/namespaces/${namespace}/configmaps`;
const pods = (namespace: string): string => `${core}/namespaces/${namespace}/pods`;
const rbac = '/apis/rbac.authorization.orch.io/v1';
const reviews = '/apis/authentication.orch.io/v1/tokenreviews';
const named = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({ metadata: { name, ...more } });
const labelled = (name: string, labels: Readonly<Record<string, string>>) => named(name, { labels });
const pod = (name: string, spec: Readonly<Record<string, unknown>> = {}) => ({
  ...named(name),
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});
const ownedBy = (name: string, { metadata }: Document) =>
  named(name, { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: metadata.name, uid: metadata.uid }] });

const late: Kind = {
  ...configMap(orch),
  group: 'late.example',
  kind: 'Late',
  listKind: 'LateList',
  resource: 'lates',
  singular: 'late',
  shortNames: [],
};

interface Sides {
  readonly one: Side;
  readonly other: Side;
  /** Of this run alone, there in both scopes. */
  readonly namespace: string;
}

/** What is done in one scope, and what must not be seen of it in another. */
const rows: Readonly<Record<string, (sides: Sides) => Promise<void>>> = {
  async get({ one, other, namespace }) {
    const path = `${configMaps(namespace)}/a`;
    await one.create(configMaps(namespace), { ...named('a'), data: { in: 'one' } });
    assert.equal((await other.get(path)).status, 404);
    await other.create(configMaps(namespace), { ...named('a'), data: { in: 'other' } });
    assert.deepEqual((await one.get(path)).json.data, { in: 'one' });
    assert.deepEqual((await other.get(path)).json.data, { in: 'other' });
    for (const [method, body] of [
      ['PUT', { ...named('a'), data: { in: 'one again' } }],
      ['DELETE', {}],
    ] as const) {
      assert.equal((await one.send(method, path, body)).status, 200);
      assert.deepEqual((await other.get(path)).json.data, { in: 'other' }, method);
    }
  },
  async 'list, by label, by field, and of all namespaces'({ one, other, namespace }) {
    await one.create(configMaps(namespace), labelled('mine', { set: namespace }));
    await other.create(configMaps(namespace), labelled('theirs', { set: namespace }));
    await one.create(pods(namespace), pod('mine', { nodeName: namespace, serviceAccountName: 'default' }));
    await other.create(pods(namespace), pod('theirs', { nodeName: namespace, serviceAccountName: 'default' }));
    for (const [side, name] of [
      [one, 'mine'],
      [other, 'theirs'],
    ] as const) {
      for (const list of [
        configMaps(namespace),
        `${configMaps(namespace)}?labelSelector=set%3D${namespace}`,
        `${core}/configmaps?labelSelector=set%3D${namespace}`,
        `${configMaps(namespace)}?resourceVersion=0`,
        `${pods(namespace)}?fieldSelector=spec.nodeName%3D${namespace}`,
        `${core}/pods?fieldSelector=spec.nodeName%3D${namespace}`,
        `${pods(namespace)}?fieldSelector=metadata.name%3D${name}`,
      ]) {
        assert.deepEqual(await side.names(list), [`${namespace}/${name}`], list);
      }
      const { json } = await side.get(configMaps(namespace));
      const exact = `resourceVersion=${json.metadata.resourceVersion}&resourceVersionMatch=Exact`;
      assert.deepEqual(await side.names(`${configMaps(namespace)}?${exact}`), [`${namespace}/${name}`], 'exact');
    }
    assert.deepEqual(await one.names(`${pods(namespace)}?fieldSelector=metadata.name%3Dtheirs`), []);
  },
  async watch({ one, other, namespace }) {
    const stop = new AbortController();
    const before = (await other.get(configMaps(namespace))).json.metadata.resourceVersion;
    const watches = [
      await other.follow(`${configMaps(namespace)}?watch=1`, stop.signal),
      await other.follow(`${core}/configmaps?watch=1&resourceVersion=${before}`, stop.signal),
      await other.follow(`${configMaps(namespace)}?watch=1&labelSelector=set%3Da`, stop.signal),
    ];
    await one.create(configMaps(namespace), labelled('mine', { set: 'a' }));
    await one.send('DELETE', `${configMaps(namespace)}/mine`);
    await other.create(configMaps(namespace), labelled('theirs', { set: 'a' }));
    watches.push(await other.follow(`${configMaps(namespace)}?watch=1&resourceVersion=${before}`, stop.signal));
    for (const [at, seen] of watches.entries()) {
      await until(() => seen.includes('ADDED theirs'), `watch ${at} tells nothing`);
      assert.deepEqual(seen, ['ADDED theirs'], `watch ${at}`);
    }
    stop.abort();
  },
  async 'continue tokens'({ one, other, namespace }) {
    for (const side of [one, other]) {
      for (const name of ['a', 'b']) await side.create(configMaps(namespace), named(name));
    }
    const first = `${configMaps(namespace)}?limit=1`;
    const { json } = await one.get(first);
    const next = `${first}&continue=${json.metadata.continue}`;
    assert.deepEqual(await one.names(next), [`${namespace}/b`]);
    const refused = await other.get(next);
    assert.equal(refused.status, 400);
    assert.match(refused.json.message, /it belongs to another list/);
  },
  async 'deletion of a collection'({ one, other, namespace }) {
    for (const side of [one, other]) await side.create(configMaps(namespace), named('a'));
    assert.equal((await one.send('DELETE', configMaps(namespace))).status, 200);
    assert.deepEqual(await one.names(configMaps(namespace)), []);
    assert.deepEqual(await other.names(configMaps(namespace)), [`${namespace}/a`]);
  },
  async 'owners, and who is collected'({ one, other, namespace }) {
    const owner = await one.create(configMaps(namespace), named('owner'));
    const theirs = await other.create(configMaps(namespace), named('owner'));
    await one.create(configMaps(namespace), ownedBy('owned', owner));
    await other.create(configMaps(namespace), ownedBy('owned', theirs));
    // The owner that it names is in the other scope: here it has none.
    await other.create(configMaps(namespace), ownedBy('stray', owner));
    await until(() => other.isGone(`${configMaps(namespace)}/stray`), 'an owner of another scope counts');
    assert.equal((await one.send('DELETE', `${configMaps(namespace)}/owner`)).status, 200);
    await until(() => one.isGone(`${configMaps(namespace)}/owned`), 'what is owned is not collected');
    assert.deepEqual(await other.names(configMaps(namespace)), [`${namespace}/owned`, `${namespace}/owner`]);
  },
  async 'roles and bindings'({ one, other, namespace }) {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
    const group = 'rbac.authorization.orch.io';
    const subjects = [{ kind: 'User', name: 'jane', apiGroup: group }];
    const roleRef = (kind: string) => ({ apiGroup: group, kind, name: namespace });
    await one.create(`${rbac}/namespaces/${namespace}/roles`, { ...named(namespace), rules });
    const binding = { ...named('b'), subjects, roleRef: roleRef('Role') };
    await one.create(`${rbac}/namespaces/${namespace}/rolebindings`, binding);
    assert.equal((await one.get(configMaps(namespace), jane)).status, 200);
    assert.equal((await other.get(configMaps(namespace), jane)).status, 403);
    await one.create(`${rbac}/clusterroles`, { ...named(namespace), rules });
    const everywhere = { ...named(namespace), subjects, roleRef: roleRef('ClusterRole') };
    await one.create(`${rbac}/clusterrolebindings`, everywhere);
    assert.equal((await one.get(`${core}/configmaps`, jane)).status, 200);
    assert.equal((await other.get(`${core}/configmaps`, jane)).status, 403);
    const missing = { ...named('b'), subjects, roleRef: roleRef('Role') };
    // Jane may bind nothing there: what she holds, she holds in the one scope.
    assert.equal((await other.send('POST', `${rbac}/namespaces/${namespace}/rolebindings`, missing, jane)).status, 403);
    assert.equal((await one.send('DELETE', `${rbac}/clusterrolebindings/${namespace}`)).status, 200);
  },
  async 'what nodes may read'({ one, other, namespace }) {
    const secret = `${core}/namespaces/${namespace}/secrets`;
    for (const side of [one, other]) await side.create(secret, named('s'));
    const volumes = [{ name: 'v', secret: { secretName: 's' } }];
    await one.create(pods(namespace), pod('p', { nodeName: 'n1', volumes, serviceAccountName: 'default' }));
    await until(async () => (await one.get(`${secret}/s`, agent)).status === 200, 'the node may not read');
    assert.equal((await other.get(`${secret}/s`, agent)).status, 403);
  },
  async 'namespaces and their deletion'({ one, other, namespace }) {
    const own = `${namespace}-own`;
    await one.create(`${core}/namespaces`, named(own));
    const refused = await other.send('POST', configMaps(own), named('a'));
    assert.deepEqual([refused.status, refused.json.reason], [404, 'NotFound'], 'made in the other');
    await other.create(`${core}/namespaces`, named(own));
    for (const side of [one, other]) await side.create(configMaps(own), named('a'));
    assert.equal((await one.send('DELETE', `${core}/namespaces/${own}`)).status, 200);
    await until(() => one.isGone(`${core}/namespaces/${own}`), 'the namespace stays');
    assert.deepEqual(await other.names(configMaps(own)), [`${own}/a`]);
    await other.create(configMaps(own), named('b'));
  },
  async 'service accounts and their tokens'({ one, other, namespace }) {
    const accounts = `${core}/namespaces/${namespace}/serviceaccounts`;
    for (const side of [one, other]) await side.create(accounts, named('robot'));
    const { status, json } = await one.send('POST', `${accounts}/robot/token`, { spec: {} });
    assert.equal(status, 201);
    const { token } = json.status;
    const isKnown = async (side: Side): Promise<boolean | undefined> =>
      (await side.send('POST', reviews, { spec: { token } })).json.status.authenticated;
    assert.equal(await isKnown(one), true);
    assert.notEqual(await isKnown(other), true);
  },
  async 'tokens of the start of nodes'({ one, other, namespace }) {
    const secrets = `${core}/namespaces/${orch.namespaces.system}/secrets`;
    const id = namespace.padEnd(6, '0').slice(0, 6);
    const stringData = { 'token-id': id, 'token-secret': '0123456789abcdef', 'usage-bootstrap-authentication': 'true' };
    const type = `bootstrap.${orch.domain}/token`;
    await one.create(secrets, { ...named(`bootstrap-token-${id}`), type, stringData });
    const spec = { token: `${id}.0123456789abcdef` };
    assert.equal((await one.send('POST', reviews, { spec })).json.status.authenticated, true);
    assert.notEqual((await other.send('POST', reviews, { spec })).json.status.authenticated, true);
    assert.equal((await one.send('DELETE', `${secrets}/bootstrap-token-${id}`)).status, 200);
  },
  async 'resources that come at run time'({ one, other, namespace }) {
    const { resource } = await one.resources.add(late);
    const lates = `/apis/late.example/v1/namespaces/${namespace}/lates`;
    const groups = async (side: Side) => (await side.get('/apis')).json.groups.map(({ name }) => name);
    await one.create(lates, named('a'));
    assert.ok((await groups(one)).includes('late.example'));
    assert.ok(!(await groups(other)).includes('late.example'));
    for (const path of [lates, `${lates}/a`, '/apis/late.example', '/openapi/v3/apis/late.example/v1']) {
      assert.equal((await other.get(path)).status, 404, path);
    }
    const again = await other.resources.add(late);
    assert.deepEqual(await other.names(lates), []);
    other.resources.remove(again.resource);
    assert.deepEqual(await one.names(lates), [`${namespace}/a`]);
    one.resources.remove(resource);
  },
  async 'writes that the second thread does'({ one, other, namespace }) {
    const data = { text: 'x'.repeat(500_000) };
    await one.create(configMaps(namespace), { ...named('large'), data });
    assert.equal((await other.get(`${configMaps(namespace)}/large`)).status, 404);
    await other.create(configMaps(namespace), { ...named('large'), data: { text: `${data.text}y` } });
    const changed = { ...named('large'), data: { text: `${data.text}z` } };
    assert.equal((await one.send('PUT', `${configMaps(namespace)}/large`, changed)).status, 200);
    assert.equal((await other.get(`${configMaps(namespace)}/large`)).json.data['text'], `${data.text}y`);
  },
};

describe('scopes over one store', { timeout: 120_000 }, () => {
  const running = serverForSuite();
  const scopes = new Map<string, Side>();

  before(async () => {
    scopes.set('the default one', running.side);
    for (const name of ['b', 'c']) scopes.set(name, new Side(await running.server.openScope(name)));
  });

  const pairs = [
    ['the default one', 'b'],
    ['b', 'the default one'],
    ['b', 'c'],
  ] as const;
  let runs = 0;
  for (const [name, run] of Object.entries(rows)) {
    for (const [first, second] of pairs) {
      test(`${name}: of ${first} in ${second}`, async () => {
        const [one, other] = [scopes.get(first), scopes.get(second)];
        assert.ok(one && other);
        const namespace = `n${runs++}`;
        for (const side of [one, other]) {
          await side.create(`${core}/namespaces`, named(namespace));
          await side.create(`${core}/namespaces/${namespace}/serviceaccounts`, named('default'));
        }
        await run({ one, other, namespace });
      });
    }
  }

  test('one that is closed is gone, and comes again with what it held', async () => {
    const { server } = running;
    const first = await server.openScope('d');
    await new Side(first).create(configMaps('default'), named('kept'));
    await assert.rejects(server.openScope('d'), /scope "d" is open/);
    await assert.rejects(server.openScope('no/scope'), /is no name of a scope/);
    first.close();
    first.close();
    const again = await server.openScope('d');
    assert.deepEqual(await new Side(again).names(configMaps('default')), ['default/kept']);
    again.close();
  });
});

test('only the default scope signs certificates: they say in every scope who somebody is', async () => {
  const said: string[] = [];
  const authority = makeCertificate({ name: 'some-ca', authority: true });
  const certificateSigning = { authorities: authorityOfAll(() => authority), lifetimeMsMax: 3600_000 };
  const server = await createApiServer(
    {
      ...memoryConfiguration,
      controllers: { run: chooseControllers(['csrsigning']), rootAuthority: '', certificateSigning },
      logger: { ...silentLogger, info: (message) => said.push(message) },
    },
    systemEnvironment,
  );
  try {
    await server.start();
    const notSigned = (): number => said.filter((message) => /certificates are not signed/.test(message)).length;
    assert.equal(notSigned(), 0);
    const sides = [new Side(server), new Side(await server.openScope('b'))] as const;
    await until(() => notSigned() === 1, 'it does not say that it does not sign');
    const path = `/apis/${orch.group('certificates')}/v1/certificatesigningrequests`;
    const request = Buffer.from(requestToPem(makeRequest())).toString('base64');
    const spec = { request, signerName: signerNames(orch).client, usages: ['client auth'] };
    const approved = { status: { conditions: [{ type: 'Approved', status: 'True' }] } };
    for (const side of sides.toReversed()) {
      const { metadata } = await side.create(path, { ...named('r'), spec });
      const object = { ...named('r', { resourceVersion: metadata.resourceVersion }), spec, ...approved };
      assert.equal((await side.send('PUT', `${path}/r/approval`, object)).status, 200);
    }
    const isIssued = async (side: Side): Promise<boolean> => 'certificate' in (await side.get(`${path}/r`)).json.status;
    await until(() => isIssued(sides[0]), 'nothing is issued');
    assert.equal(await isIssued(sides[1]), false);
    assert.equal(notSigned(), 1);
  } finally {
    await server.stop();
  }
});
