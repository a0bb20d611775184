import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { configMap } from '../../kinds/core/config-map.ts';
import { namespace } from '../../kinds/core/namespace.ts';
import { pod } from '../../kinds/core/pod/pod.ts';
import type { Kind } from '../../kinds/kind.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { withoutObjects } from '../registry-fixture.ts';
import { aggregated, coreVersions, groupDocument, groupList, groupResources, resourceList } from './discovery.ts';

/** A kind of a fictitious group. */
const other = (group: string, version: string, kind: string): Kind => ({
  ...configMap(orch),
  group,
  version,
  kind,
  listKind: `${kind}List`,
  resource: `${kind.toLowerCase()}s`,
  singular: kind.toLowerCase(),
  shortNames: [],
});

const all = [
  ...withoutObjects([
    other('zoo.orch.io', 'v1', 'Cat'),
    pod(orch),
    other('farm.orch.io', 'v1', 'Cow'),
    configMap(orch),
    other('farm.orch.io', 'v1beta1', 'Cow'),
    other('farm.orch.io', 'v1', 'Ant'),
    namespace(orch),
  ]).all(),
];
const groups = groupResources(all);

test('groups by name, core first; versions in the order in which they were added; resources by name', () => {
  assert.deepEqual(
    groups.map(({ group, versions }) => [
      group,
      ...versions.map(
        ({ version, resources }) => `${version}: ${resources.map(({ kind }) => kind.resource).join(' ')}`,
      ),
    ]),
    [
      ['', 'v1: configmaps namespaces pods'],
      ['farm.orch.io', 'v1: ants cows', 'v1beta1: cows'],
      ['zoo.orch.io', 'v1: cats'],
    ],
  );
});

test('GET /api has the versions of core, and the server address', () => {
  assert.deepEqual(coreVersions(groups, '127.0.0.1:6443'), {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:6443' }],
  });
  assert.deepEqual((coreVersions([], '') as { versions: unknown }).versions, []);
});

test('GET /apis has all groups but core, with the version that is preferred', () => {
  const v1 = { groupVersion: 'farm.orch.io/v1', version: 'v1' };
  const farm = {
    name: 'farm.orch.io',
    versions: [v1, { groupVersion: 'farm.orch.io/v1beta1', version: 'v1beta1' }],
    preferredVersion: v1,
  };
  const cats = { groupVersion: 'zoo.orch.io/v1', version: 'v1' };
  assert.deepEqual(groupList(groups), {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: [farm, { name: 'zoo.orch.io', versions: [cats], preferredVersion: cats }],
  });
  assert.deepEqual(groups[1] && groupDocument(groups[1]), { kind: 'APIGroup', apiVersion: 'v1', ...farm });
});

interface Listed {
  readonly groupVersion: string;
  readonly resources: readonly Readonly<Record<string, unknown>>[];
}

const listed = (group: string, version: string, resources: readonly ServedResource[]): Listed =>
  resourceList(group, version, resources) as Listed;
const core = listed('', 'v1', groups[0]?.versions[0]?.resources ?? []);
const entry = (name: string) => core.resources.find((each) => each['name'] === name) ?? {};

test('a resource list names its group version, and every subresource behind its resource', () => {
  assert.equal(core.groupVersion, 'v1');
  assert.equal(listed('farm.orch.io', 'v1beta1', []).groupVersion, 'farm.orch.io/v1beta1');
  const names = core.resources.map(({ name }) => String(name));
  const own = names.filter((name) => !name.includes('/'));
  assert.deepEqual(own, ['configmaps', 'namespaces', 'pods']);
  assert.deepEqual(
    names,
    own.flatMap((name) => [name, ...names.filter((each) => each.startsWith(`${name}/`))]),
  );
  for (const name of ['namespaces/finalize', 'pods/binding', 'pods/eviction', 'pods/status'])
    assert.ok(names.includes(name));
});

test('an entry has the verbs of the resource, sorted', () => {
  const { storageVersionHash, ...pods } = entry('pods');
  assert.deepEqual(pods, {
    name: 'pods',
    singularName: 'pod',
    namespaced: true,
    kind: 'Pod',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    shortNames: ['po'],
    categories: ['all'],
  });
  // What published servers answer.
  assert.equal(storageVersionHash, 'xPOwRZ+Yhw8=');
  assert.equal(entry('configmaps')['storageVersionHash'], 'qFsyl6wFWjQ=');
  assert.equal(entry('namespaces')['namespaced'], false);
  assert.ok(!(entry('namespaces')['verbs'] as string[]).includes('deletecollection'), 'not served, so not told');
  assert.equal('categories' in entry('configmaps'), false, 'nothing is told of what there is none');
});

test('a subresource has its own verbs, and the kind of its body if different', () => {
  assert.deepEqual(entry('pods/status'), {
    name: 'pods/status',
    singularName: '',
    namespaced: true,
    kind: 'Pod',
    verbs: ['get', 'patch', 'update'],
  });
  assert.deepEqual(entry('pods/binding'), {
    name: 'pods/binding',
    singularName: '',
    namespaced: true,
    kind: 'Binding',
    verbs: ['create'],
  });
  assert.deepEqual(entry('pods/eviction'), {
    name: 'pods/eviction',
    singularName: '',
    namespaced: true,
    group: orch.group('policy'),
    version: 'v1',
    kind: 'Eviction',
    verbs: ['create'],
  });
});

test('the aggregated form says the same as the lists', () => {
  interface Resource {
    readonly resource: string;
    readonly scope: string;
    readonly singularResource: string;
    readonly verbs: readonly string[];
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
    readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
    readonly subresources?: readonly (Pick<Resource, 'responseKind' | 'verbs'> & { readonly subresource: string })[];
  }
  interface Document {
    readonly kind: string;
    readonly apiVersion: string;
    readonly items: readonly {
      readonly metadata: { readonly name?: string };
      readonly versions: readonly { readonly version: string; readonly resources: readonly Resource[] }[];
    }[];
  }
  const document: Document = JSON.parse([...aggregated(groups, orch, 'v2')].join(''));
  assert.deepEqual([document.kind, document.apiVersion], ['APIGroupDiscoveryList', 'apidiscovery.orch.io/v2']);
  const told = document.items.flatMap(({ metadata: { name: group = '' }, versions }) =>
    versions.flatMap(({ version, resources }) =>
      resources.flatMap((each) => [
        {
          groupVersion: `${group} ${version}`,
          name: each.resource,
          singularName: each.singularResource,
          namespaced: each.scope === 'Namespaced',
          kind: each.responseKind.kind,
          verbs: each.verbs,
          shortNames: each.shortNames,
          categories: each.categories,
        },
        ...(each.subresources ?? []).map((sub) => ({
          groupVersion: `${group} ${version}`,
          name: `${each.resource}/${sub.subresource}`,
          singularName: '',
          namespaced: each.scope === 'Namespaced',
          kind: sub.responseKind.kind,
          verbs: sub.verbs,
          shortNames: undefined,
          categories: undefined,
        })),
      ]),
    ),
  );
  const lists = groups.flatMap(({ group, versions }) =>
    versions.flatMap(({ version, resources }) =>
      listed(group, version, resources).resources.map((each) => ({
        groupVersion: `${group} ${version}`,
        name: each['name'],
        singularName: each['singularName'],
        namespaced: each['namespaced'],
        kind: each['kind'],
        verbs: each['verbs'],
        shortNames: each['shortNames'],
        categories: each['categories'],
      })),
    ),
  );
  assert.deepEqual(told, lists);
});
