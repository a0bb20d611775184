import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { kinds } from '../../kinds/kinds.ts';
import { connects, parseRequestInfo } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { allowedVerbs, checkRequest } from '../registry.ts';
import { withoutObjects } from '../registry-fixture.ts';
import { type Operation, operations } from './operations.ts';
import { parameterSets } from './parameters.ts';
import { groupOperation, rootOperations, versionOperation } from './server-operations.ts';

const served = withoutObjects(kinds(orch));
const of = (resource: string): readonly Operation[] => {
  const found = [...served.all()].find(({ kind }) => kind.resource === resource);
  assert.ok(found, resource);
  return operations(found, orch);
};
const texts = (list: readonly Operation[]): readonly string[] =>
  list.map(({ method, path, id }) => `${method} ${path} ${id}`).sort();

test('of a namespaced kind of core, with subresources', () => {
  const namespaced = '/api/v1/namespaces/{namespace}/pods';
  assert.deepEqual(
    texts(of('pods')),
    [
      `get /api/v1/pods listCoreV1PodForAllNamespaces`,
      'get /api/v1/watch/pods watchCoreV1PodListForAllNamespaces',
      'get /api/v1/watch/namespaces/{namespace}/pods watchCoreV1NamespacedPodList',
      'get /api/v1/watch/namespaces/{namespace}/pods/{name} watchCoreV1NamespacedPod',
      `get ${namespaced} listCoreV1NamespacedPod`,
      `post ${namespaced} createCoreV1NamespacedPod`,
      `delete ${namespaced} deleteCoreV1CollectionNamespacedPod`,
      `get ${namespaced}/{name} readCoreV1NamespacedPod`,
      `put ${namespaced}/{name} replaceCoreV1NamespacedPod`,
      `patch ${namespaced}/{name} patchCoreV1NamespacedPod`,
      `delete ${namespaced}/{name} deleteCoreV1NamespacedPod`,
      `get ${namespaced}/{name}/status readCoreV1NamespacedPodStatus`,
      `put ${namespaced}/{name}/status replaceCoreV1NamespacedPodStatus`,
      `patch ${namespaced}/{name}/status patchCoreV1NamespacedPodStatus`,
      `get ${namespaced}/{name}/ephemeralcontainers readCoreV1NamespacedPodEphemeralcontainers`,
      `put ${namespaced}/{name}/ephemeralcontainers replaceCoreV1NamespacedPodEphemeralcontainers`,
      `patch ${namespaced}/{name}/ephemeralcontainers patchCoreV1NamespacedPodEphemeralcontainers`,
      `post ${namespaced}/{name}/binding createCoreV1NamespacedPodBinding`,
      `post ${namespaced}/{name}/eviction createCoreV1NamespacedPodEviction`,
      ...['Attach', 'Exec', 'Portforward'].flatMap((name) =>
        ['Get', 'Post'].map((method) => connecting(method, `${namespaced}/{name}/${name.toLowerCase()}`, name)),
      ),
      `get ${namespaced}/{name}/log readCoreV1NamespacedPodLog`,
      ...['Get', 'Head', 'Post', 'Put', 'Patch', 'Delete'].flatMap((method) => [
        connecting(method, `${namespaced}/{name}/proxy`, 'Proxy'),
        connecting(method, `${namespaced}/{name}/proxy/{path}`, 'ProxyWithPath'),
      ]),
    ].sort(),
  );
});

test('of a cluster-scoped kind, without unsupported verbs', () => {
  assert.deepEqual(
    texts(of('namespaces')).filter((each) => !/(finalize|status) /.test(each)),
    [
      'get /api/v1/namespaces listCoreV1Namespace',
      'get /api/v1/watch/namespaces watchCoreV1NamespaceList',
      'get /api/v1/watch/namespaces/{name} watchCoreV1Namespace',
      'post /api/v1/namespaces createCoreV1Namespace',
      'get /api/v1/namespaces/{name} readCoreV1Namespace',
      'put /api/v1/namespaces/{name} replaceCoreV1Namespace',
      'patch /api/v1/namespaces/{name} patchCoreV1Namespace',
      'delete /api/v1/namespaces/{name} deleteCoreV1Namespace',
    ].sort(),
  );
});

test('of a group version itself', () => {
  const versions = [
    { group: '', version: 'v1' },
    { group: 'farm.orch.io', version: 'v1beta1' },
  ];
  const all = versions.map((version) => versionOperation(version, orch));
  assert.deepEqual(texts(all), [
    'get /api/v1/ getCoreV1APIResources',
    'get /apis/farm.orch.io/v1beta1/ getFarmV1beta1APIResources',
  ]);
  assert.deepEqual(
    all.map(({ tag }) => tag),
    ['core_v1', 'farm_v1beta1'],
  );
});

test('of groups and of the root', () => {
  const groups = ['apps', 'rbac.authorization.k8s.io', '1st.my-things.example.com'];
  const all = [...rootOperations(true).values(), ...groups.map((group) => groupOperation(group, kubernetes))];
  assert.deepEqual(
    all.map(({ path, tag, id }) => `${path} ${tag} ${id}`),
    [
      '/api/ core getCoreAPIVersions',
      '/apis/ apis getAPIVersions',
      '/version/ version getCodeVersion',
      '/.well-known/openid-configuration/ WellKnown getServiceAccountIssuerOpenIDConfiguration',
      '/openid/v1/jwks/ openid getServiceAccountIssuerOpenIDKeyset',
      '/apis/apps/ apps getAppsAPIGroup',
      '/apis/rbac.authorization.k8s.io/ rbacAuthorization getRbacAuthorizationAPIGroup',
      '/apis/1st.my-things.example.com/ StMyThingsExampleCom getStMyThingsExampleComAPIGroup',
    ],
  );
  assert.deepEqual([...rootOperations(false).keys()], ['api', 'apis', 'version'], 'without an issuer');
});

test('each of a group version has its tag, in the words of the group without the suffix of the dialect', () => {
  for (const dialect of [orch, kubernetes]) {
    const registry = withoutObjects(kinds(dialect));
    const tags = new Set([...registry.all()].flatMap((each) => operations(each, dialect).map(({ tag }) => tag)));
    for (const tag of ['core_v1', 'apps_v1', 'rbacAuthorization_v1', 'flowcontrolApiserver_v1', 'autoscaling_v2']) {
      assert.ok(tags.has(tag), tag);
    }
  }
});

test('of a kind in a group', () => {
  const [across] = of('leases').filter(({ path }) => !path.includes('{'));
  assert.equal(across?.path, '/apis/coordination.orch.io/v1/leases');
  assert.equal(across?.id, 'listCoordinationV1LeaseForAllNamespaces');
});

/** Input and output of each operation: parameter set, body and responses, as in spec sections 4.1 and 4.2. */
const rows: readonly (readonly [
  method: Operation['method'],
  path: string,
  action: NonNullable<Operation['of']>['action'],
  set: keyof typeof parameterSets,
  body: string,
  answers: Readonly<Record<string, string>>,
  streams?: boolean,
])[] = [
  ['get', '', 'list', 'list', '', { 200: 'ServiceAccountList' }, true],
  [
    'post',
    '',
    'post',
    'write',
    'ServiceAccount',
    { 200: 'ServiceAccount', 201: 'ServiceAccount', 202: 'ServiceAccount' },
  ],
  ['delete', '', 'deletecollection', 'deleteCollection', 'DeleteOptions?', { 200: 'Status' }],
  ['get', '/{name}', 'get', 'get', '', { 200: 'ServiceAccount' }],
  ['put', '/{name}', 'put', 'write', 'ServiceAccount', { 200: 'ServiceAccount', 201: 'ServiceAccount' }],
  ['patch', '/{name}', 'patch', 'patch', 'Patch', { 200: 'ServiceAccount', 201: 'ServiceAccount' }],
  ['delete', '/{name}', 'delete', 'delete', 'DeleteOptions?', { 200: 'ServiceAccount', 202: 'ServiceAccount' }],
];

const named = (schema: Operation['responses'][string] | undefined): string =>
  (schema === 'text' ? schema : schema?.struct.split('.').at(-1)) ?? '';

const connecting = (method: string, path: string, name: string): string =>
  `${method.toLowerCase()} ${path} connectCoreV1${method}NamespacedPod${name}`;

describe('input and output of operations on service accounts', () => {
  for (const [method, rest, action, set, body, answers, streams = false] of rows) {
    test(`${method} ${rest}: ${action}`, () => {
      const path = `/api/v1/namespaces/{namespace}/serviceaccounts${rest}`;
      const found = of('serviceaccounts').find((each) => each.method === method && each.path === path);
      assert.ok(found);
      assert.equal(found.of?.action, action);
      assert.equal(found.streams, streams);
      const query = found.parameters.filter((each) => each.in === 'query');
      assert.deepEqual(query.map(({ name }) => name).sort(), parameterSets[set].map(({ name }) => name).sort());
      assert.deepEqual(
        found.parameters.filter((each) => each.in === 'path').map(({ name }) => name),
        rest === '' ? ['namespace'] : ['namespace', 'name'],
      );
      assert.equal(found.body ? named(found.body.schema) + (found.body.required ? '' : '?') : '', body);
      assert.deepEqual(
        Object.fromEntries(Object.entries(found.responses).map(([code, ref]) => [code, named(ref)])),
        answers,
      );
    });
  }

  test('a deletion answers with a Status where the kind says so', () => {
    const deletion = of('configmaps').find(({ of: its }) => its?.action === 'delete');
    assert.deepEqual(Object.values(deletion?.responses ?? {}).map(named), ['Status', 'Status']);
  });

  test('what else is asked of a pod is named in types that a query has', () => {
    const optionsOf = (name: string): Readonly<Record<string, string>> => {
      const { parameters = [] } =
        of('pods').find(({ path, method }) => path.endsWith(`/${name}`) && method === 'get') ?? {};
      return Object.fromEntries(parameters.filter((each) => each.in === 'query').map((each) => [each.name, each.type]));
    };
    assert.equal(optionsOf('portforward')['ports'], 'integer');
    assert.equal(optionsOf('exec')['command'], 'string');
    assert.deepEqual([optionsOf('log')['sinceSeconds'], optionsOf('log')['sinceTime']], ['integer', undefined]);
  });

  test('a patch may come in every format of the spec (section 4.6)', () => {
    assert.deepEqual(of('serviceaccounts').find(({ of: its }) => its?.action === 'patch')?.body?.mediaTypes, [
      'application/json-patch+json',
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
      'application/apply-patch+yaml',
    ]);
  });

  test('an action takes and gives a kind of its own', () => {
    const eviction = of('pods').find(({ path }) => path.endsWith('/eviction'));
    assert.equal(eviction?.of?.kind.kind, 'Eviction');
    assert.equal(named(eviction?.body?.schema), 'Eviction');
    assert.equal(named(eviction?.responses['201']), 'Eviction');
  });
});

/** How the server parses the request of an operation. */
const requestOf = ({ method, path }: Operation) =>
  parseRequestInfo(method.toUpperCase(), path.replace('{namespace}', 'n').replace('{name}', 'x'));

for (const dialect of [orch, kubernetes]) {
  describe(`the documents and the server agree (${dialect.name})`, () => {
    const registry = withoutObjects(kinds(dialect));
    const all = [...registry.all()];

    test('every operation is served with its verb', () => {
      for (const resource of all) {
        for (const operation of operations(resource, dialect)) {
          const info = requestOf(operation);
          assert.ok(info.type === 'resource', operation.path);
          assert.equal(registry.find(info.group, info.version, info.resource), resource, operation.path);
          checkRequest({ info, served: resource });
          const action = { create: 'post', update: 'put' }[info.verb as string] ?? info.verb;
          if (operation.of?.action === 'connect') assert.ok(connects(info), operation.path);
          else assert.equal(action, operation.of?.action.replace('watchlist', 'watch'), operation.path);
        }
      }
    });

    test('every verb that is served has an operation', () => {
      const verbsOf = (resource: ServedResource, subresource: string, name: boolean): ReadonlySet<string> =>
        new Set(
          operations(resource, dialect).flatMap((operation) => {
            const info = requestOf(operation);
            if (info.type !== 'resource' || info.watchPath !== undefined) return [];
            if (info.subresource !== subresource || (info.name !== '') !== name) return [];
            return operation.streams ? [info.verb, 'watch'] : [info.verb];
          }),
        );
      for (const resource of all) {
        // A list or watch of one object is that of its collection with a name selector.
        const one = allowedVerbs(resource, '', true).filter((verb) => verb !== 'list' && verb !== 'watch');
        assert.deepEqual(verbsOf(resource, '', true), new Set(one));
        assert.deepEqual(verbsOf(resource, '', false), new Set(allowedVerbs(resource, '', false)));
        for (const { name } of resource.kind.subresources) {
          assert.deepEqual(verbsOf(resource, name, true), new Set(allowedVerbs(resource, name, true)), name);
        }
      }
    });

    test('no two have one id, or one method of one path', () => {
      const list = all.flatMap((each) => operations(each, dialect));
      assert.equal(new Set(list.map(({ id }) => id)).size, list.length);
      assert.equal(new Set(list.map(({ method, path }) => `${method} ${path}`)).size, list.length);
    });
  });
}
