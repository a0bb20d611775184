import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { dialects } from '../../src/dialect/dialects.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { Folder } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** Alpha and beta versions beside one another and beside stable ones (spec sections 6 and 9), in both dialects. */

interface Bundle {
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly managedFields: readonly { readonly manager: string; readonly apiVersion: string }[];
  };
  readonly spec: { readonly signerName?: string; readonly trustBundle: string };
}
interface Group {
  readonly preferredVersion: { readonly version: string };
  readonly versions: readonly { readonly version: string }[];
}
interface Resources {
  readonly resources: readonly { readonly name: string; readonly storageVersionHash?: string }[];
}
interface AggregatedGroups {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly versions: readonly { readonly version: string }[];
  }[];
}

const anchor = makeCertificate({ name: 'anchor', authority: true }).cert;
const other = makeCertificate({ name: 'other', authority: true }).cert;
const early = ['v1beta1', 'v1alpha1'] as const;
const otherThan = (version: (typeof early)[number]): string => (version === 'v1beta1' ? 'v1alpha1' : 'v1beta1');
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const cborFlag = '--feature-gates=CBORServingAndStorage=true';
const applyPatch = { 'content-type': 'application/apply-patch+yaml' };

for (const dialect of Object.values(dialects)) {
  const [certificates, authentication] = [dialect.group('certificates'), dialect.group('authentication')];
  const bundles = (version: string): string => `/apis/${certificates}/${version}/clustertrustbundles`;
  const reviews = (version: string): string => `/apis/${authentication}/${version}/selfsubjectreviews`;
  const dialectFlag = `--dialect=${dialect.name}`;

  describe(`versions that are not stable (${dialect.name})`, { timeout: 120_000 }, () => {
    let server: OrchProcess;
    before(async () => {
      const apis = [certificates, authentication].flatMap((group) => early.map((version) => `${group}/${version}`));
      server = await OrchProcess.start({ flags: [dialectFlag, cborFlag, `--runtime-config=${apis.join()}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    for (const group of [certificates, authentication]) {
      it(`${group}: the stable version is preferred, then beta, then alpha`, async () => {
        const versions = ['v1', ...early];
        const { json } = await server.get<Group>(`/apis/${group}`);
        assert.deepEqual(
          json.versions.map(({ version }) => version),
          versions,
        );
        assert.equal(json.preferredVersion.version, 'v1');
        const accept = `application/json;g=${dialect.group('apidiscovery')};v=v2;as=APIGroupDiscoveryList`;
        const aggregated = await server.get<AggregatedGroups>('/apis', { headers: { accept } });
        const found = aggregated.json.items.find(({ metadata }) => metadata.name === group);
        assert.deepEqual(
          found?.versions.map(({ version }) => version),
          versions,
        );
        for (const version of early)
          assert.equal((await server.get(`/openapi/v3/apis/${group}/${version}`)).status, 200);
      });
    }

    it('a resource has one storage version', async () => {
      const hashes = early.map(async (version) => {
        const { json } = await server.get<Resources>(`/apis/${certificates}/${version}`);
        return json.resources.find(({ name }) => name === 'clustertrustbundles')?.storageVersionHash;
      });
      const [beta, alpha] = await Promise.all(hashes);
      assert.match(beta ?? '', /./);
      assert.equal(beta, alpha);
    });

    for (const version of early) {
      const there = otherThan(version);
      it(`a bundle written as ${version} is the same as ${there}, in every format`, async () => {
        const name = `from-${version}`;
        const sent = {
          apiVersion: `${certificates}/${version}`,
          kind: 'ClusterTrustBundle',
          metadata: { name, labels: { a: 'b' } },
          spec: { trustBundle: anchor },
        };
        const created = await server.post<Bundle>(bundles(version), sent);
        assert.equal(created.status, 201, created.text);
        assert.equal(created.json.apiVersion, sent.apiVersion);
        const { json } = await server.get<Bundle>(`${bundles(there)}/${name}`);
        assert.deepEqual(json, { ...created.json, apiVersion: `${certificates}/${there}` });
        for (const accept of ['application/yaml', 'application/cbor', dialect.protobufMediaType]) {
          const { bytes } = await server.get(`${bundles(there)}/${name}`, { headers: { accept } });
          assert.ok(bytes.includes(`${certificates}/${there}`) && bytes.includes(json.metadata.uid), accept);
        }
        const back = await server.request<Bundle>('PUT', `${bundles(there)}/${name}`, {
          body: { ...json, spec: { trustBundle: other } },
        });
        assert.equal(back.status, 200, back.text);
        const { json: again } = await server.get<Bundle>(`${bundles(version)}/${name}`);
        assert.deepEqual(again, { ...back.json, apiVersion: sent.apiVersion });
        const wrong = await server.request('PUT', `${bundles(version)}/${name}`, { body: back.json });
        assert.equal(wrong.status, 400, 'a body of another version');
      });

      it(`fields that were applied as ${version} are owned when applied as ${there}`, async () => {
        const name = `applied-${version}`;
        const apply = (as: string, trustBundle: string, manager: string) =>
          server.request<Bundle & { readonly message: string }>(
            'PATCH',
            `${bundles(as)}/${name}?fieldManager=${manager}`,
            {
              body: {
                apiVersion: `${certificates}/${as}`,
                kind: 'ClusterTrustBundle',
                metadata: { name },
                spec: { trustBundle },
              },
              headers: applyPatch,
            },
          );
        assert.equal((await apply(version, anchor, 'one')).status, 201);
        assert.equal((await apply(there, anchor, 'one')).status, 200);
        const conflict = await apply(there, other, 'two');
        assert.equal(conflict.status, 409, conflict.text);
        assert.match(conflict.json.message, /conflict with "one".*spec\.trustBundle/s);
        const { json } = await server.get<Bundle>(`${bundles(version)}/${name}`);
        assert.deepEqual(
          json.metadata.managedFields.map(({ manager, apiVersion }) => [manager, apiVersion]),
          [['one', `${certificates}/${there}`]],
        );
      });

      it(`a dry run of ${version} has no version yet`, async () => {
        const body = { metadata: { name: 'dry' }, spec: { trustBundle: anchor } };
        const { status, json } = await server.post<Bundle>(`${bundles(version)}?dryRun=All`, body);
        assert.deepEqual([status, json.apiVersion], [201, `${certificates}/${version}`]);
        assert.equal(Object.hasOwn(json.metadata, 'resourceVersion'), false);
        assert.equal((await server.get(`${bundles(version)}/dry`)).status, 404);
      });

      it(`faults of ${version} name its kind and field`, async () => {
        const body = { metadata: { name: 'bad' }, spec: { trustBundle: '' } };
        const { status, json } = await server.post<{ message: string; details: { group: string } }>(
          bundles(version),
          body,
        );
        assert.deepEqual([status, json.details.group], [422, certificates]);
        assert.match(json.message, /spec\.trustBundle: Invalid value/);
        const patched = await server.request('PATCH', `${bundles(version)}/absent`, { body: {}, headers: mergePatch });
        assert.equal(patched.status, 404);
      });

      it(`SelfSubjectReview ${version} is answered, with a warning`, async () => {
        const { status, json, headers } = await server.post<Bundle & { status: { userInfo: { username: string } } }>(
          reviews(version),
          {},
        );
        assert.deepEqual([status, json.apiVersion], [201, `${authentication}/${version}`]);
        assert.ok(json.status.userInfo.username);
        const text = `${authentication}/${version} SelfSubjectReview is deprecated in v1.30+, unavailable in v1.33+`;
        assert.equal(headers['warning'], `299 - "${text}"`);
        const { text: metrics } = await server.get('/metrics');
        const labels = `group="${authentication}",version="${version}",resource="selfsubjectreviews",subresource="",removed_release="1.33"`;
        assert.ok(metrics.includes(`apiserver_requested_deprecated_apis{${labels}} 1`));
      });
    }

    it('the stable version warns of nothing', async () => {
      const { status, headers } = await server.post(reviews('v1'), {});
      assert.deepEqual([status, headers['warning']], [201, undefined]);
      const { text } = await server.get('/metrics');
      assert.ok(!text.includes(`apiserver_requested_deprecated_apis{group="${authentication}",version="v1"`));
    });
  });
}

it('without --runtime-config there are only stable versions', { timeout: 60_000 }, async () => {
  await using server = await OrchProcess.start();
  for (const group of ['certificates.orch.io', 'authentication.orch.io']) {
    for (const version of early) assert.equal((await server.get(`/apis/${group}/${version}`)).status, 404);
    const { json } = await server.get<Group>(`/apis/${group}`);
    assert.deepEqual(
      json.versions.map(({ version }) => version),
      ['v1'],
    );
  }
});

it('bundles outlive the version that they were written in', { timeout: 120_000 }, async () => {
  using folder = new Folder();
  const bundles = (version: string): string => `/apis/certificates.orch.io/${version}/clustertrustbundles`;
  const names: string[] = [];
  for (const version of [...early, ...early]) {
    const flags = [`--runtime-config=certificates.orch.io/${version}`];
    await using server = await OrchProcess.start({ dataDir: folder.path, flags });
    for (const name of names) {
      const { status, json } = await server.get<Bundle>(`${bundles(version)}/${name}`);
      assert.deepEqual([status, json.apiVersion], [200, `certificates.orch.io/${version}`]);
      assert.equal(json.spec.trustBundle, anchor);
    }
    assert.equal((await server.get(bundles(otherThan(version)))).status, 404);
    const name = `bundle-${names.length}`;
    const body = { metadata: { name }, spec: { trustBundle: anchor } };
    assert.equal((await server.post(bundles(version), body)).status, 201);
    names.push(name);
    await server.stop();
  }
});
