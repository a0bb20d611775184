import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { orch } from '../../src/dialect/orch.ts';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { as, Folder } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** ClusterTrustBundles as clients of a running server see them (spec section 2.8). */

const anchor = makeCertificate({ name: 'anchor', authority: true });
const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

/** Different certificates; the signature of an anchor does not count. */
function anchors(bytes: number): string {
  const serialAt = anchor.certificate.raw.indexOf(Buffer.from(anchor.certificate.serialNumber, 'hex'));
  let text = '';
  for (let serial = 0; ; serial++) {
    const der = Buffer.from(anchor.certificate.raw);
    der.writeUInt32BE(serial, serialAt + 2);
    const next = text + pem(der);
    if (next.length > bytes) return text;
    text = next;
  }
}

interface Bundle {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly signerName?: string; readonly trustBundle: string };
}
interface List {
  readonly items: readonly Bundle[];
}

it('trust bundles that are not served any more are kept', async () => {
  const api = '/apis/certificates.orch.io/v1alpha1/clustertrustbundles';
  const folder = new Folder();
  const statusOf = async (flags: readonly string[], use: (server: OrchProcess) => Promise<number>): Promise<number> => {
    await using server = await OrchProcess.start({ dataDir: folder.path, flags });
    const status = await use(server);
    await server.stop();
    return status;
  };
  try {
    const flags = ['--runtime-config=api/alpha=true'];
    const body = { metadata: { name: 'kept' }, spec: { trustBundle: anchor.cert } };
    assert.equal(await statusOf(flags, async (server) => (await server.post(api, body)).status), 201);
    const get = async (server: OrchProcess): Promise<number> => (await server.get(`${api}/kept`)).status;
    assert.equal(await statusOf([], get), 404);
    assert.equal(await statusOf(flags, get), 200);
  } finally {
    folder[Symbol.dispose]();
  }
});

for (const [dialect, signer, controller] of [
  [orch, 'orch.io/apiserver-serving', 'apiserver-serving-clustertrustbundle-publisher'],
  [kubernetes, 'kubernetes.io/kube-apiserver-serving', 'kube-apiserver-serving-clustertrustbundle-publisher'],
] as const) {
  const group = dialect.group('certificates');
  const bundles = `/apis/${group}/v1alpha1/clustertrustbundles`;
  const rbac = `/apis/${dialect.group('rbac.authorization')}/v1`;

  describe(`trust bundles (${dialect.name})`, () => {
    const held = new AsyncDisposableStack();
    let server: OrchProcess;
    before(async () => {
      const tokens = held.use(new Folder()).tokens({ jane: [] });
      const api = `--runtime-config=${group}/v1alpha1/clustertrustbundles`;
      server = held.use(await OrchProcess.start({ flags: [`--dialect=${dialect.name}`, api, tokens] }));
    });
    after(() => held.disposeAsync());

    const published = async (): Promise<Bundle> => {
      const path = `${bundles}?fieldSelector=spec.signerName%3D${encodeURIComponent(signer)}`;
      let found: readonly Bundle[] = [];
      await until(
        async () => {
          found = (await server.get<List>(path)).json.items;
          return found.length === 1;
        },
        () => `${found.length} bundles are published`,
      );
      return found[0] ?? assert.fail();
    };

    it('are found by discovery, in a version that is not preferred', async () => {
      const { json } = await server.get<{ preferredVersion: object; versions: readonly object[] }>(`/apis/${group}`);
      assert.deepEqual(
        json.versions.map((each) => Object.values(each)[1]),
        ['v1', 'v1alpha1'],
      );
      assert.equal((await server.get(`/openapi/v3/apis/${group}/v1alpha1`)).status, 200);
    });

    it('are read by every authenticated user, and written by none without a role', async () => {
      const spec = { trustBundle: anchor.cert };
      assert.equal((await server.post(bundles, { metadata: { name: 'read' }, spec })).status, 201);
      for (const path of [bundles, `${bundles}/read`]) {
        assert.equal((await server.get(path, { as: as('jane') })).status, 200, path);
        assert.equal((await server.get(path, { as: 'anonymous' })).status, 403, path);
      }
      for (const [method, path] of [
        ['POST', bundles],
        ['PUT', `${bundles}/read`],
        ['DELETE', `${bundles}/read`],
      ] as const) {
        assert.equal((await server.request(method, path, { as: as('jane'), body: {} })).status, 403, method);
      }
    });

    it('the authority of the server is one, is made again when deleted, and repaired', async () => {
      const first = await published();
      const { ca } = server.credentials;
      assert.equal(first.spec.trustBundle.trim(), ca.toString().trim());
      assert.match(
        first.metadata.name,
        new RegExp(`^${signer.replace('/', ':').replaceAll('.', '\\.')}:[0-9a-f]{24}$`),
      );
      const path = `${bundles}/${first.metadata.name}`;
      await server.delete(path);
      await until(async () => {
        const { status, json } = await server.get<Bundle>(path);
        return status === 200 && json.metadata.uid !== first.metadata.uid;
      }, 'it is not made again');
      const old = {
        metadata: { name: `${signer.replace('/', ':')}:old` },
        spec: { signerName: signer, trustBundle: anchor.cert },
      };
      assert.equal((await server.post(bundles, old)).status, 201);
      assert.deepEqual((await published()).metadata.name, first.metadata.name);
      const headers = { 'content-type': 'application/merge-patch+json' };
      const { status } = await server.request('PATCH', path, { body: { spec: { trustBundle: anchor.cert } }, headers });
      assert.equal(status, 200);
      await until(async () => (await published()).spec.trustBundle === first.spec.trustBundle, 'it stays wrong');
      const { json } = await server.get<{ metadata: { managedFields: readonly { manager: string }[] } }>(path);
      assert.ok(json.metadata.managedFields.some(({ manager }) => manager === dialect.controllerManager));
    });

    it('default roles are those of the publisher and of readers', async () => {
      for (const name of ['system:cluster-trust-bundle-discovery', `system:controller:${controller}`]) {
        for (const collection of ['clusterroles', 'clusterrolebindings']) {
          assert.equal((await server.get(`${rbac}/${collection}/${name}`)).status, 200, `${collection}/${name}`);
        }
      }
    });

    it('a bundle of 1 MiB is stored, a byte more is not, and its labels can be changed', async () => {
      const text = anchors(limits.trustBundleBytesMax);
      const trustBundle = text.padEnd(limits.trustBundleBytesMax, '\n');
      const { status, text: why } = await server.post(bundles, { metadata: { name: 'large' }, spec: { trustBundle } });
      assert.equal(status, 201, why.slice(0, 1_000));
      const more = { metadata: { name: 'larger' }, spec: { trustBundle: `${trustBundle}\n` } };
      const refused = await server.post<{ message: string }>(bundles, more);
      assert.equal(refused.status, 422);
      assert.match(refused.json.message, /spec\.trustBundle: Too long: may not be more than 1048576 bytes$/);
      const headers = { 'content-type': 'application/merge-patch+json' };
      const patch = { metadata: { labels: { a: 'b' } } };
      assert.equal((await server.request('PATCH', `${bundles}/large`, { body: patch, headers })).status, 200);
      const { json } = await server.get<Bundle>(`${bundles}/large`);
      assert.equal(json.spec.trustBundle, trustBundle);
      const twice = {
        spec: {
          trustBundle: text
            .slice(0, text.length / 2)
            .concat(text)
            .slice(0, limits.trustBundleBytesMax),
        },
      };
      const duplicates = await server.request<{ reason: string }>('PATCH', `${bundles}/large`, {
        body: twice,
        headers,
      });
      assert.deepEqual([duplicates.status, duplicates.json.reason], [422, 'Invalid']);
    });

    it('faults name the field, wherever the bundle comes from', async () => {
      const leaf = makeCertificate({}).cert;
      const sent = {
        apiVersion: `${group}/v1alpha1`,
        kind: 'ClusterTrustBundle',
        metadata: { name: 'bad' },
        spec: { trustBundle: leaf },
      };
      for (const [method, path, type] of [
        ['POST', bundles, 'application/json'],
        ['POST', bundles, 'application/yaml'],
        ['PATCH', `${bundles}/bad?fieldManager=m`, 'application/apply-patch+yaml'],
        ['PATCH', `${bundles}/read`, 'application/merge-patch+json'],
      ] as const) {
        const body = path.endsWith('/read') ? { spec: sent.spec } : sent;
        const { status, json } = await server.request<{
          message: string;
          details: { causes: readonly { field: string }[] };
        }>(method, path, { body, headers: { 'content-type': type } });
        assert.equal(status, 422, `${method} ${type}`);
        assert.deepEqual(
          json.details.causes.map(({ field }) => field),
          ['spec.trustBundle'],
        );
        assert.match(
          json.message,
          /spec\.trustBundle: Invalid value: "<value omitted>": entry 0 does not have the CA bit set$/,
        );
      }
    });

    it('columns', async () => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { json } = await server.get<{
        columnDefinitions: readonly { name: string }[];
        rows: readonly { cells: readonly string[] }[];
      }>(bundles, { headers: { accept } });
      assert.deepEqual(
        json.columnDefinitions.map(({ name }) => name),
        ['Name', 'SignerName'],
      );
      assert.ok(json.rows.some(({ cells }) => cells[0] === 'read' && cells[1] === '<none>'));
      assert.ok(json.rows.some(({ cells }) => cells[1] === signer));
    });

    it('one whose owner is gone is deleted: the collector finds it in its version', async () => {
      const owner = await server.post<Bundle>('/api/v1/namespaces', { metadata: { name: 'owning' } });
      assert.equal(owner.status, 201);
      const reference = { apiVersion: 'v1', kind: 'Namespace', name: 'owning', uid: owner.json.metadata.uid };
      const spec = { trustBundle: anchor.cert };
      const body = { metadata: { name: 'owned', ownerReferences: [reference] }, spec };
      assert.equal((await server.post(bundles, body)).status, 201);
      await server.delete('/api/v1/namespaces/owning');
      await until(async () => (await server.get(`${bundles}/owned`)).status === 404, 'it is still there');
    });
  });

  it(`trust bundles are off by default (${dialect.name})`, async () => {
    await using server = await OrchProcess.start({ flags: [`--dialect=${dialect.name}`] });
    assert.equal((await server.get(bundles)).status, 404);
    const { json } = await server.get<{ versions: readonly { version: string }[] }>(`/apis/${group}`);
    assert.deepEqual(
      json.versions.map(({ version }) => version),
      ['v1'],
    );
    for (const name of ['system:cluster-trust-bundle-discovery', `system:controller:${controller}`]) {
      assert.equal((await server.get(`${rbac}/clusterroles/${name}`)).status, 404, name);
    }
    assert.doesNotMatch(server.log, /publish|trust bundle/);
  });
}
