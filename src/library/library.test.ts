import assert from 'node:assert/strict';
import { get } from 'node:https';
import { describe, it } from 'node:test';
import { type Files, systemFiles } from '../base/files.ts';
import { systemRandom as random } from '../base/random.ts';
import { systemClock as clock } from '../base/time/clock.ts';
import { makeAuthority } from '../pki/ca.ts';
import * as library from './library.ts';
import { type ApiList, createServer, type Server } from './library.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const named = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const namesAt = async (server: Server): Promise<readonly (string | undefined)[]> => {
  const { items } = await server.client().get<ApiList>(configMaps);
  return items.map(({ metadata }) => metadata.name).filter((name) => name?.startsWith('my-'));
};

/** The decoded value of a field of a kubeconfig. */
const decoded = (kubeconfig: string, field: string): string =>
  Buffer.from(new RegExp(`${field}: (\\S+)`).exec(kubeconfig)?.[1] ?? '', 'base64').toString();

/** The status of a request over the network with the credentials of a kubeconfig. */
function statusOf(url: string, kubeconfig: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const [ca, cert, key] = ['certificate-authority-data', 'client-certificate-data', 'client-key-data'].map((field) =>
    decoded(kubeconfig, field),
  );
  get(url, { ca, cert, key, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  }).on('error', reject);
  return promise;
}

it('serves an alpha version that its options enable, and no other', async () => {
  const bundles = '/apis/certificates.k8s.io/v1alpha1/clustertrustbundles';
  const dialect = 'kubernetes';
  await using plain = await createServer({ dialect });
  await assert.rejects(plain.client().get(bundles), { code: 404 });
  await using server = await createServer({ dialect, runtimeConfig: { 'certificates.k8s.io/v1alpha1': true } });
  assert.ok((await server.client().get<ApiList>(bundles)).items);
});

describe('the library', () => {
  it('exports exactly these names', () => {
    assert.deepEqual(Object.keys(library).sort(), [
      'ApiClient',
      'ApiError',
      'ManualClock',
      'createLogger',
      'createServer',
      'hasReason',
      'seededRandom',
      'silentLogger',
      'systemClock',
      'systemRandom',
    ]);
  });

  it('runs two independent servers in one process', async () => {
    await using first = await createServer();
    await using second = await createServer({ dialect: 'kubernetes' });
    await first.client().create(configMaps, named('my-first'));
    await second.client().create(configMaps, named('my-second'));
    assert.deepEqual([await namesAt(first), await namesAt(second)], [['my-first'], ['my-second']]);
    await first.close();
    assert.deepEqual(await namesAt(second), ['my-second']);
  });

  it('serves requests with the identity of their user', async () => {
    await using server = await createServer();
    const jane = server.client({ username: 'jane' });
    await assert.rejects(jane.get(configMaps), (error) => library.hasReason(error, 'Forbidden'));
  });

  it('configures admission plugins by a document, also by files of the environment', async () => {
    const defaults = { enforce: 'baseline', warn: 'restricted' };
    const levels = {
      ...{ apiVersion: 'pod-security.admission.config.orch.io/v1', kind: 'PodSecurityConfiguration' },
      defaults,
    };
    const path = 'levels.yaml';
    const files: Files = {
      ...systemFiles,
      read: (asked) => (asked === path ? Buffer.from(JSON.stringify(levels)) : systemFiles.read(asked)),
    };
    for (const configured of [{ configuration: levels }, { path }]) {
      const plugins = [{ name: 'PodSecurity', ...configured }];
      const kind = { apiVersion: 'apiserver.config.orch.io/v1', kind: 'AdmissionConfiguration' };
      await using server = await createServer(
        { admissionConfiguration: JSON.stringify({ ...kind, plugins }) },
        { files },
      );
      const spec = { hostNetwork: true, containers: [{ name: 'a', image: 'a' }] };
      const pods = '/api/v1/namespaces/default/pods';
      await assert.rejects(
        server.client().create(pods, { metadata: { name: 'a' }, spec }),
        /violates PodSecurity "baseline:latest"/,
      );
    }
  });

  it('ends watches on close without a listener', async () => {
    const server = await createServer();
    const events = server.client().watch(`${configMaps}?watch=true`, { signal: new AbortController().signal });
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, object } of events) {
        seen.push(type);
        if (type === 'ADDED' && object.metadata.name === 'my-last') void server.close();
      }
    })();
    await server.client().create(configMaps, named('my-last'));
    await watching;
    assert.ok(seen.includes('ADDED'));
    await server.closed;
  });

  it('listens, and issues kubeconfigs for given users', async () => {
    await using server = await createServer();
    assert.throws(() => server.kubeconfig(), /does not listen/);
    const { url } = await server.listen();
    await assert.rejects(server.listen(), /listens already/);
    assert.equal(await statusOf(url + configMaps, server.kubeconfig()), 200);
    assert.equal(await statusOf(url + configMaps, server.kubeconfig({ username: 'jane' })), 403);
  });

  it('reuses a stored authority: kubeconfigs of one server are valid for another', async () => {
    const { certificatePem: certificate, keyPem: key } = makeAuthority('mine', { clock, random });
    await using first = await createServer({ authority: { certificate, key } });
    await using same = await createServer({ authority: { certificate, key } });
    await using other = await createServer();
    const { url } = await first.listen();
    for (const each of [same, other]) await each.listen();
    assert.equal(await statusOf(url + configMaps, same.kubeconfig()), 200);
    await assert.rejects(statusOf(url + configMaps, other.kubeconfig()), { code: /^(UNABLE|SELF_SIGNED|DEPTH|CERT)/ });
  });

  for (const [what, options, problem] of [
    ['an authority that is none', { authority: { certificate: 'x', key: 'y' } }, /authority\.certificate/],
    ['a key of tokens that is none', { tokenKey: 'x' }, /options:tokenKey/],
    ['a controller that is none', { controllers: ['x'] }, /"x" is no controller/],
    ['a document that cannot be read', { authorizationConfiguration: '{' }, /options:authorizationConfiguration/],
  ] as const) {
    it(`refuses ${what}`, () => assert.rejects(createServer(options), problem));
  }
});
