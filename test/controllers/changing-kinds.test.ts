import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Closable } from '../../src/base/disposable.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { noJitter } from '../../src/base/time/backoff-fixture.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until } from '../../src/base/waits-fixture.ts';
import type { Collection } from '../../src/cache/cache.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { KeptEvents } from '../../src/client/event-recorder-fixture.ts';
import { startGarbageCollector } from '../../src/controllers/garbage-collector/garbage-collector.ts';
import { orch } from '../../src/dialect/orch.ts';
import { configMap } from '../../src/kinds/core/config-map.ts';
import type { Kind } from '../../src/kinds/kind.ts';
import type { ApiObject, OwnerReference } from '../../src/meta/api-object.ts';
import { internalError } from '../../src/meta/status-error.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { RemovedKindsRecord } from '../../src/server/definitions/removed-kinds-record.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/* The garbage collector while kinds come, go and change, with answers that take as long as a test wants. */

const group = 'late.example';
const widgets: Kind = {
  ...configMap(orch),
  group,
  kind: 'Widget',
  listKind: 'WidgetList',
  resource: 'widgets',
  singular: 'widget',
  shortNames: [],
};
const configMaps = '/api/v1/namespaces/default/configmaps';
const inNamespace = `/apis/${group}/v1/namespaces/default/widgets`;
const definition = definitionOf({ group });
const inCluster = `/apis/${group}/v1/widgets`;

class World implements AsyncDisposable {
  readonly fixture: RegistryFixture;
  readonly clock = new ManualClock();
  readonly transport: RegistryTransport;
  readonly #removed: RemovedKindsRecord;
  #collector: Closable | undefined;
  #next = 0;

  private constructor(fixture: RegistryFixture) {
    this.fixture = fixture;
    this.transport = new RegistryTransport(fixture);
    const client = new ApiClient(new RegistryTransport(fixture), 'server');
    this.#removed = new RemovedKindsRecord({ client, clock: this.clock, dialect: orch });
  }

  start(): void {
    const { fixture } = this;
    this.#collector = startGarbageCollector({
      client: new ApiClient(this.transport, 'collector'),
      dialect: orch,
      clock: this.clock,
      random: noJitter,
      logger: silentLogger,
      events: new KeptEvents(),
      onGroupsChanged: (listener) =>
        fixture.resources.onChange(({ added, removed }) =>
          listener(new Set([...added, ...removed].map(({ kind }) => kind.group))),
        ),
    });
  }

  stop(): void {
    this.#collector?.close();
  }

  /** A collector that has listed all resources. */
  static async open(): Promise<World> {
    const world = new World(await RegistryFixture.open());
    world.start();
    await world.collects();
    return world;
  }

  async serve(kind: Kind = widgets): Promise<Resource> {
    return (await this.fixture.resources.addResource(kind)).resource;
  }

  /** Removes a kind of which no object is left, as servers do whose definitions go. */
  async removeKind(resource: Resource): Promise<void> {
    const { kind, scope } = resource.kind;
    const defined = { uid: 'uid-of-definition', kind, namespaced: scope === 'Namespaced' };
    await this.#removed.add(definition.metadata.name, defined);
    this.fixture.resources.remove(resource);
  }

  /** Waits until the collector has listed and watches the widgets. */
  watches(times = 1): Promise<void> {
    const watched = (): number => this.requests(/^GET \/apis\/late\.example\/v1\/widgets\?watch/).length;
    return until(
      () => watched() >= times,
      () => `${watched()} watches of widgets`,
    );
  }

  requests(like: RegExp): readonly string[] {
    return this.transport.requests.filter((request) => like.test(request));
  }

  /** Holds requests until the result is called. */
  hold(like: RegExp): { readonly release: () => void; readonly held: () => Promise<void> } {
    const { promise, resolve } = Promise.withResolvers<void>();
    let count = 0;
    this.transport.hold = ({ method, target }) => {
      if (!like.test(`${method} ${target}`)) return undefined;
      count++;
      return promise;
    };
    const release = (): void => {
      this.transport.hold = () => undefined;
      resolve();
    };
    return { release, held: () => until(() => count > 0, `nothing is held by ${like}`) };
  }

  make(collection: string, ...owners: readonly ApiObject[]): Promise<ApiObject> {
    const ownerReferences = owners.map(({ apiVersion, kind, metadata: { name = '', uid = '' } }): OwnerReference => {
      return { apiVersion, kind, name, uid, blockOwnerDeletion: true };
    });
    return this.fixture.object('POST', collection, { metadata: { name: `o${this.#next++}`, ownerReferences } });
  }

  async remove(path: string, propagationPolicy = 'Background'): Promise<void> {
    await this.fixture.call('DELETE', path, { propagationPolicy });
  }

  /** Lets the collector's retries come. */
  async until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
    await until(async () => {
      if (await holds()) return true;
      this.clock.advance(1);
      return false;
    }, what);
  }

  isThere(path: string): Promise<boolean> {
    return this.fixture.call('GET', path).then(
      () => true,
      () => false,
    );
  }

  gone(path: string): Promise<void> {
    return this.until(async () => !(await this.isThere(path)), `${path} is there`);
  }

  /** Waits until the collector has collected an orphan that came now, and with it all that was to be done before. */
  async collects(): Promise<void> {
    const owner = await this.make(configMaps);
    const owned = await this.make(configMaps, owner);
    await this.remove(pathIn(configMaps, owner));
    await this.gone(pathIn(configMaps, owned));
  }

  /** Waits until the collector has looked whether this owner is there, and has done what follows from it. */
  async looksFor(owner: string, before: number): Promise<void> {
    await this.until(() => this.requests(exactly(owner)).length > before, `nobody looks for ${owner}`);
    await this.collects();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.fixture[Symbol.asyncDispose]();
  }
}

const pathIn = (collection: string, { metadata }: ApiObject): string => `${collection}/${metadata.name}`;
const isEmpty = (collection: Collection): boolean => collection.snapshot().count(collection.prefix) === 0;
const exactly = (path: string): RegExp => new RegExp(`^GET ${path.replaceAll('.', '\\.')}$`);
/** Interval of discovery. */
const discoveryMs = 30_000;
const aboutGroup = /^GET \/apis\/(late\.example$|apiextensions.*\.late\.example$)/;
const discoveryOfGroup = /^GET \/apis\/late\.example$/;
const firstList = /^GET \/apis\/late\.example\/v1\/widgets\?(?!watch)/;

describe('the collector, while kinds come and go', () => {
  it('collects what an owner leaves that went before its kind was first listed', async () => {
    await using world = await World.open();
    const { release, held } = world.hold(firstList);
    await world.serve();
    await held();
    const owner = await world.make(inNamespace);
    const owned = await world.make(configMaps, owner);
    await world.looksFor(pathIn(inNamespace, owner), 0);
    await world.remove(pathIn(inNamespace, owner));
    release();
    await world.gone(pathIn(configMaps, owned));
  });

  it('collects what owners leave that went while their kind was not served', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const [owner, other] = [await world.make(inNamespace), await world.make(inNamespace)];
    const owned = await world.make(configMaps, owner);
    const kept = await world.make(configMaps, other);
    await world.looksFor(pathIn(inNamespace, other), 0);
    world.fixture.resources.remove(resource);
    await world.collects();
    const { store } = world.fixture;
    const { records } = await store.list(resource.collection.prefix);
    const record = records.find(({ key }) => key.endsWith(`/${owner.metadata.name}`));
    assert.ok(record);
    await store.delete(record.key, record.revision);
    await world.collects();
    assert.ok(await world.isThere(pathIn(configMaps, owned)), 'its kind is not served: nobody knows of the owner');
    await world.serve();
    await world.gone(pathIn(configMaps, owned));
    await world.collects();
    assert.ok(await world.isThere(pathIn(configMaps, kept)));
  });

  it('takes no owner for deleted because nothing is served at its path', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const owner = await world.make(inNamespace);
    const path = pathIn(inNamespace, owner);
    const { release, held } = world.hold(discoveryOfGroup);
    world.fixture.resources.remove(resource);
    await held();
    const owned = await world.make(configMaps, owner);
    await world.looksFor(path, world.requests(exactly(path)).length);
    release();
    await world.serve();
    await world.watches(2);
    await world.collects();
    assert.ok(await world.isThere(pathIn(configMaps, owned)));
    await world.remove(path);
    await world.gone(pathIn(configMaps, owned));
  });

  it('takes no object for deleted because nothing is served at its path', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const [first, second] = [await world.make(configMaps), await world.make(configMaps)];
    const owner = await world.make(inNamespace, first, second);
    const path = pathIn(inNamespace, owner);
    const owned = await world.make(configMaps, owner);
    await world.looksFor(path, 0);
    const { release, held } = world.hold(discoveryOfGroup);
    world.fixture.resources.remove(resource);
    await held();
    const before = world.requests(exactly(path)).length;
    await world.remove(pathIn(configMaps, first));
    await world.looksFor(path, before);
    release();
    await world.serve();
    await world.watches(2);
    await world.collects();
    assert.ok(await world.isThere(pathIn(configMaps, owned)));
    await world.until(async () => {
      const { metadata } = await world.fixture.object('GET', path);
      return metadata.ownerReferences?.length === 1;
    }, 'the owner that is gone stays in the list');
  });

  it('follows a kind that comes back with another scope before its group was looked at', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const { release, held } = world.hold(discoveryOfGroup);
    world.fixture.resources.remove(resource);
    await held();
    await world.serve({ ...widgets, scope: 'Cluster' });
    release();
    const owner = await world.make(inCluster);
    const owned = await world.make(configMaps, owner);
    await world.looksFor(pathIn(inCluster, owner), 0);
    assert.ok(await world.isThere(pathIn(configMaps, owned)));
    await world.remove(pathIn(inCluster, owner));
    await world.gone(pathIn(configMaps, owned));
  });

  it('collects the dependents of very many owners that went with their kind', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    // More than the collector remembers of owners that are gone.
    const count = 1_100;
    const owners: ApiObject[] = [];
    for (let index = 0; index < count; index++) owners.push(await world.make(inNamespace));
    for (const owner of owners) await world.make(configMaps, owner);
    await world.until(() => world.requests(/^GET .*\/widgets\/o/).length >= count, 'not all owners were looked for');
    await world.collects();
    const { release, held } = world.hold(/^GET .*\/configmaps\/o/);
    await world.remove(inNamespace);
    await held();
    // As definitions do it: the kind goes when the cache has none of its objects.
    await until(() => isEmpty(resource.collection), 'some owners are there');
    const events = world.requests(discoveryOfGroup).length;
    world.fixture.resources.remove(resource);
    await until(() => world.requests(discoveryOfGroup).length > events, 'the collector does not hear of it');
    release();
    const { collection } = world.fixture.served(configMaps);
    await world.until(() => isEmpty(collection), 'some dependents are there');
  });

  for (const [policy, answers] of [
    ['Orphan', true],
    ['Foreground', false],
  ] as const) {
    it(`waits for a kind that comes before it ends a deletion with ${policy}`, async () => {
      await using world = await World.open();
      const { release, held } = world.hold(discoveryOfGroup);
      await world.serve();
      await held();
      const owner = await world.make(configMaps);
      const owned = await world.make(inNamespace, owner);
      await world.remove(pathIn(configMaps, owner), policy);
      await world.collects();
      assert.ok(await world.isThere(pathIn(configMaps, owner)), 'it may have dependents of that kind');
      release();
      await world.gone(pathIn(configMaps, owner));
      await world.collects();
      assert.equal(await world.isThere(pathIn(inNamespace, owned)), answers);
    });
  }

  it('asks for nothing while the kind of an owner is not served', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const owner = await world.make(inNamespace);
    world.fixture.resources.remove(resource);
    const owned = await world.make(configMaps, owner);
    const path = pathIn(configMaps, owned);
    await world.looksFor(path, 0);
    const before = world.requests(exactly(path)).length;
    for (let minute = 0; minute < 10; minute++) {
      world.clock.advance(60_000);
      await world.collects();
    }
    assert.equal(world.requests(exactly(path)).length, before);
    await world.serve();
    await world.looksFor(path, before);
    assert.ok(await world.isThere(path));
  });

  it('looks at a group again soon if that failed', async () => {
    await using world = await World.open();
    world.transport.failure = ({ target }) =>
      target === `/apis/${group}` ? internalError(new Error('away')) : undefined;
    await world.serve();
    await until(() => world.requests(discoveryOfGroup).length > 0, 'nobody looks');
    const from = world.clock.now();
    await world.until(() => world.requests(/late\.example\/v1\/widgets\?watch/).length > 0, 'it is not followed');
    assert.ok(world.clock.now() - from <= 2_000, `after ${world.clock.now() - from} ms`);
  });
});

describe('what an owner leaves that went with its kind', () => {
  it('goes when the collector heard of the kind after it had gone', async () => {
    await using world = await World.open();
    const { release, held } = world.hold(discoveryOfGroup);
    const resource = await world.serve();
    await held();
    const owner = await world.make(inNamespace);
    const owned = await world.make(configMaps, owner);
    await world.collects();
    await world.remove(pathIn(inNamespace, owner));
    await world.removeKind(resource);
    await world.collects();
    assert.ok(await world.isThere(pathIn(configMaps, owned)), 'the group has not been looked at');
    release();
    await world.gone(pathIn(configMaps, owned));
  });

  it('goes when the kind went before its objects were listed', async () => {
    await using world = await World.open();
    const { release, held } = world.hold(firstList);
    const resource = await world.serve();
    await held();
    const owner = await world.make(inNamespace);
    const owned = await world.make(configMaps, owner);
    await world.looksFor(pathIn(inNamespace, owner), 0);
    await world.remove(pathIn(inNamespace, owner));
    await world.removeKind(resource);
    await world.gone(pathIn(configMaps, owned));
    release();
  });

  it('goes when it is first seen after the kind has gone', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const owner = await world.make(inNamespace);
    world.stop();
    const owned = await world.make(configMaps, owner);
    await world.remove(pathIn(inNamespace, owner));
    await world.removeKind(resource);
    world.start();
    await world.gone(pathIn(configMaps, owned));
  });

  it('goes when its owner was read just before it went', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const owner = await world.make(inNamespace);
    const path = pathIn(inNamespace, owner);
    const { promise, resolve } = Promise.withResolvers<void>();
    const answered = new Promise<void>((seen) => {
      world.transport.holdAnswer = ({ method, target }) => {
        if (`${method} ${target}` !== `GET ${path}`) return undefined;
        seen();
        return promise;
      };
    });
    const owned = await world.make(configMaps, owner);
    await answered;
    const { store } = world.fixture;
    const { records } = await store.list(resource.collection.prefix);
    // Its watch has ended when it goes: no event tells of it.
    await world.removeKind(resource);
    for (const { key, revision } of records) await store.delete(key, revision);
    await world.collects();
    resolve();
    await world.gone(pathIn(configMaps, owned));
  });

  for (const [what, prepare] of [
    [
      'something defines the kind that is not served',
      (world: World) => world.fixture.call('POST', definitionPath(), definition),
    ],
    [
      'its group cannot be discovered',
      (world: World) => {
        world.transport.failure = ({ target }) =>
          target === `/apis/${group}` ? internalError(new Error('away')) : undefined;
      },
    ],
  ] as const) {
    it(`stays as long as ${what}`, async () => {
      await using world = await World.open();
      const resource = await world.serve();
      await world.watches();
      world.stop();
      const owner = await world.make(inNamespace);
      const owned = await world.make(configMaps, owner);
      await world.remove(pathIn(inNamespace, owner));
      await world.removeKind(resource);
      await prepare(world);
      world.start();
      const before = world.requests(aboutGroup).length;
      await world.until(() => world.requests(aboutGroup).length > before, 'nobody asks for the kind');
      await world.collects();
      assert.ok(await world.isThere(pathIn(configMaps, owned)));
      world.transport.failure = () => undefined;
      await world.fixture.call('DELETE', definitionPath()).catch(() => {});
      const path = definitionPath(definition.metadata.name);
      if (await world.isThere(path)) await world.fixture.call('PATCH', path, { metadata: { finalizers: [] } });
      world.clock.advance(discoveryMs);
      await world.gone(pathIn(configMaps, owned));
    });
  }

  it('stays if it is in the whole cluster, which an owner in a namespace is not', async () => {
    await using world = await World.open();
    const resource = await world.serve();
    await world.watches();
    const owner = await world.make(inNamespace);
    await world.remove(pathIn(inNamespace, owner));
    const owned = await world.make('/api/v1/nodes', owner);
    await world.removeKind(resource);
    await world.collects();
    await world.collects();
    assert.ok(await world.isThere(pathIn('/api/v1/nodes', owned)));
  });
});
