import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { replaceFile } from '../../src/base/atomic-file.ts';
import { createLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { parseYaml } from '../../src/codec/yaml.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { internalError } from '../../src/meta/status-error.ts';
import { makeAuthority, makeIssued } from '../../src/pki/ca.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { ClusterInfo } from '../../src/server/upkeep/cluster-info.ts';
import { Folder, rbacPath } from '../support/authorization.ts';
import { Command } from '../support/command.ts';
import { send } from '../support/identity.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** The connection data for nodes that join (spec section 5.4): what it is, who may read it, and what keeps it. */

interface ConfigMap {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly data: Readonly<Record<string, string>>;
}

const configMaps = '/api/v1/namespaces/orch-public/configmaps';
const path = `${configMaps}/cluster-info`;
const merge = { 'content-type': 'application/merge-patch+json' };

async function read(server: OrchProcess): Promise<ConfigMap> {
  const { status, json, text } = await server.get<ConfigMap>(path);
  assert.equal(status, 200, text);
  return json;
}

/** The cluster in a kubeconfig, which has nothing else. */
function clusterOf({ data: { kubeconfig = '' } }: ConfigMap): Readonly<Record<string, string>> {
  const { value } = parseYaml(Buffer.from(kubeconfig));
  const { clusters, ...rest } = value as { readonly clusters: readonly { readonly cluster: Record<string, string> }[] };
  const empty = { 'current-context': '', contexts: [], users: [], preferences: {} };
  assert.deepEqual(rest, { apiVersion: 'v1', kind: 'Config', ...empty });
  assert.equal(clusters.length, 1);
  return clusters[0]?.cluster ?? {};
}

const decoded = (base64 = ''): string => Buffer.from(base64, 'base64').toString();

describe('cluster-info of orch up', () => {
  const held = new AsyncDisposableStack();
  let server: OrchProcess;
  before(async () => {
    server = held.use(await OrchProcess.start());
  });
  after(() => held.disposeAsync());

  test('has the address and authority of the server, and a credential of nobody', async () => {
    const info = await read(server);
    assert.deepEqual(Object.keys(info.data), ['kubeconfig']);
    const { 'certificate-authority-data': authority, ...rest } = clusterOf(info);
    assert.deepEqual(rest, { server: server.url });
    assert.equal(decoded(authority), readFileSync(join(server.dataDir, 'pki', 'ca.crt'), 'utf8'));
    assert.doesNotMatch(info.data['kubeconfig'] ?? '', /key|token|password|user:/);
  });

  describe('is all that an anonymous request gets', () => {
    const anonymous: readonly (readonly [method: string, path: string, expected: number])[] = [
      ['GET', path, 200],
      ['GET', `${path}?resourceVersion=0`, 200],
      ['GET', configMaps, 403],
      ['GET', `${configMaps}?fieldSelector=metadata.name%3Dcluster-info&watch=true`, 403],
      ['GET', `${configMaps}/other`, 403],
      ['GET', '/api/v1/namespaces/default/configmaps/cluster-info', 403],
      ['GET', '/api/v1/namespaces/orch-public', 403],
      ['PUT', path, 403],
      ['PATCH', path, 403],
      ['DELETE', path, 403],
    ];
    for (const [method, target, expected] of anonymous) {
      test(`${method} ${target}: ${expected}`, async () => {
        const { status } = await server.request(method, target, {
          as: 'anonymous',
          ...(method === 'PATCH' && { headers: merge }),
          ...((method === 'PUT' || method === 'PATCH') && { body: { data: { kubeconfig: 'mine' } } }),
        });
        assert.equal(status, expected);
      });
    }
  });

  test('is the same after a restart, and is made again by one when it was deleted', async () => {
    const { metadata } = await read(server);
    await server.stop();
    await server.restart();
    assert.deepEqual((await read(server)).metadata, metadata);
    await server.delete(path);
    assert.equal((await server.get(path)).status, 404);
    await server.stop();
    await server.restart();
    const again = await read(server);
    assert.notEqual(again.metadata.uid, metadata.uid);
    assert.equal(clusterOf(again)['server'], server.url);
  });

  test('is put right by a restart, unless its owner says otherwise; other keys stay', async () => {
    const patch = (body: object) => server.request('PATCH', path, { body, headers: merge });
    await patch({ data: { kubeconfig: 'broken', mine: 'x' } });
    await server.stop();
    await server.restart();
    const mended = await read(server);
    assert.equal(clusterOf(mended)['server'], server.url);
    assert.equal(mended.data['mine'], 'x');
    const autoupdate = { 'orch.io/autoupdate': 'false' };
    await patch({ metadata: { annotations: autoupdate }, data: { kubeconfig: 'mine' } });
    await server.stop();
    await server.restart();
    assert.deepEqual((await read(server)).data, { kubeconfig: 'mine', mine: 'x' });
  });

  test('the reader follows the rules of default roles: made again, unless its owner says otherwise', async () => {
    const binding = `${rbacPath}/namespaces/orch-public/rolebindings/system:cluster-info-reader`;
    const mayRead = async () => (await server.get(path, { as: 'anonymous' })).status === 200;
    await server.delete(binding);
    assert.equal(await mayRead(), false);
    await server.stop();
    await server.restart();
    assert.equal(await mayRead(), true);
    const annotations = { 'rbac.authorization.orch.io/autoupdate': 'false' };
    await server.request('PATCH', binding, { body: { metadata: { annotations }, subjects: [] }, headers: merge });
    await server.stop();
    await server.restart();
    assert.equal(await mayRead(), false);
  });

  test('nobody reads it without a credential where there are no anonymous requests', async () => {
    await using closed = await OrchProcess.start({ flags: ['--anonymous-auth=false'] });
    assert.equal((await closed.get(path, { as: 'anonymous' })).status, 401);
    assert.equal((await closed.get(path)).status, 200);
  });

  test('it may be the only thing that anonymous requests get', async () => {
    using folder = new Folder();
    const configuration = {
      apiVersion: 'apiserver.config.orch.io/v1beta1',
      kind: 'AuthenticationConfiguration',
      anonymous: { enabled: true, conditions: [{ path }] },
    };
    const file = folder.write('authentication.json', JSON.stringify(configuration));
    await using server = await OrchProcess.start({ flags: [`--authentication-config=${file}`] });
    assert.equal((await server.get(path, { as: 'anonymous' })).status, 200);
    assert.equal((await server.get('/version', { as: 'anonymous' })).status, 401);
  });
});

describe('cluster-info follows', () => {
  const context = { clock: systemClock, random: systemRandom };
  const pairOf = (name: string) => {
    const authority = makeAuthority(name, context);
    const request = { subject: { commonName: name }, use: 'serverAuth', hosts: [`${name}.test`, '127.0.0.1'] } as const;
    return { authority, pair: makeIssued(authority, request, context) };
  };

  test('the address: the port, and the name that flags give', async () => {
    using folder = new Folder();
    const servers = async (...flags: readonly string[]): Promise<{ readonly url: string; readonly told: string }> => {
      await using server = await OrchProcess.start({ dataDir: folder.path, flags });
      return { url: server.url, told: clusterOf(await read(server))['server'] ?? '' };
    };
    const first = await servers();
    assert.equal(first.told, first.url);
    const second = await servers();
    assert.notEqual(second.url, first.url);
    assert.equal(second.told, second.url);
    assert.equal((await servers('--external-hostname=api.example:7443')).told, 'https://api.example:7443');
    const { url, told } = await servers('--advertise-address=::1');
    assert.equal(told, `https://[::1]:${url.replace(/.*:/, '')}`);
  });

  test('the certificate that the server shows, while it runs', async () => {
    using folder = new Folder();
    const [one, other] = [pairOf('one'), pairOf('other')];
    const chain = ({ authority, pair }: typeof one) => pair.certificatePem + authority.certificatePem;
    const certificate = folder.write('serving.crt', chain(one));
    const key = folder.write('serving.key', one.pair.keyPem);
    const flags = [`--tls-cert-file=${certificate}`, `--tls-private-key-file=${key}`, '--external-hostname=api.test'];
    await using server = await OrchProcess.start({ flags });
    const told = async () => {
      // By the certificate of the moment: it may be replaced before the connection is made, and then there is none.
      const shown = { cert: server.credentials.cert, key: server.credentials.key };
      const { text } = await send(server, 'GET', path, { shown }).catch(() => ({ text: '' }));
      if (text === '') return { name: undefined, chain: [] };
      const { 'certificate-authority-data': data, 'tls-server-name': name } = clusterOf(JSON.parse(text));
      const [, ...rest] = decoded(data).split(/(?=-----BEGIN)/);
      return { name, chain: rest.map((pem) => new X509Certificate(pem).subject) };
    };
    assert.deepEqual(await told(), { name: 'one.test', chain: ['CN=one', 'CN=one'] });
    replaceFile(key, other.pair.keyPem);
    replaceFile(certificate, chain(other));
    await until(async () => (await told()).name === 'other.test', 'it has the old certificate');
    assert.deepEqual((await told()).chain, ['CN=other', 'CN=other']);
  });

  test('nothing where it is not made: orch apiserver', async () => {
    using folder = new Folder();
    const tokens = folder.tokens({ admin: ['system:masters'] });
    await using server = new Command('apiserver', `--data-dir=${join(folder.path, 'data')}`, '--secure-port=0', tokens);
    const [, url = ''] = await server.prints(/"msg":"serving","v":0,"url":"([^"]+)"/);
    const ca = readFileSync(join(folder.path, 'data', 'pki', 'apiserver.crt'));
    const place = { port: Number(new URL(url).port), credentials: { ca } };
    const shown = { token: 'token-of-admin' };
    await until(async () => (await send(place, 'GET', '/readyz', { shown })).status === 200, 'it is not ready');
    assert.equal((await send(place, 'GET', path, { shown })).status, 404);
    const binding = `${rbacPath}/clusterrolebindings/system:node-bootstrapper`;
    assert.equal((await send(place, 'GET', binding, { shown })).status, 404);
  });
});

describe('publishing cluster-info', () => {
  /** A registry, what fails of it, and what is published. */
  class Publisher implements AsyncDisposable {
    readonly fixture: RegistryFixture;
    readonly transport: RegistryTransport;
    readonly info: ClusterInfo;
    kubeconfig = 'first';
    createInitial: (object: ApiObject) => Promise<boolean> = async () => false;
    log = '';

    private constructor(fixture: RegistryFixture) {
      this.fixture = fixture;
      this.transport = new RegistryTransport(fixture);
      const write = (line: string): void => {
        this.log += line;
      };
      this.info = new ClusterInfo({
        clock: systemClock,
        random: systemRandom,
        logger: createLogger({ clock: systemClock, format: 'json', level: 'debug', write }),
        dialect: orch,
        client: new ApiClient(this.transport, 'test'),
        createInitial: (object) => this.createInitial(object),
        kubeconfig: () => this.kubeconfig,
      });
    }

    static async open(): Promise<Publisher> {
      return new Publisher(await RegistryFixture.open());
    }

    published = async (): Promise<unknown> =>
      this.fixture.object('GET', path).then(
        ({ data }) => data,
        () => undefined,
      );

    count(method: string): number {
      return this.transport.requests.filter((each) => each.startsWith(method)).length;
    }

    async [Symbol.asyncDispose](): Promise<void> {
      this.info.close();
      await this.fixture[Symbol.asyncDispose]();
    }
  }

  test('is done when it resolves, and done again when something changed', async () => {
    await using publisher = await Publisher.open();
    await publisher.info.publish();
    assert.deepEqual(await publisher.published(), { kubeconfig: 'first' });
    publisher.kubeconfig = 'second';
    publisher.info.changed();
    await until(async () => JSON.stringify(await publisher.published()) === '{"kubeconfig":"second"}');
    publisher.info.changed();
    await until(() => publisher.count('GET') === 3, 'it does not look');
    assert.deepEqual([publisher.count('POST'), publisher.count('PUT')], [1, 1]);
  });

  for (const isMade of [true, false]) {
    test(`${isMade ? 'needs no request' : 'asks'} where it ${isMade ? 'can' : 'cannot'} be made without one`, async () => {
      await using publisher = await Publisher.open();
      const given: ApiObject[] = [];
      publisher.createInitial = async (object) => {
        given.push(object);
        return isMade;
      };
      await publisher.info.publish();
      const [{ metadata, data }] = given as [ApiObject];
      const { name, namespace } = metadata;
      assert.deepEqual([name, namespace, data], ['cluster-info', orch.namespaces.public, { kubeconfig: 'first' }]);
      assert.deepEqual([publisher.count('GET'), publisher.count('POST')], isMade ? [0, 0] : [1, 1]);
      publisher.info.changed();
      await until(() => publisher.count('GET') === (isMade ? 1 : 2), 'it does not look again');
    });
  }

  for (const method of ['GET', 'POST', 'PUT'] as const) {
    test(`goes on after failures of ${method}`, async () => {
      await using publisher = await Publisher.open();
      if (method === 'PUT') await publisher.fixture.object('POST', configMaps, { metadata: { name: 'cluster-info' } });
      let failures = 0;
      publisher.transport.failure = (request) =>
        request.method === method && failures++ < 3 ? internalError(new Error('not now')) : undefined;
      await publisher.info.publish();
      await until(async () => JSON.stringify(await publisher.published()) === '{"kubeconfig":"first"}');
      assert.match(publisher.log, /could not be published yet/);
    });
  }

  test('meets another writer: a conflict is no end', async () => {
    await using publisher = await Publisher.open();
    await publisher.fixture.object('POST', configMaps, { metadata: { name: 'cluster-info' }, data: { a: 'b' } });
    let conflicts = 0;
    const send = publisher.transport.send.bind(publisher.transport);
    publisher.transport.send = async (request) => {
      if (request.method === 'PUT' && conflicts++ === 0)
        await publisher.fixture.object('PATCH', path, { data: { a: 'c' } });
      return send(request);
    };
    await publisher.info.publish();
    await until(async () => conflicts === 2, 'it gives up');
    await until(async () => JSON.stringify(await publisher.published()) === '{"a":"c","kubeconfig":"first"}');
  });

  test('one that may not be changed is reported and left', async () => {
    await using publisher = await Publisher.open();
    await publisher.fixture.object('POST', configMaps, { metadata: { name: 'cluster-info' }, immutable: true });
    await publisher.info.publish();
    assert.match(publisher.log, /"level":"error","caller":"[^"]+","msg":"cluster-info cannot be published"/);
    assert.deepEqual([publisher.count('PUT'), await publisher.published()], [1, undefined]);
  });
});
