import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { as, Folder } from '../support/authorization.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** `--runtime-config` on a running server (spec section 9): what is served, what discovery says, and what goes on working. */

interface Groups {
  readonly groups: readonly { readonly name: string; readonly versions: readonly { readonly version: string }[] }[];
}
interface Resources {
  readonly resources: readonly { readonly name: string }[];
}

async function served(server: OrchProcess): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const core = await server.get<{ readonly versions?: readonly string[] }>('/api');
  const { groups } = (await server.get<Groups>('/apis')).json;
  const versions = [
    ...(core.json.versions ?? []).map((version) => `/api/${version}`),
    ...groups.flatMap(({ name, versions }) => versions.map(({ version }) => `/apis/${name}/${version}`)),
  ];
  for (const path of versions) {
    const { status, json } = await server.get<Resources>(path);
    assert.equal(status, 200, path);
    for (const { name } of json.resources) found.add(`${path}/${name}`);
  }
  return found;
}

const authentication = '/apis/authentication.orch.io';
const rows: readonly {
  readonly flags: string;
  readonly there: readonly string[];
  readonly gone: readonly string[];
}[] = [
  {
    flags: 'v1/configmaps=false',
    there: ['/api/v1/secrets', '/api/v1/namespaces', `${authentication}/v1/tokenreviews`],
    gone: ['/api/v1/configmaps'],
  },
  {
    flags: '/v1/pods=false, v1/events=false',
    there: ['/api/v1/bindings', '/apis/events.orch.io/v1/events'],
    gone: ['/api/v1/pods', '/api/v1/events'],
  },
  {
    flags: 'v1=false',
    there: ['/apis/events.orch.io/v1/events', '/apis/rbac.authorization.orch.io/v1/roles'],
    gone: ['/api/v1/namespaces', '/api/v1/pods', '/api/v1/events'],
  },
  {
    flags: 'api/all=false,authentication.orch.io/v1=true,v1/namespaces=true',
    there: [`${authentication}/v1/tokenreviews`, `${authentication}/v1/selfsubjectreviews`, '/api/v1/namespaces'],
    gone: ['/api/v1/secrets', '/apis/rbac.authorization.orch.io/v1/roles', '/apis/coordination.orch.io/v1/leases'],
  },
];

describe('APIs that are switched off', { timeout: 300_000 }, () => {
  for (const { flags, there, gone } of rows) {
    it(flags, async () => {
      await using server = await OrchProcess.start({ flags: [`--runtime-config=${flags}`] });
      const found = await served(server);
      const documents = await server.get<{ readonly paths: Readonly<Record<string, unknown>> }>('/openapi/v2');
      for (const path of [...there, ...gone]) {
        const [isServed, [, scope = '', resource]] = [there.includes(path), /^(.*)\/([^/]*)$/.exec(path) ?? []];
        assert.equal(found.has(path), isServed, path);
        const all = Object.keys(documents.json.paths).filter((each) => each.startsWith(`${scope}/`));
        assert.equal(
          all.some((each) => each.endsWith(`/${resource}`)),
          isServed,
          `OpenAPI of ${path}`,
        );
        if (isServed) continue;
        assert.equal((await server.get(path)).status, 404, path);
        assert.equal((await server.post(path, {})).status, 404, path);
      }
      assert.equal((await server.get('/readyz')).status, 200);
    });
  }

  it('an action on objects of a resource that is switched off is 404', async () => {
    await using server = await OrchProcess.start({ flags: ['--runtime-config=v1/pods=false'] });
    const binding = { metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } };
    const { status, json, text } = await server.post('/api/v1/namespaces/default/bindings', binding);
    assert.deepEqual([status, json['kind'], json['reason']], [404, 'Status', 'NotFound'], text);
  });

  it('the server goes on working with the roles, accounts and namespaces that it has', async () => {
    using folder = new Folder();
    const tokens = folder.tokens({ jane: [] });
    const rbac = '/apis/rbac.authorization.orch.io/v1';
    const readers = {
      role: { metadata: { name: 'readers' }, rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }] },
      binding: {
        metadata: { name: 'readers' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.orch.io', name: 'jane' }],
        roleRef: { apiGroup: 'rbac.authorization.orch.io', kind: 'ClusterRole', name: 'readers' },
      },
    };
    const configMaps = '/api/v1/namespaces/mine/configmaps';
    {
      await using server = await OrchProcess.start({ dataDir: folder.path, flags: [tokens] });
      assert.equal((await server.post('/api/v1/namespaces', { metadata: { name: 'mine' } })).status, 201);
      assert.equal((await server.post(`${rbac}/clusterroles`, readers.role)).status, 201);
      assert.equal((await server.post(`${rbac}/clusterrolebindings`, readers.binding)).status, 201);
      await server.stop();
    }
    const off = '--runtime-config=rbac.authorization.orch.io/v1=false,v1/namespaces=false';
    await using server = await OrchProcess.start({ dataDir: folder.path, flags: [tokens, off] });
    assert.equal((await server.get(`${rbac}/clusterroles`)).status, 404);
    assert.equal((await server.get('/api/v1/namespaces/mine')).status, 404);
    assert.equal((await server.get(configMaps, { as: as('jane') })).status, 200, 'a stored role counts');
    assert.equal((await server.post(configMaps, { metadata: { name: 'a' } }, { as: as('jane') })).status, 403);
    assert.equal((await server.post(configMaps, { metadata: { name: 'a' } })).status, 201, 'the namespace is there');
    const absent = '/api/v1/namespaces/absent/configmaps';
    assert.equal((await server.post(absent, { metadata: { name: 'a' } })).status, 404);
  });
});
