import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../dialect/orch.ts';
import { configMap } from '../kinds/core/config-map.ts';
import { type Kind, storesObjects } from '../kinds/kind.ts';
import { renamedFields } from '../kinds/stored-as.ts';
import { scopeNamed } from '../meta/scope.ts';
import { ApiDocuments } from '../registry/documents/documents.ts';
import { RegistryFixture } from '../registry/registry-fixture.ts';
import type { StructSchema } from '../schema/schema.ts';
import { openMemoryStore } from '../store/drivers/memory/memory-store.ts';
import { type ServedResource, servedKey } from './resource.ts';
import { ResourceRegistry, type TableChange } from './resource-registry.ts';
import { ResourceTable } from './resource-table.ts';

const small = (index: number): Kind => ({
  ...configMap(orch),
  group: `g${index}.example`,
  kind: 'Small',
  listKind: 'SmallList',
  resource: 'smalls',
});

test('a change notification has the added and removed resources, and nothing else', async () => {
  await using fixture = await RegistryFixture.open();
  const { resources } = fixture;
  const changes: TableChange[] = [];
  const listening = resources.onChange((change) => changes.push(change));
  const before = resources.table;
  const added = await resources.add(small(1));
  assert.equal(before.find('g1.example', 'v1', 'smalls'), undefined, 'a table never changes');
  assert.equal(before.size + 1, resources.table.size);
  await assert.rejects(resources.add(small(1)), /smalls are served in g1\.example\/v1/);
  resources.remove(added.resource);
  listening.close();
  await resources.add(small(2));
  assert.deepEqual(
    changes.map(({ added: came, removed, table }) => [came, removed, table.size - before.size]),
    [
      [[added], [], 1],
      [[], [added], 0],
    ],
  );
  assert.equal([...resources.all()].length, fixture.kinds.length + 1);
});

test('a deprecated version names the best one that is served', async () => {
  const stored = small(1);
  const form = (version: string, more: Partial<Kind> = {}): Kind => ({
    ...stored,
    ...more,
    version,
    storedAs: renamedFields(stored, { group: stored.group, version, kind: stored.kind }, {}),
  });
  const old = form('v1beta1', { deprecated: {} });
  const v1 = '; use g1.example/v1 Small';
  const rows: readonly (readonly [others: readonly Kind[], instead: string])[] = [
    [[stored], v1],
    [[stored, form('v1beta2')], v1],
    [[{ ...stored, served: false }, form('v1beta2')], '; use g1.example/v1beta2 Small'],
    [[{ ...stored, served: false }, form('v1beta2', { deprecated: {} })], ''],
    [[{ ...stored, served: false }, form('v1alpha1')], ''],
  ];
  for (const [others, instead] of rows) {
    await using fixture = await RegistryFixture.open({ kinds: [...others, old] });
    const found = fixture.resources.find('g1.example', 'v1beta1', 'smalls');
    assert.equal(found?.deprecation, `g1.example/v1beta1 Small is deprecated${instead}`);
  }
});

test('tables of several scopes share a cache, and nothing else', async () => {
  await using fixture = await RegistryFixture.open();
  const { cache, resources } = fixture;
  const place = { cache, scope: scopeNamed('b') };
  const other = await ResourceRegistry.open(fixture.kinds, place);
  for (const { collection } of resources.stored()) assert.match(collection.prefix, /^\/[a-z][^/]*\/[^/]+\/$/);
  const all = [...other.all()];
  assert.equal(all.length, [...resources.all()].length);
  for (const served of all.filter(({ kind }) => storesObjects(kind))) {
    const { group, version, resource } = served.kind;
    const same = resources.find(group, version, resource);
    assert.equal(served.objectKey('n', 'a'), `/.scopes/b${same?.objectKey('n', 'a')}`);
    assert.equal(served.collectionKey('n'), `/.scopes/b${same?.collectionKey('n')}`);
    assert.notEqual(served.collection, same?.collection);
  }
  await other.add(small(1));
  assert.equal(resources.find('g1.example', 'v1', 'smalls'), undefined);
  const added = await resources.add(small(1));
  other.close();
  assert.deepEqual([...other.all()], []);
  assert.equal(resources.find('g1.example', 'v1', 'smalls'), added);
  assert.equal(cache.collections().length, [...resources.stored()].length, 'the cache forgets what the other held');
  (await ResourceRegistry.open(fixture.kinds, place)).close();
});

test('scopes with the same kinds share compiled schemas and documents', async () => {
  await using fixture = await RegistryFixture.open();
  const { cache, resources } = fixture;
  const other = await ResourceRegistry.open(fixture.kinds, { cache, scope: scopeNamed('b') });
  const documents = [resources, other].map(
    (table) => new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, table, () => ''),
  );
  const described = (index: number) => {
    const of = documents[index];
    assert.ok(of);
    return {
      lists: ['v1', 'g1.example/v1'].map((apiVersion) => {
        const [group = '', version = ''] = apiVersion === 'v1' ? ['', 'v1'] : apiVersion.split('/');
        return [of.resourceList(group, version), of.openapi(group, version)];
      }),
      all: [of.openapiIndex(), of.openapiV2(), of.aggregated('apis', 'v2')],
    };
  };
  // Like two definitions parsed from the same text: equal data, distinct functions.
  const made = (columns: number): Kind => ({
    ...small(1),
    schema: dataOf(small(1).schema),
    columns: [],
    strategy: { gracePeriodSeconds: () => columns },
  });
  const [one, same] = [await resources.add(made(1)), await other.add(made(2))];
  assert.equal(same.kind.schema, one.kind.schema, 'what is compiled hangs on the schema');
  assert.notEqual(same.kind, one.kind, 'each has its own functions');
  other.remove(same.resource);
  const again = await other.add({ ...one.kind, shortNames: [...one.kind.shortNames] });
  assert.equal(again.kind, one.kind);
  const [mine, theirs] = [described(0), described(1)];
  for (const [at, documentsOfGroup] of mine.lists.entries()) {
    for (const [each, document] of documentsOfGroup.entries()) assert.equal(theirs.lists[at]?.[each], document);
  }
  for (const [at, document] of mine.all.entries()) assert.equal(theirs.all[at], document);
  other.remove(again.resource);
  assert.equal(described(1).lists[1]?.[0], undefined);
  assert.notEqual(described(1).all[0], mine.all[0]);
  assert.equal(described(0).all[0], mine.all[0]);
});

/** A copy of a schema as JSON data, without functions. */
const dataOf = (schema: StructSchema): StructSchema => JSON.parse(JSON.stringify(schema));

test('the cost of adding a resource does not depend on the number of others', async () => {
  const store = openMemoryStore();
  let reads = 0;
  const counted = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (name === 'list' || name === 'get') reads++;
        return member.apply(target, args);
      };
    },
  });
  await using fixture = await RegistryFixture.open({ store: counted });
  const { resources } = fixture;
  const documents = new ApiDocuments({ dialect: orch, cbor: false, issuer: true }, resources, () => '');
  const pods = [documents.openapi('', 'v1'), documents.resourceList('', 'v1')];
  const told: number[] = [];
  resources.onChange(({ added, removed }) => told.push(added.length + removed.length));
  const steps: number[] = [];
  for (let index = 0; index < 500; index++) {
    const before = reads;
    await resources.add(small(index));
    assert.ok(documents.resourceList(`g${index}.example`, 'v1'));
    steps.push(reads - before);
  }
  assert.deepEqual(new Set(steps), new Set([steps[0]]), 'reads of the store');
  assert.deepEqual(new Set(told), new Set([1]), 'what everybody is told of');
  assert.deepEqual([documents.openapi('', 'v1'), documents.resourceList('', 'v1')], pods, 'other documents stay');
  for (const served of [...resources.all()]) if (!served.resource.builtIn) resources.remove(served.resource);
  assert.equal([...resources.all()].length, fixture.kinds.length);
  assert.equal(fixture.cache.collections().length, [...resources.stored()].length);
});

test('a changed table shares the rest: a change reads O(log n) keys', () => {
  let looks = 0;
  const entry = (index: number): ServedResource => {
    const key = servedKey(`g${String(index).padStart(5, '0')}`, 'v1', 'smalls');
    return Object.defineProperty({} as ServedResource, 'key', {
      get() {
        looks++;
        return key;
      },
    });
  };
  let table = ResourceTable.empty;
  const looksOf = (count: number): number => {
    const before = looks;
    for (let index = 0; index < count; index++) table = table.with({ removed: [], added: [entry(table.size)] });
    return (looks - before) / count;
  };
  const early = looksOf(1_000);
  looksOf(8_000);
  const late = looksOf(1_000);
  assert.ok(late < early + 8, `${late} looks for each of the last, ${early} for each of the first`);
});
