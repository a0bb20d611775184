import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { OrchProcess } from '../support/orch-process.ts';

/** What becomes of owned objects when their owners go (spec section 3.2 and the published rules of owner references). */
interface Made {
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string };
  readonly kind: string;
}

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start();
});
after(() => server[Symbol.asyncDispose]());

const configMaps = '/api/v1/namespaces/default/configmaps';
let next = 0;

interface Owned {
  readonly owners?: readonly Made[];
  readonly blocks?: boolean;
  readonly finalizers?: readonly string[];
  readonly collection?: string;
}

async function make({ owners = [], blocks = false, finalizers, collection = configMaps }: Owned = {}): Promise<Made> {
  const ownerReferences = owners.map(({ kind, metadata: { name, uid } }) => ({
    apiVersion: 'v1',
    kind,
    name,
    uid,
    ...(blocks && { blockOwnerDeletion: true }),
  }));
  const metadata = { name: `object-${next++}`, ownerReferences, finalizers };
  const { status, json, text } = await server.post<Made>(collection, { metadata });
  assert.equal(status, 201, text);
  return json;
}

const path = ({ kind, metadata: { name, namespace } }: Made): string =>
  namespace === undefined
    ? `/api/v1/${kind.toLowerCase()}s/${name}`
    : `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`;

const isGone = async (object: Made): Promise<boolean> => (await server.get(path(object))).status === 404;

async function gone(...objects: readonly Made[]): Promise<void> {
  for (const object of objects) await until(() => isGone(object), `${object.metadata.name} is still there`);
}

/** The objects are there after the collector has shown, by removing another orphan, that it has come that far. */
async function stays(...objects: readonly Made[]): Promise<void> {
  const owner = await make();
  const owned = await make({ owners: [owner] });
  await server.delete(path(owner));
  await gone(owned);
  for (const object of objects) assert.equal(await isGone(object), false, `${object.metadata.name} is there`);
}

const ownersOf = async (object: Made): Promise<readonly string[]> => {
  const { json } = await server.get<{ metadata: { ownerReferences?: { uid: string }[] } }>(path(object));
  return (json.metadata.ownerReferences ?? []).map(({ uid }) => uid);
};

const remove = (object: Made, propagationPolicy: string) =>
  server.request('DELETE', `${path(object)}?propagationPolicy=${propagationPolicy}`);

test('Background: what an object owns goes after it, through all generations', async () => {
  const owner = await make();
  const child = await make({ owners: [owner] });
  const grandchild = await make({ owners: [child] });
  assert.equal((await remove(owner, 'Background')).status, 200);
  await gone(owner, child, grandchild);
});

/** Every way to say that what an object owns is to stay. */
const orphaning: readonly (readonly [query: string, body?: object])[] = [
  ['?propagationPolicy=Orphan'],
  ['?orphanDependents=true'],
  ['?orphanDependents=1'],
  ['?orphanDependents'],
  ['', { propagationPolicy: 'Orphan' }],
  ['', { orphanDependents: true }],
  ['?gracePeriodSeconds=0&orphanDependents=true&pretty=true'],
  ['?orphanDependents=true', {}],
];
for (const [query, body] of orphaning) {
  for (const place of ['object', 'collection'] as const) {
    test(`Orphan by DELETE of the ${place} with ${query || JSON.stringify(body)}: what it owns stays and is nobody's`, async () => {
      const owner = await make();
      const child = await make({ owners: [owner] });
      const target =
        place === 'object'
          ? `${path(owner)}${query}`
          : `${configMaps}${query}${query === '' ? '?' : '&'}fieldSelector=metadata.name%3D${owner.metadata.name}`;
      const { status, text } = await server.request('DELETE', target, body ? { body } : {});
      assert.equal(status, 200, text);
      await gone(owner);
      await stays(child);
      assert.deepEqual(await ownersOf(child), []);
    });
  }
}

test('what would be kept is not deleted where the request does not say so rightly', async () => {
  const owner = await make();
  const child = await make({ owners: [owner] });
  for (const [query, body] of [
    ['?orphandependents=true'],
    ['?orphanDependents=yes'],
    ['?propagationpolicy=Orphan'],
    ['?propagationPolicy=orphan'],
    ['?dryrun=All'],
    ['?dryRun=all'],
    ['', { OrphanDependents: true }],
  ] as const) {
    const { status } = await server.request('DELETE', `${path(owner)}${query}`, body ? { body } : {});
    assert.ok(status === 400 || status === 422, `${query}: ${status}`);
  }
  await stays(owner, child);
  assert.deepEqual(await ownersOf(child), [owner.metadata.uid]);
});

test('Foreground: an object waits for those of its dependents that block it', async () => {
  const owner = await make();
  const child = await make({ owners: [owner], blocks: true, finalizers: ['example.com/hold'] });
  const answer = await remove(owner, 'Foreground');
  assert.equal(answer.status, 200);
  await stays(owner, child);
  await server.put(path(child), { metadata: { name: child.metadata.name } });
  await gone(child, owner);
});

test('Foreground: an object does not wait for dependents that do not block it', async () => {
  const owner = await make();
  const child = await make({ owners: [owner], finalizers: ['example.com/hold'] });
  await remove(owner, 'Foreground');
  await gone(owner);
  await server.put(path(child), { metadata: { name: child.metadata.name } });
  await gone(child);
});

test('an object with an owner left stays, without the one that is gone', async () => {
  const [first, second] = [await make(), await make()];
  const child = await make({ owners: [first, second] });
  await server.delete(path(first));
  await gone(first);
  await until(async () => (await ownersOf(child)).length === 1, 'the owner that is gone stays in the list');
  assert.deepEqual(await ownersOf(child), [second.metadata.uid]);
  await server.delete(path(second));
  await gone(child);
});

test('an object whose owner was never there goes', async () => {
  const never: Made = { kind: 'ConfigMap', metadata: { name: 'never', uid: 'a-uid-of-nothing' } };
  await gone(await make({ owners: [never] }));
});

test('an object of the same name with another uid is no owner', async () => {
  const owner = await make();
  const impostor: Made = { ...owner, metadata: { ...owner.metadata, uid: 'another-uid' } };
  await gone(await make({ owners: [impostor] }));
});

test('objects that own each other go together once one is deleted', async () => {
  const first = await make();
  const second = await make({ owners: [first], blocks: true });
  const ownerReferences = [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: second.metadata.name,
      uid: second.metadata.uid,
      blockOwnerDeletion: true,
    },
  ];
  await server.put(path(first), { metadata: { name: first.metadata.name, ownerReferences } });
  await remove(first, 'Foreground');
  await gone(first, second);
});

test('an owner in another namespace is none', async () => {
  await server.post('/api/v1/namespaces', { metadata: { name: 'other' } });
  const others = '/api/v1/namespaces/other/configmaps';
  const owner = await make({ collection: others });
  await gone(await make({ owners: [owner] }));
  const owned = await make({ owners: [owner], collection: others });
  await stays(owner, owned);
});

test('a cluster-scoped owner owns in every namespace; a namespaced one owns nothing cluster-scoped', async () => {
  const node = await make({ collection: '/api/v1/nodes' });
  const owned = await make({ owners: [node] });
  const owner = await make();
  const misowned = await make({ owners: [owner], collection: '/api/v1/nodes' });
  await server.delete(path(owner));
  await stays(misowned, owned);
  await server.delete(path(node));
  await gone(owned);
});

test('what a restarted server finds half done it finishes', async () => {
  const owner = await make();
  const child = await make({ owners: [owner] });
  await server.delete(path(owner));
  await server.kill();
  await server.restart();
  await gone(owner, child);
});

for (const [what, collection, where] of [
  ['an object in another namespace', configMaps, 'default'],
  ['an object of the whole cluster, which stays', '/api/v1/namespaces', ''],
] as const) {
  test(`an owner in another namespace than ${what}: a warning as an Event`, async () => {
    const owner = await make({ collection: '/api/v1/namespaces/orch-system/configmaps' });
    const owned = await make({ owners: [owner], collection });
    const { name, uid } = owned.metadata;
    const events = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid%3D${uid}`;
    const list = async () => (await server.get<{ items: readonly Record<string, unknown>[] }>(events)).json.items;
    await until(async () => (await list()).length > 0, 'there is no event');
    const [event] = await list();
    const { involvedObject, reason, type, message, source, reportingComponent, count } = event ?? {};
    assert.deepEqual(
      { involvedObject, reason, type, message, source, reportingComponent, count },
      {
        involvedObject: { apiVersion: 'v1', kind: owned.kind, name, uid, ...(where !== '' && { namespace: where }) },
        reason: 'OwnerRefInvalidNamespace',
        type: 'Warning',
        message: `ownerRef [v1/ConfigMap, namespace: ${where}, name: ${owner.metadata.name}, uid: ${owner.metadata.uid}] does not exist in namespace "${where}"`,
        source: { component: 'garbage-collector-controller' },
        reportingComponent: 'garbage-collector-controller',
        count: 1,
      },
    );
    if (where === '') await stays(owned);
    else await gone(owned);
    await stays(owner);
  });
}

/** Owners of a kind that comes at run time, each with a dependent. */
async function customOwners(
  group: string,
): Promise<{ readonly definition: string; readonly dependents: readonly Made[] }> {
  const body = definitionOf({ group });
  const definition = definitionPath(body.metadata.name);
  assert.equal((await server.post(definitionPath(), body)).status, 201);
  const collection = `/apis/${group}/v1/namespaces/default/widgets`;
  await until(async () => (await server.get(collection)).status === 200);
  const root = await make();
  const own = async (): Promise<{ readonly owner: Made; readonly dependent: Made }> => {
    const apiVersion = `${group}/v1`;
    // The collector keeps what has an owner.
    const ownerReferences = [{ apiVersion: 'v1', kind: root.kind, name: root.metadata.name, uid: root.metadata.uid }];
    const widget = { apiVersion, kind: 'Widget', metadata: { name: `object-${next++}`, ownerReferences } };
    const { json: owner } = await server.post<Made>(collection, widget);
    const { name, uid } = owner.metadata;
    const metadata = { name: `object-${next++}`, ownerReferences: [{ apiVersion, kind: 'Widget', name, uid }] };
    return { owner, dependent: (await server.post<Made>(configMaps, { metadata })).json };
  };
  // The collector knows the kind when it has collected something of it.
  const first = await own();
  await server.delete(`${collection}/${first.owner.metadata.name}`);
  await gone(first.dependent);
  const made = await Promise.all(Array.from({ length: 5 }, own));
  return { definition, dependents: made.map(({ dependent }) => dependent) };
}

test('dependents go with owners whose kind goes right after them', async () => {
  const { definition, dependents } = await customOwners('leaving.example.com');
  await server.delete(definition);
  await gone(...dependents);
});

test('dependents stay while the kind of their owners is not served', async () => {
  const { definition, dependents } = await customOwners('hidden.example.com');
  const { json } = await server.get<{ spec: { versions: object[] } }>(definition);
  const versions = json.spec.versions.map((version) => ({ ...version, served: false }));
  const headers = { 'content-type': 'application/merge-patch+json' };
  const hidden = await server.request('PATCH', definition, { body: { spec: { versions } }, headers });
  assert.equal(hidden.status, 200, hidden.text);
  await until(async () => (await server.get('/apis/hidden.example.com/v1/widgets')).status === 404);
  await stays(...dependents);
});
