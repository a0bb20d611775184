import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { configMap } from '../../kinds/core/config-map.ts';
import { kinds } from '../../kinds/kinds.ts';
import { withoutObjects } from '../registry-fixture.ts';
import { type ApiDocument, ApiDocuments } from './documents.ts';

const address = (): string => '127.0.0.1:6443';
const read = (document: ApiDocument | undefined) => JSON.parse(document?.json.toString() ?? 'null');

for (const dialect of [orch, kubernetes]) {
  const documents = new ApiDocuments(dialect, withoutObjects(kinds(dialect)), address);
  const leases = dialect.group('coordination');

  test(`the documents describe exactly what is served (${dialect.name})`, () => {
    for (const [what, document, kind] of [
      ['/api', documents.coreVersions(), 'APIVersions'],
      ['/apis', documents.groupList(), 'APIGroupList'],
      ['/api aggregated', documents.aggregated('api', 'v2'), 'APIGroupDiscoveryList'],
      ['/apis aggregated', documents.aggregated('apis', 'v2'), 'APIGroupDiscoveryList'],
      ['a group', documents.group(leases), 'APIGroup'],
      ['core', documents.resourceList('', 'v1'), 'APIResourceList'],
      ['a version', documents.resourceList(leases, 'v1'), 'APIResourceList'],
    ] as const) {
      assert.equal(read(document).kind, kind, what);
    }
    assert.equal(documents.group('nosuch'), undefined);
    assert.equal(documents.group(''), undefined, 'core is not a group of /apis');
    for (const [group, version] of [
      ['', 'v2'],
      [leases, 'v2'],
      ['nosuch', 'v1'],
      ['__proto__', 'v1'],
    ] as const) {
      assert.equal(documents.resourceList(group, version), undefined);
      assert.equal(documents.openapi(group, version), undefined);
    }
  });

  test(`each root of the aggregated form has its own groups (${dialect.name})`, () => {
    const groupsOf = (root: 'api' | 'apis'): readonly string[] =>
      read(documents.aggregated(root, 'v2')).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    assert.deepEqual(groupsOf('api'), ['']);
    assert.ok(groupsOf('apis').includes(leases));
    assert.ok(!groupsOf('apis').includes(''));
  });

  test(`both versions of the aggregated form say the same (${dialect.name})`, () => {
    for (const root of ['api', 'apis'] as const) {
      const [now, old] = (['v2', 'v2beta1'] as const).map((version) => read(documents.aggregated(root, version)));
      assert.equal(old.apiVersion, `${dialect.group('apidiscovery')}/v2beta1`);
      assert.deepEqual({ ...old, apiVersion: now.apiVersion }, now);
    }
  });

  test(`the index of OpenAPI names each document by the hash of its bytes (${dialect.name})`, () => {
    const { paths } = read(documents.openapiIndex()) as {
      paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
    };
    const served = read(documents.groupList()).groups.map(({ name }: { name: string }) => name);
    assert.equal(Object.keys(paths).length, served.length + 1);
    for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
      const [root, ...rest] = path.split('/');
      const [group = '', version = ''] = root === 'api' ? ['', rest[0]] : rest;
      const document = documents.openapi(group, version);
      assert.ok(document, path);
      const hash = createHash('sha512').update(document.json).digest('hex').toUpperCase();
      assert.equal(document.hash, hash);
      assert.equal(serverRelativeURL, `/openapi/v3/${path}?hash=${hash}`);
    }
  });
}

const late = { ...configMap(orch), group: 'late.orch.io', kind: 'Late', listKind: 'LateList', resource: 'lates' };

test('a document is built once, until what it describes changes', async () => {
  const resources = withoutObjects(kinds(orch));
  const documents = new ApiDocuments(orch, resources, address);
  const leases = orch.group('coordination');
  const made = () => ({
    all: [documents.groupList(), documents.aggregated('apis', 'v2'), documents.openapiIndex(), documents.openapiV2()],
    others: [documents.group(leases), documents.resourceList('', 'v1'), documents.openapi('', 'v1')],
  });
  const before = made();
  assert.ok([...before.all, ...before.others].every((each) => each !== undefined));
  const again = made();
  for (const part of ['all', 'others'] as const) {
    for (const [index, each] of before[part].entries()) assert.equal(again[part][index], each, `${part} ${index}`);
  }
  const paths = () => Object.keys(read(documents.openapiIndex()).paths);
  const pathsBefore = paths();
  const { resource } = await resources.add(late);
  const changed = made();
  for (const [index, each] of before.all.entries()) assert.notEqual(changed.all[index]?.hash, each.hash);
  for (const [index, each] of before.others.entries()) assert.equal(changed.others[index], each, `other ${index}`);
  assert.deepEqual(
    paths().filter((path) => !pathsBefore.includes(path)),
    ['apis/late.orch.io/v1'],
  );
  assert.equal(read(documents.resourceList(late.group, 'v1')).resources[0].name, 'lates');
  resources.remove(resource);
  assert.deepEqual(paths(), pathsBefore);
  assert.equal(documents.resourceList(late.group, 'v1'), undefined);
  assert.equal(documents.group(late.group), undefined);
  for (const [index, each] of before.all.entries()) assert.equal(made().all[index]?.hash, each.hash);
});

test('the server address is read when the document is built', () => {
  let port = 0;
  const documents = new ApiDocuments(orch, withoutObjects(kinds(orch)), () => `127.0.0.1:${port}`);
  port = 7443;
  assert.match(documents.coreVersions().json.toString(), /127\.0\.0\.1:7443/);
});
