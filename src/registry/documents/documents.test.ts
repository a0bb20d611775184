import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock, systemClock } from '../../base/time/clock.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { configMap } from '../../kinds/core/config-map.ts';
import type { Kind } from '../../kinds/kind.ts';
import { kinds } from '../../kinds/kinds.ts';
import { withoutObjects } from '../registry-fixture.ts';
import { type ApiDocument, ApiDocuments, type OpenapiName } from './documents.ts';

const address = (): string => '127.0.0.1:6443';
const read = (document: ApiDocument | undefined) => JSON.parse(document?.json.toString() ?? 'null');

interface Described {
  readonly description?: unknown;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
  readonly additionalProperties?: Described;
  readonly [field: string]: unknown;
}

/** What has a description in an OpenAPI document of either version. */
function* partsOf(document: {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly definitions?: Readonly<Record<string, Described>>;
  readonly components?: { readonly schemas: Readonly<Record<string, Described>> };
}): Generator<readonly [path: string, part: Described]> {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      yield [`${method} ${path}`, operation];
      for (const parameter of (operation['parameters'] as readonly (Described & { name: string })[] | undefined) ??
        []) {
        if (parameter['in'] !== 'body') yield [`${method} ${path} ${parameter.name}`, parameter];
      }
    }
  }
  for (const [name, schema] of Object.entries(document.definitions ?? document.components?.schemas ?? {})) {
    yield [name, schema];
    yield* fieldsOf(name, schema);
  }
}

function* fieldsOf(path: string, schema: Described): Generator<readonly [path: string, part: Described]> {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    yield [`${path}.${name}`, field];
    yield* fieldsOf(`${path}.${name}`, field);
  }
  if (schema.items) yield* fieldsOf(`${path}[]`, schema.items);
  if (typeof schema.additionalProperties === 'object') yield* fieldsOf(`${path}{}`, schema.additionalProperties);
}

/** The name of the document at a path of the index. */
function nameOf(path: string): OpenapiName {
  const [, group = '', version] = path === 'api/v1' ? ['apis', '', 'v1'] : path.split('/');
  return path.startsWith('api') && version !== undefined ? { type: 'v3', group, version } : { type: 'server', path };
}

for (const dialect of [orch, kubernetes]) {
  const documents = new ApiDocuments({ dialect, cbor: false, issuer: true }, withoutObjects(kinds(dialect)), address);
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
      read(documents.aggregated(root, 'v2')).items.map(
        ({ metadata }: { metadata: { name?: string } }) => metadata.name ?? '',
      );
    assert.deepEqual(groupsOf('api'), ['']);
    assert.ok(groupsOf('apis').includes(leases));
    assert.ok(!groupsOf('apis').includes(''));
  });

  test(`OpenAPI describes every schema, field, operation and parameter (${dialect.name})`, async () => {
    const { paths } = read(documents.openapiIndex()) as { readonly paths: object };
    const all: [string, ApiDocument | undefined][] = [];
    for (const path of Object.keys(paths)) {
      all.push([path, await documents.openapiInSlices(nameOf(path), systemClock)]);
    }
    let described = 0;
    for (const [name, document] of [['v2', documents.openapiV2()] as const, ...all]) {
      for (const [path, part] of partsOf(read(document))) {
        described += 1;
        assert.ok(typeof part.description === 'string' && part.description.length > 3, `${name} ${path}`);
      }
    }
    assert.ok(described > 4_000, `${described} parts`);
  });

  test(`what is no resource has documents of its own, which say no more than they need (${dialect.name})`, async () => {
    const prefix = `${dialect.openapiPrefix}.apimachinery.pkg`;
    for (const [path, schemas] of [
      ['api', ['apis.meta.v1.APIVersions', 'apis.meta.v1.ServerAddressByClientCIDR']],
      [
        'apis/apps',
        ['APIGroup', 'GroupVersionForDiscovery', 'ServerAddressByClientCIDR'].map((name) => `apis.meta.v1.${name}`),
      ],
      ['version', ['version.Info']],
      ['.well-known/openid-configuration', []],
    ] as const) {
      const document = await documents.openapiInSlices({ type: 'server', path }, systemClock);
      const { paths, components } = read(document);
      assert.deepEqual(Object.keys(paths), [`/${path}/`]);
      assert.deepEqual(
        Object.keys(components.schemas),
        schemas.map((name) => `${prefix}.${name}`),
      );
    }
    for (const path of ['', 'apis/', 'apis/nosuch', 'api/', '__proto__']) {
      assert.equal(documents.openapiInSlices({ type: 'server', path }, systemClock), undefined, path);
    }
    const withoutIssuer = new ApiDocuments(
      { dialect, cbor: false, issuer: false },
      withoutObjects(kinds(dialect)),
      address,
    );
    assert.deepEqual(
      Object.keys(read(documents.openapiV2()).paths).filter((path) => !(path in read(withoutIssuer.openapiV2()).paths)),
      ['/.well-known/openid-configuration/', '/openid/v1/jwks/'],
    );
  });

  test(`each operation has a tag and an id of its own (${dialect.name})`, () => {
    const methods = Object.values<Record<string, { operationId: string; tags: string[] }>>(
      read(documents.openapiV2()).paths,
    );
    const all = methods.flatMap((each) => Object.values(each));
    assert.equal(new Set(all.map(({ operationId }) => operationId)).size, all.length);
    assert.ok(all.every(({ tags }) => tags.length === 1 && /^[A-Za-z]+(_v\d\w*)?$/.test(tags[0] ?? '')));
  });

  test(`groups stand in the published order (${dialect.name})`, () => {
    const short = [
      'apps',
      'events',
      'authentication',
      'authorization',
      'autoscaling',
      'batch',
      'certificates',
      'networking',
      'policy',
      'rbac.authorization',
      'storage',
      'admissionregistration',
      'apiextensions',
      'scheduling',
      'coordination',
      'node',
      'discovery',
      'resource',
      'flowcontrol.apiserver',
      'internal.apiserver',
      'storagemigration',
    ];
    const custom = ['a.example.com', 'b.example.com'].map((group): Kind => ({ ...configMap(dialect), group }));
    const all = [...custom.toReversed(), ...kinds(dialect)];
    const served = new ApiDocuments({ dialect, cbor: false, issuer: true }, withoutObjects(all), address);
    const there = new Set(kinds(dialect).map(({ group }) => group));
    const expected = [
      ...short.map(dialect.group).filter((group) => there.has(group)),
      ...custom.map(({ group }) => group),
    ];
    assert.deepEqual(new Set(['', ...expected]), new Set(all.map(({ group }) => group)), 'every group has a place');
    const named = (groups: readonly { readonly name: string }[]): readonly string[] => groups.map(({ name }) => name);
    assert.deepEqual(named(read(served.groupList()).groups), expected);
    const { items } = read(served.aggregated('apis', 'v2')) as { items: readonly { metadata: { name: string } }[] };
    assert.deepEqual(named(items.map(({ metadata }) => metadata)), expected);
  });

  test(`both versions of the aggregated form say the same (${dialect.name})`, () => {
    for (const root of ['api', 'apis'] as const) {
      const [now, old] = (['v2', 'v2beta1'] as const).map((version) => read(documents.aggregated(root, version)));
      assert.equal(old.apiVersion, `${dialect.group('apidiscovery')}/v2beta1`);
      assert.deepEqual({ ...old, apiVersion: now.apiVersion }, now);
    }
  });

  test(`the index of OpenAPI names each document by the hash of its bytes (${dialect.name})`, async () => {
    const { paths } = read(documents.openapiIndex()) as {
      paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
    };
    const { groups } = read(documents.groupList()) as { groups: readonly { readonly versions: readonly unknown[] }[] };
    // The core group is not in the list; five are of the root.
    const listed = groups.flatMap(({ versions }) => [undefined, ...versions]);
    assert.equal(Object.keys(paths).length, listed.length + 1 + 5);
    for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
      const document = await documents.openapiInSlices(nameOf(path), systemClock);
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
  const documents = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, resources, address);
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
    ['apis/late.orch.io', 'apis/late.orch.io/v1'],
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
  const documents = new ApiDocuments(
    { dialect: orch, cbor: false, issuer: true },
    withoutObjects(kinds(orch)),
    () => `127.0.0.1:${port}`,
  );
  port = 7443;
  assert.match(documents.coreVersions().json.toString(), /127\.0\.0\.1:7443/);
});

/** Every slice is over as soon as it began. */
class HurriedClock extends ManualClock {
  #now = 0;

  override monotonic(): number {
    this.#now += limits.turnMs;
    return this.#now;
  }
}

const openapiNames: readonly OpenapiName[] = [
  { type: 'v2' },
  { type: 'index' },
  { type: 'v3', group: '', version: 'v1' },
  { type: 'v3', group: orch.group('coordination'), version: 'v1' },
];

/** How many turns of the event loop pass until then. */
async function turnsUntil(done: Promise<unknown>): Promise<number> {
  let turns = 0;
  let pending = true;
  const end = () => {
    pending = false;
  };
  done.then(end, end);
  for (; pending; turns++) await new Promise((resolve) => setImmediate(resolve));
  return turns;
}

for (const name of openapiNames) {
  test(`OpenAPI is made in slices, once for all who ask: ${JSON.stringify(name)}`, async () => {
    const clock = new HurriedClock();
    const resources = withoutObjects(kinds(orch).map((kind) => ({ ...kind })));
    // A kind of this test only: what other tests made is not shared.
    const own = { ...late, description: JSON.stringify(name) };
    await resources.add({ ...own, group: 'group' in name ? name.group : late.group });
    const documents = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, resources, address);
    const asked = [documents.openapiInSlices(name, clock), documents.openapiInSlices(name, clock)];
    const turns = await turnsUntil(Promise.all(asked));
    assert.ok(turns > 10, `${turns} turns`);
    const [one, other] = await Promise.all(asked);
    assert.equal(one, other);
    assert.equal(documents.openapiInSlices(name, clock), one, 'without a promise from now on');
    const { type } = name;
    const inOneGo = type === 'v2' ? documents.openapiV2() : type === 'index' ? documents.openapiIndex() : one;
    assert.equal(inOneGo, one);
    assert.equal(
      createHash('sha512')
        .update(one?.json ?? '')
        .digest('hex')
        .toUpperCase(),
      one?.hash,
    );
  });

  test(`what is made when the table changes is of one table only: ${JSON.stringify(name)}`, async () => {
    const clock = new HurriedClock();
    const resources = withoutObjects(kinds(orch));
    const group = 'group' in name ? name.group : late.group;
    const first = { ...late, group };
    await resources.add({ ...first, resource: 'firsts', kind: 'First', listKind: 'FirstList' });
    const documents = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, resources, address);
    const before = documents.openapiInSlices(name, clock);
    assert.ok(before instanceof Promise);
    await resources.add(first);
    const after = documents.openapiInSlices(name, clock);
    await Promise.all([before, after]);
    const fresh = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, resources, address);
    const made = await documents.openapiInSlices(name, clock);
    assert.equal(made, await after);
    assert.equal(made?.json.toString(), (await fresh.openapiInSlices(name, clock))?.json.toString());
    assert.ok(name.type === 'index' || made?.json.includes('lates'));
  });
}

test('OpenAPI of what is not served is not made', () => {
  const documents = new ApiDocuments(
    { dialect: orch, cbor: false, issuer: true },
    withoutObjects(kinds(orch)),
    address,
  );
  const none = documents.openapiInSlices({ type: 'v3', group: 'nosuch', version: 'v1' }, new HurriedClock());
  assert.equal(none, undefined);
});

test('OpenAPI has the media types of CBOR only where it is enabled', () => {
  const resources = withoutObjects(kinds(orch));
  const texts = [false, true].map(
    (cbor) => new ApiDocuments({ dialect: orch, cbor, issuer: true }, resources, address).openapiV2().json,
  );
  const [off, on] = texts.map(
    (text) => JSON.parse(text.toString()).paths['/api/v1/namespaces/{namespace}/configmaps/{name}'],
  );
  const [listOff, listOn] = texts.map((text) => JSON.parse(text.toString()).paths['/api/v1/configmaps'].get);
  const more = (with_: readonly string[], without: readonly string[]) =>
    with_.filter((type) => !without.includes(type));
  const item = ['application/cbor'];
  assert.deepEqual(more(on.put.consumes, off.put.consumes), item);
  assert.deepEqual(more(on.delete.consumes, off.delete.consumes), item);
  assert.deepEqual(more(on.patch.consumes, off.patch.consumes), ['application/apply-patch+cbor']);
  assert.deepEqual(more(on.get.produces, off.get.produces), item);
  assert.deepEqual(more(listOn.produces, listOff.produces), ['application/cbor', 'application/cbor-seq']);
  assert.ok(!texts[0]?.includes('cbor'));
  assert.ok(!JSON.stringify(JSON.parse(String(texts[1])).paths['/api/v1/']).includes('cbor'));
});
