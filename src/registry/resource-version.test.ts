import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from '../base/waits-fixture.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { RegistryFixture } from './registry-fixture.ts';

/**
 * Every cell of the tables of spec section 4.5, for three scopes. State at R1: a, b, c, d. Then b is deleted, c changed
 * and e created, so the state at R2 is a, c*, d, e.
 */
interface Scope {
  readonly name: string;
  readonly path: string;
  readonly object: (name: string, value: string) => { readonly path: string; readonly body: unknown };
}

const scopes: readonly Scope[] = [
  {
    name: 'namespaced',
    path: '/api/v1/namespaces/n/configmaps',
    object: (name, value) => ({
      path: '/api/v1/namespaces/n/configmaps',
      body: { metadata: { name }, data: { value } },
    }),
  },
  {
    name: 'across namespaces',
    path: '/api/v1/configmaps?labelSelector=x',
    object: (name, value) => ({
      path: `/api/v1/namespaces/${name < 'c' ? 'm' : 'n'}/configmaps`,
      body: { metadata: { name, labels: { x: '' } }, data: { value } },
    }),
  },
  {
    name: 'cluster',
    path: '/api/v1/nodes',
    object: (name, value) => ({ path: '/api/v1/nodes', body: { metadata: { name, annotations: { value } } } }),
  },
];

const before = ['a=1', 'b=1', 'c=1', 'd=1'];
const after = ['a=1', 'c=2', 'd=1', 'e=1'];

async function changed(fixture: RegistryFixture, scope: Scope): Promise<{ readonly R1: string; readonly R2: string }> {
  for (const name of ['a', 'b', 'c', 'd']) await write(fixture, scope, 'POST', name, '1');
  const R1 = (await fixture.list(scope.path)).metadata.resourceVersion;
  const b = scope.object('b', '1');
  await fixture.call('DELETE', `${b.path}/b`);
  await write(fixture, scope, 'PUT', 'c', '2');
  await write(fixture, scope, 'POST', 'e', '1');
  return { R1, R2: (await fixture.list(scope.path)).metadata.resourceVersion };
}

async function write(
  fixture: RegistryFixture,
  scope: Scope,
  method: string,
  name: string,
  value: string,
): Promise<void> {
  const { path, body } = scope.object(name, value);
  await fixture.call(method, method === 'PUT' ? `${path}/${name}` : path, body);
}

const shown = (items: readonly ApiObject[]): readonly string[] =>
  items.map(
    (item) =>
      `${item.metadata.name}=${(item['data'] as { value?: string } | undefined)?.value ?? item.metadata.annotations?.['value']}`,
  );

/** Reads a list with all its chunks. */
async function readAll(
  fixture: RegistryFixture,
  path: string,
): Promise<{ readonly items: readonly string[]; readonly versions: readonly string[] }> {
  const items: string[] = [];
  const versions = new Set<string>();
  let next = path;
  for (;;) {
    const page = await fixture.list(next);
    items.push(...shown(page.items));
    versions.add(page.metadata.resourceVersion);
    if (page.metadata.continue === undefined) return { items, versions: [...versions] };
    const query = new URL(path, 'https://x').searchParams;
    query.delete('resourceVersion');
    query.delete('resourceVersionMatch');
    query.set('continue', page.metadata.continue);
    next = `${path.split('?')[0]}?${query}`;
  }
}

type Meaning = 'most recent' | 'any' | 'not older than' | 'exact' | 'invalid';

/** resourceVersionMatch, limit, resourceVersion: the meaning. */
const cells: readonly (readonly [
  match: '' | 'Exact' | 'NotOlderThan',
  limit: '' | '2',
  version: '' | '0' | 'R1' | 'R2',
  Meaning,
])[] = [
  ['', '', '', 'most recent'],
  ['', '', '0', 'any'],
  ['', '', 'R1', 'not older than'],
  ['', '', 'R2', 'not older than'],
  ['', '2', '', 'most recent'],
  ['', '2', '0', 'any'],
  ['', '2', 'R1', 'exact'],
  ['', '2', 'R2', 'exact'],
  ['Exact', '', '', 'invalid'],
  ['Exact', '', '0', 'invalid'],
  ['Exact', '', 'R1', 'exact'],
  ['Exact', '', 'R2', 'exact'],
  ['Exact', '2', '', 'invalid'],
  ['Exact', '2', '0', 'invalid'],
  ['Exact', '2', 'R1', 'exact'],
  ['Exact', '2', 'R2', 'exact'],
  ['NotOlderThan', '', '', 'invalid'],
  ['NotOlderThan', '', '0', 'any'],
  ['NotOlderThan', '', 'R1', 'not older than'],
  ['NotOlderThan', '', 'R2', 'not older than'],
  ['NotOlderThan', '2', '', 'invalid'],
  ['NotOlderThan', '2', '0', 'any'],
  ['NotOlderThan', '2', 'R1', 'not older than'],
  ['NotOlderThan', '2', 'R2', 'not older than'],
];

function withQuery(path: string, parameters: Readonly<Record<string, string>>): string {
  const set = Object.entries(parameters).filter(([, value]) => value !== '');
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(set)}`;
}

for (const scope of scopes) {
  for (const [match, limit, version, meaning] of cells) {
    test(`list (${scope.name}): match '${match}', limit '${limit}', version '${version}' is ${meaning}`, async () => {
      await using fixture = await RegistryFixture.open();
      const versions = await changed(fixture, scope);
      const resourceVersion = version === 'R1' || version === 'R2' ? versions[version] : version;
      const path = withQuery(scope.path, { resourceVersionMatch: match, limit, resourceVersion });
      if (meaning === 'invalid') {
        assert.equal((await fixture.refusal('GET', path)).code, 400);
        return;
      }
      const read = await readAll(fixture, path);
      assert.equal(read.versions.length, 1, 'one version for all chunks');
      if (meaning === 'exact') assert.deepEqual(read.versions, [resourceVersion]);
      // The cache is up to date here, so "any" and "not older than" show the newest state too.
      const expected = meaning === 'exact' && version === 'R1' ? before : after;
      assert.deepEqual(read.items, expected);
    });
  }

  test(`list (${scope.name}): limit and continue are exact at the token's version, with version '' and '0'; else 400`, async () => {
    await using fixture = await RegistryFixture.open();
    for (const name of ['a', 'b', 'c', 'd']) await write(fixture, scope, 'POST', name, '1');
    const first = await fixture.list(withQuery(scope.path, { limit: '2' }));
    const token = first.metadata.continue ?? '';
    await fixture.call('DELETE', `${scope.object('d', '1').path}/d`);
    for (const resourceVersion of ['', '0']) {
      const rest = await fixture.list(withQuery(scope.path, { limit: '2', continue: token, resourceVersion }));
      assert.deepEqual(shown(rest.items), ['c=1', 'd=1']);
      assert.equal(rest.metadata.resourceVersion, first.metadata.resourceVersion);
    }
    const { resourceVersion } = first.metadata;
    for (const parameters of [
      { resourceVersion },
      { resourceVersion, resourceVersionMatch: 'Exact' },
      { resourceVersion: '0', resourceVersionMatch: 'NotOlderThan' },
    ]) {
      const error = await fixture.refusal('GET', withQuery(scope.path, { limit: '2', continue: token, ...parameters }));
      assert.equal(error.code, 400);
    }
  });
}

test('get: version unset, 0, older and newer', async () => {
  await using fixture = await RegistryFixture.open();
  const { R1, R2 } = await changed(fixture, scopes[0] as Scope);
  const path = '/api/v1/namespaces/n/configmaps/c';
  for (const version of ['', '0', R1, R2]) {
    assert.deepEqual(shown([await fixture.object('GET', withQuery(path, { resourceVersion: version }))]), ['c=2']);
  }
  assert.equal((await fixture.refusal('GET', '/api/v1/namespaces/n/configmaps/b')).code, 404);
});

test('a future version is a 504 with Retry-After, for get and every kind of list', async () => {
  await using fixture = await RegistryFixture.open();
  const { R2 } = await changed(fixture, scopes[0] as Scope);
  const resourceVersion = String(Number(R2) + 1000);
  const collection = '/api/v1/namespaces/n/configmaps';
  const requests = [
    withQuery(`${collection}/c`, { resourceVersion }),
    withQuery(collection, { resourceVersion }),
    withQuery(collection, { resourceVersion, resourceVersionMatch: 'Exact' }),
    withQuery(collection, { resourceVersion: '99999999999999999999' }),
  ];
  for (const error of await Promise.all(requests.map((path) => fixture.refusal('GET', path)))) {
    assert.equal(error.code, 504);
    assert.match(error.message, /Too large resource version/);
    assert.equal(error.details?.retryAfterSeconds, 1);
  }
});

test('a list that waits for a version is answered when a write reaches it', async () => {
  await using fixture = await RegistryFixture.open();
  const { R2 } = await changed(fixture, scopes[0] as Scope);
  const waiting = fixture.list(`/api/v1/namespaces/n/configmaps?resourceVersion=${Number(R2) + 1}`);
  await write(fixture, scopes[0] as Scope, 'POST', 'f', '1');
  assert.equal((await waiting).items.length, 5);
});

test('an exact version that history no longer has is 410 Expired', async () => {
  await using fixture = await RegistryFixture.open();
  const { R1 } = await changed(fixture, scopes[0] as Scope);
  const { continue: token = '' } = (await fixture.list('/api/v1/namespaces/n/configmaps?limit=1')).metadata;
  await write(fixture, scopes[0] as Scope, 'POST', 'f', '1');
  await fixture.store.compact(await fixture.store.head());
  // A cache that has just started has no history.
  await using restarted = await RegistryFixture.open({ store: fixture.store });
  for (const query of [
    `resourceVersion=${R1}&resourceVersionMatch=Exact`,
    `resourceVersion=${R1}&limit=1`,
    `limit=1&continue=${token}`,
  ]) {
    const error = await restarted.refusal('GET', `/api/v1/namespaces/n/configmaps?${query}`);
    assert.equal(error.code, 410, query);
    assert.equal(error.reason, 'Expired');
  }
  const served = await restarted.list(`/api/v1/namespaces/n/configmaps?resourceVersion=${R1}`);
  assert.equal(served.items.length, 5, 'not older than a version that is gone is served');
});

test('invalid versions are rejected', async () => {
  await using fixture = await RegistryFixture.open();
  for (const version of ['abc', '-1', '1.5', '0x1']) {
    for (const path of ['/api/v1/nodes', '/api/v1/nodes/n', '/api/v1/nodes?watch=1']) {
      assert.equal((await fixture.refusal('GET', withQuery(path, { resourceVersion: version }))).code, 400);
    }
  }
});

test('an object is not exported', async () => {
  await using fixture = await RegistryFixture.open();
  const { code, message } = await fixture.refusal('GET', '/api/v1/namespaces/default?export=true');
  assert.deepEqual([code, message], [400, 'the export parameter, deprecated since v1.14, is no longer supported']);
});

test('watch: version unset and 0 start with the state, any other with the events after it', async () => {
  await using fixture = await RegistryFixture.open();
  const { R1, R2 } = await changed(fixture, scopes[0] as Scope);
  for (const [version, initial, expected] of [
    ['', after, []],
    ['0', after, []],
    [R1, [], ['DELETED b', 'MODIFIED c', 'ADDED e']],
    [R2, [], []],
  ] as const) {
    const reply = await fixture.call(
      'GET',
      withQuery('/api/v1/namespaces/n/configmaps?watch=1', { resourceVersion: version }),
    );
    assert.ok(reply.type === 'watch');
    assert.deepEqual(shown([...reply.initial].map(({ bytes }) => JSON.parse(bytes.toString()))), initial);
    const events: string[] = [];
    const marker = Promise.withResolvers<void>();
    const watcher = reply.start({
      event({ type, entry }) {
        if (entry.name === 'marker') marker.resolve();
        else events.push(`${type} ${entry.name}`);
        return true;
      },
      closed: () => marker.reject(new Error('closed')),
    });
    await write(fixture, scopes[0] as Scope, 'POST', 'marker', '');
    await within(marker.promise, 'marker: never');
    watcher.close();
    await fixture.call('DELETE', '/api/v1/namespaces/n/configmaps/marker');
    assert.deepEqual(
      events.filter((event) => !event.endsWith('marker')),
      expected,
      `from ${version}`,
    );
  }
});
