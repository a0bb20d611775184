import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../meta/status-error.ts';
import { booleanParameter, integerParameter, parseRequestInfo, type ResourceRequest } from './request-info.ts';

type Row = readonly [method: string, target: string, expected: Partial<ResourceRequest>];

const rows: readonly Row[] = [
  [
    'GET',
    '/api/v1/namespaces/a/configmaps',
    { verb: 'list', group: '', version: 'v1', namespace: 'a', resource: 'configmaps', name: '' },
  ],
  ['GET', '/api/v1/namespaces/a/configmaps/x', { verb: 'get', namespace: 'a', resource: 'configmaps', name: 'x' }],
  ['HEAD', '/api/v1/namespaces/a/configmaps/x', { verb: 'get', name: 'x' }],
  ['GET', '/api/v1/configmaps', { verb: 'list', namespace: '', resource: 'configmaps' }],
  ['GET', '/api/v1/configmaps?watch=true', { verb: 'watch' }],
  ['GET', '/api/v1/configmaps?watch=1', { verb: 'watch' }],
  ['GET', '/api/v1/configmaps?watch', { verb: 'watch' }],
  ['GET', '/api/v1/configmaps?watch=false', { verb: 'list' }],
  ['GET', '/api/v1/namespaces/a/configmaps/x?watch=true', { verb: 'get' }],
  ['GET', '/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Dx', { verb: 'watch', name: 'x' }],
  ['GET', '/api/v1/nodes/n/proxy', { verb: 'get', resource: 'nodes', name: 'n', subresource: 'proxy' }],
  ['DELETE', '/api/v1/nodes/https:n:1/proxy/', { verb: 'delete', name: 'https:n:1', subresource: 'proxy', below: '/' }],
  [
    'POST',
    '/api/v1/namespaces/a/pods/p/proxy/b//c%2fd/?e',
    { verb: 'create', namespace: 'a', name: 'p', below: '/b//c%2fd/' },
  ],
  ['GET', '/apis/g/v1/namespaces/a/things/t/proxy/x', { group: 'g', resource: 'things', name: 't', below: '/x' }],
  ['GET', '/api/v1/namespaces/proxy/pods/proxy/proxy/proxy', { namespace: 'proxy', name: 'proxy', below: '/proxy' }],
  // A selector that does not require one name.
  ...[
    ['metadata.name==x', 'x'],
    ['a=b,metadata.name=x', 'x'],
    [' metadata.name=x', 'x'],
    [String.raw`metadata.name=x\,y`, 'x,y'],
    ['metadata.name!=x', ''],
    [String.raw`a!=b\,metadata.name=x`, ''],
    [String.raw`a\,metadata.name=x`, ''],
    ['ametadata.name=x', ''],
    ['metadata.namespace=x', ''],
    ['metadata.name=', ''],
    ['metadata.name=x,a', ''],
  ].map(
    ([selector = '', name = '']): Row => [
      'GET',
      `/api/v1/configmaps?fieldSelector=${encodeURIComponent(selector)}`,
      { verb: 'list', name },
    ],
  ),
  ['DELETE', '/api/v1/configmaps?fieldSelector=metadata.name%3Dx', { verb: 'deletecollection', name: '' }],
  ['POST', '/api/v1/namespaces/a/configmaps', { verb: 'create' }],
  ['PUT', '/api/v1/namespaces/a/configmaps/x', { verb: 'update' }],
  ['PATCH', '/api/v1/namespaces/a/configmaps/x', { verb: 'patch' }],
  ['DELETE', '/api/v1/namespaces/a/configmaps/x', { verb: 'delete' }],
  ['DELETE', '/api/v1/namespaces/a/configmaps', { verb: 'deletecollection' }],
  ['GET', '/api/v1/namespaces', { verb: 'list', namespace: '', resource: 'namespaces', name: '' }],
  ['GET', '/api/v1/namespaces/a', { verb: 'get', namespace: 'a', resource: 'namespaces', name: 'a' }],
  [
    'PUT',
    '/api/v1/namespaces/a/finalize',
    { verb: 'update', resource: 'namespaces', name: 'a', subresource: 'finalize' },
  ],
  ['GET', '/api/v1/namespaces/a/status', { resource: 'namespaces', name: 'a', subresource: 'status' }],
  [
    'POST',
    '/api/v1/namespaces/a/pods/p/binding',
    { verb: 'create', resource: 'pods', name: 'p', subresource: 'binding' },
  ],
  [
    'GET',
    '/apis/coordination.orch.io/v1/namespaces/a/leases/l',
    { group: 'coordination.orch.io', version: 'v1', resource: 'leases', name: 'l' },
  ],
  ['GET', '/api/v1/nodes/n%3A1', { name: 'n:1' }],
  ...(['GET', 'HEAD', 'POST', 'DELETE'] as const).flatMap((method): readonly Row[] => {
    const reads = method === 'GET' || method === 'HEAD';
    const watch = { verb: 'watch', subresource: '' } as const;
    return [
      [
        method,
        '/api/v1/watch/pods',
        { ...watch, resource: 'pods', namespace: '', inNamespace: false, name: '', watchPath: { name: '', reads } },
      ],
      [
        method,
        '/api/v1/watch/namespaces/a/pods?fieldSelector=metadata.name%3Dp',
        { ...watch, resource: 'pods', namespace: 'a', inNamespace: true, name: 'p', watchPath: { name: '', reads } },
      ],
      [
        method,
        '/api/v1/watch/namespaces/a/pods/p?watch=false',
        { ...watch, resource: 'pods', namespace: 'a', inNamespace: true, name: 'p', watchPath: { name: 'p', reads } },
      ],
      [
        method,
        '/api/v1/watch/namespaces/a',
        { ...watch, resource: 'namespaces', namespace: 'a', inNamespace: false, name: 'a' },
      ],
      [
        method,
        '/apis/coordination.orch.io/v1/watch/namespaces/a/leases/l',
        { ...watch, group: 'coordination.orch.io', resource: 'leases', name: 'l', watchPath: { name: 'l', reads } },
      ],
    ];
  }),
  ['GET', '/api/v1/watch', { verb: 'list', resource: 'watch' }],
  ['GET', '/api/v1/nodes/', { verb: 'list', resource: 'nodes', name: '' }],
];

for (const [method, target, expected] of rows) {
  test(`request info: ${method} ${target}`, () => {
    const info = parseRequestInfo(method, target);
    assert.equal(info.type, 'resource');
    for (const [field, value] of Object.entries(expected))
      assert.deepEqual(info[field as keyof typeof info], value, field);
  });
}

for (const target of [
  '/',
  '/api',
  '/api/v1',
  '/apis',
  '/apis/g',
  '/apis/g/v1',
  '/livez/ping',
  '/openapi/v3/api/v1',
  '/version',
]) {
  test(`request info: ${target} is no resource`, () => {
    assert.deepEqual(parseRequestInfo('GET', target), {
      ...parseRequestInfo('GET', target),
      type: 'path',
      path: target,
      verb: 'get',
    });
  });
}

for (const method of ['OPTIONS', 'get', 'Get', 'constructor', '__proto__', 'toString', '']) {
  test(`request info: ${JSON.stringify(method)} does nothing to objects`, () => {
    const path = '/api/v1/namespaces/a/secrets';
    const { type, verb } = parseRequestInfo(method, path);
    assert.deepEqual([type, verb], ['path', '']);
    assert.equal(parseRequestInfo(method, '/healthz').verb, method.toLowerCase());
  });
}

const nothing = [
  '/api/v1/watch/namespaces/a/pods/p/status',
  '/api/v1/namespaces/a/configmaps/x/status/more',
  '/api/v1/namespaces//configmaps',
  '/api/v1/namespaces/../secrets',
  '/api/v1/namespaces/a/./secrets',
  '/api/v1/namespaces/a/configmaps/..%2fsecrets',
  '/api/v1/namespaces/a/configmaps/%2e%2e',
  '/api/v1/namespaces/a/configmaps/x%00',
  '//api/v1/nodes',
  'api/v1/nodes',
];
for (const target of nothing) {
  test(`request info: ${target} names nothing`, () => {
    assert.throws(
      () => parseRequestInfo('GET', target),
      (error) => error instanceof StatusError && error.code === 404,
    );
  });
}

test('request info: a path that is not UTF-8 is a bad request', () => {
  assert.throws(
    () => parseRequestInfo('GET', '/api/v1/nodes/%ff'),
    (error) => error instanceof StatusError && error.code === 400,
  );
});

test('boolean parameters', () => {
  const read = (text: string) => booleanParameter(new URLSearchParams(text), 'b');
  assert.deepEqual(
    [read(''), read('b'), read('b=1'), read('b=true'), read('b=0'), read('b=false')],
    [undefined, true, true, true, false, false],
  );
  assert.throws(() => read('b=maybe'), /invalid value for query parameter b/);
});

test('integer parameters', () => {
  const read = (text: string) => integerParameter(new URLSearchParams(text), 'n');
  assert.deepEqual(
    [read(''), read('n=0'), read('n=12'), read('n=-1'), read('n=%2B7'), read('n=9007199254740993')],
    [undefined, 0, 12, -1, 7, 9007199254740993n],
  );
  for (const text of ['n=', 'n', 'n=1.5', 'n=abc', 'n=99999999999999999999', 'n=0x1', 'n=1e3', 'n=1_000'])
    assert.throws(() => read(text), /query parameter n/);
});

test('request info: selectors of collections', () => {
  const selectorsOf = (method: string, target: string) => {
    const info = parseRequestInfo(method, target);
    assert.equal(info.type, 'resource');
    return [info.fieldSelector, info.labelSelector];
  };
  const fields = [{ operator: 'in', key: 'spec.nodeName', values: new Set(['n']) }];
  const labels = [
    { operator: 'notin', key: 'a', values: new Set(['b']) },
    { operator: 'exists', key: 'c' },
  ];
  const query = '?fieldSelector=spec.nodeName%3Dn&labelSelector=a!%3Db%2Cc';
  for (const [method, more] of [
    ['GET', ''],
    ['GET', '&watch=1'],
    ['DELETE', ''],
  ] as const) {
    assert.deepEqual(selectorsOf(method, `/api/v1/pods${query}${more}`), [fields, labels], `${method} ${more}`);
  }
  const info = parseRequestInfo('GET', `/api/v1/pods${query}`) as ResourceRequest;
  assert.equal(info.fieldSelector, info.fieldSelector, 'read once');
  for (const [method, target] of [
    ['GET', '/api/v1/pods'],
    ['GET', '/api/v1/pods?fieldSelector=&labelSelector=,'],
    ['GET', '/api/v1/pods?fieldSelector=nonsense&labelSelector=a+in+b'],
    ['GET', `/api/v1/namespaces/n/pods/p${query}`],
    ['POST', `/api/v1/namespaces/n/pods${query}`],
    ['GET', `/api/v1/watch/pods${query}`],
  ] as const) {
    assert.deepEqual(selectorsOf(method, target), [undefined, undefined], `${method} ${target}`);
  }
});
