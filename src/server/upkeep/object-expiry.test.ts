import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { ManualClock } from '../../base/time/clock.ts';
import type { CacheEvent } from '../../cache/cache.ts';
import { orch } from '../../dialect/orch.ts';
import { configMap } from '../../kinds/core/config-map.ts';
import type { Kind } from '../../kinds/kind.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { type Store, StoreError } from '../../store/store.ts';
import { expireObjects } from './object-expiry.ts';

const minute = 60_000;
const hour = 60 * minute;
/** For a time to live of one hour. */
const step = 30_000;

const events = '/api/v1/namespaces/default/events';
const configMaps = '/api/v1/namespaces/default/configmaps';
const eventKey = (name: string): string => `/core/events/default/${name}`;
const eventBody = (name: string, more: object = {}) => ({
  metadata: { name, ...more },
  involvedObject: { namespace: 'default' },
});

/** Another kind with a time to live, of which the cache parses nothing. */
const trace: Kind = {
  ...configMap(orch),
  kind: 'Trace',
  listKind: 'TraceList',
  resource: 'traces',
  singular: 'trace',
  timeToLive: 'event',
};
const traces = '/api/v1/namespaces/default/traces';

interface ServerOptions {
  readonly clock?: ManualClock;
  readonly store?: Store;
  readonly timeToLiveMs?: number;
}

/** The parts of a server that expiry involves, on a manual clock. */
class Server implements AsyncDisposable {
  readonly warned: string[] = [];
  readonly clock: ManualClock;
  readonly registry: RegistryFixture;
  readonly #timeToLiveMs: number;
  #expiry: Closable | undefined;

  private constructor(clock: ManualClock, registry: RegistryFixture, timeToLiveMs: number) {
    this.clock = clock;
    this.registry = registry;
    this.#timeToLiveMs = timeToLiveMs;
  }

  static async start({ clock = new ManualClock(), store, timeToLiveMs = hour }: ServerOptions = {}): Promise<Server> {
    const registry = await RegistryFixture.open({ clock, kinds: [trace], ...(store && { store }) });
    const server = new Server(clock, registry, timeToLiveMs);
    server.restart();
    return server;
  }

  /** Drops all state that is not stored. */
  restart(): void {
    const { store, resources } = this.registry;
    this.#expiry?.close();
    this.#expiry = expireObjects({
      timesToLiveMs: { event: this.#timeToLiveMs },
      resources,
      store,
      clock: this.clock,
      logger: { ...silentLogger, warn: (message) => void this.warned.push(message) },
    });
  }

  /** Advances the clock step by step, waiting for each step of expiry to finish. */
  async pass(ms: number, stepMs = step): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      const { pending } = this.clock;
      this.clock.advance(Math.min(left, stepMs));
      // A finished step has set the timer of the next.
      for (let turns = 0; this.clock.pending < pending; turns++) {
        assert.ok(turns < 10_000, 'the step does not end');
        await turn();
      }
      await this.registry.cache.fresh();
    }
  }

  async names(path = events): Promise<readonly (string | undefined)[]> {
    const { items } = await this.registry.list(path);
    return items.map(({ metadata }) => metadata.name);
  }

  close(): void {
    this.#expiry?.close();
    this.#expiry = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await this.registry[Symbol.asyncDispose]();
  }
}

let server: Server;
beforeEach(async () => {
  server = await Server.start();
});
afterEach(() => server[Symbol.asyncDispose]());

describe('an object with a time to live', () => {
  test('stays for that time, and goes within two steps', async () => {
    await server.registry.object('POST', events, eventBody('a'));
    await server.pass(hour - 1);
    assert.deepEqual(await server.names(), ['a']);
    await server.pass(2 * step);
    assert.deepEqual(await server.names(), []);
  });

  test('is deleted as by a client: watches see its last state', async () => {
    const { version, seen } = watch('/core/events/');
    const { metadata } = await server.registry.object('POST', events, eventBody('a'));
    await server.pass(hour + 2 * step);
    assert.deepEqual(
      seen.map(({ type, entry }) => [type, entry.name]),
      [
        ['ADDED', 'a'],
        ['DELETED', 'a'],
      ],
    );
    const last = JSON.parse(String(seen[1]?.entry.bytes)).metadata;
    assert.ok(
      Number(last.resourceVersion) > Number(metadata.resourceVersion) && Number(metadata.resourceVersion) > version,
    );
    assert.equal(last.uid, metadata.uid);
  });

  test('restarts it with every write', async () => {
    await server.registry.object('POST', events, eventBody('a'));
    await server.pass(hour - minute);
    await server.registry.object('PATCH', `${events}/a`, { count: 2 });
    await server.pass(hour - minute);
    assert.deepEqual(await server.names(), ['a']);
    await server.pass(minute + 2 * step);
    assert.deepEqual(await server.names(), []);
  });

  test('does not restart it with a write that changes nothing', async () => {
    await server.registry.object('POST', events, eventBody('a'));
    await server.pass(hour - minute);
    await server.registry.object('PATCH', `${events}/a`, {});
    await server.pass(minute + 2 * step);
    assert.deepEqual(await server.names(), []);
  });

  test('is not held by finalizers', async () => {
    await server.registry.object('POST', events, eventBody('a', { finalizers: ['example.com/hold'] }));
    await server.pass(hour + 2 * step);
    assert.deepEqual(await server.names(), []);
  });

  test('is of a kind with a time to live; all others stay', async () => {
    await server.registry.object('POST', traces, { metadata: { name: 'a' } });
    await server.registry.object('POST', configMaps, { metadata: { name: 'b' } });
    await server.pass(3 * hour);
    assert.deepEqual([await server.names(traces), await server.names(configMaps)], [[], ['b']]);
  });

  test('that is corrupt stays, to be repaired', async () => {
    await server.registry.store.create(eventKey('broken'), Buffer.from('x'));
    await server.pass(3 * hour);
    assert.ok(await server.registry.store.get(eventKey('broken')));
    assert.deepEqual(server.warned, []);
  });
});

test('without a time to live nothing expires and no timer runs', async () => {
  await using endless = await Server.start({ timeToLiveMs: 0 });
  const before = endless.clock.pending;
  await endless.registry.object('POST', events, eventBody('a'));
  await endless.pass(24 * hour, hour);
  assert.deepEqual(await endless.names(), ['a']);
  endless.close();
  assert.equal(endless.clock.pending, before);
});

describe('after a restart', () => {
  test('an object expires by its own timestamps', async () => {
    await server.registry.object('POST', events, eventBody('created'));
    await server.registry.object('POST', events, eventBody('changed'));
    await server.pass(30 * minute);
    await server.registry.object('PATCH', `${events}/changed`, { count: 2 });
    await server.pass(20 * minute);
    server.restart();
    await server.pass(10 * minute - 1);
    assert.deepEqual(await server.names(), ['changed', 'created']);
    await server.pass(2 * step);
    assert.deepEqual(await server.names(), ['changed']);
    await server.pass(29 * minute);
    assert.deepEqual(await server.names(), ['changed']);
    await server.pass(2 * step);
    assert.deepEqual(await server.names(), []);
  });

  test('objects that expired while no server ran are deleted at the first step', async () => {
    await server.registry.object('POST', events, eventBody('a'));
    server.close();
    server.clock.advance(24 * hour);
    server.restart();
    await server.pass(step);
    assert.deepEqual(await server.names(), []);
  });

  test('a write restarts its time as well', async () => {
    await server.registry.object('POST', events, eventBody('a'));
    await server.pass(50 * minute);
    server.restart();
    await server.registry.object('PATCH', `${events}/a`, { count: 2 });
    await server.pass(hour - minute);
    assert.deepEqual(await server.names(), ['a']);
    await server.pass(minute + 2 * step);
    assert.deepEqual(await server.names(), []);
  });

  const future = { manager: 'x', operation: 'Update', apiVersion: 'v1', time: '2099-01-01T00:00:00Z' };
  const forged = { ...future, fieldsType: 'FieldsV1', fieldsV1: { 'f:reason': {} } };
  for (const [what, managedFields, owners] of [
    ['that lies about its times', [forged], 2],
    ['that says nothing of its writes', [{}], 0],
  ] as const) {
    test(`an object ${what} counts from the start`, async () => {
      const { metadata } = await server.registry.object('POST', events, eventBody('a'));
      const change = owners > 0 && { count: 2 };
      const body = { ...eventBody('a', { ...metadata, managedFields }), ...change };
      const stored = await server.registry.object('PUT', `${events}/a`, body);
      assert.equal(stored.metadata.managedFields?.length ?? 0, owners);
      await server.pass(50 * minute);
      server.restart();
      await server.pass(hour - 1);
      assert.deepEqual(await server.names(), ['a']);
      await server.pass(2 * step);
      assert.deepEqual(await server.names(), []);
    });
  }

  for (const value of ['{"metadata":{"managedFields":7}}', '{"metadata":{"managedFields":[]}}']) {
    test(`so does what another program stored: ${value}`, async () => {
      await server.registry.store.create('/core/traces/default/a', Buffer.from(value));
      await server.registry.cache.fresh();
      server.restart();
      await server.pass(hour - 1);
      assert.equal(server.registry.cache.collection('/core/traces/').snapshot().count('/core/traces/'), 1);
      await server.pass(2 * step);
      assert.equal(await server.registry.store.get('/core/traces/default/a'), undefined);
    });
  }
});

describe('a store', () => {
  test('keeps an object that is written during the step', async () => {
    const store = openMemoryStore();
    const deletes: string[] = [];
    const overtaken = intercepted(store, async (key, revision) => {
      deletes.push(key);
      if (deletes.length === 1) await store.update(key, (await store.get(key))?.value ?? Buffer.of(), revision);
      await store.delete(key, revision);
    });
    await using racing = await Server.start({ store: overtaken });
    await racing.registry.object('POST', events, eventBody('a'));
    await racing.pass(2 * hour - minute);
    assert.deepEqual(deletes, [eventKey('a')]);
    assert.deepEqual([await racing.names(), racing.warned], [['a'], []]);
    await racing.pass(minute + 4 * step);
    assert.deepEqual([await racing.names(), racing.warned], [[], []]);
  });

  test('shared by several servers commits each removal once', async () => {
    const store = openMemoryStore();
    const clock = new ManualClock();
    await using one = await Server.start({ store, clock });
    await using other = await Server.start({ store, clock });
    const removals: string[] = [];
    const ended = new AbortController();
    const reading = (async () => {
      for await (const { changes } of store.changes(await store.head(), ended.signal)) {
        removals.push(...changes.filter(({ type }) => type === 'delete').map(({ key }) => key));
      }
    })();
    for (const name of ['a', 'b', 'c']) await one.registry.object('POST', events, eventBody(name));
    await one.pass(hour + 2 * step);
    await other.pass(2 * step);
    assert.deepEqual([await one.names(), await other.names()], [[], []]);
    ended.abort();
    await reading;
    assert.deepEqual(removals, ['a', 'b', 'c'].map(eventKey));
    assert.deepEqual([...one.warned, ...other.warned], []);
  });

  test('that fails is called again at the next step', async () => {
    let answers = false;
    const store = openMemoryStore();
    const broken = intercepted(store, async (key, revision) => {
      if (!answers) throw new StoreError('unavailable', 'gone');
      await store.delete(key, revision);
    });
    await using waiting = await Server.start({ store: broken });
    await waiting.registry.object('POST', events, eventBody('a'));
    await waiting.pass(hour + 2 * step);
    assert.deepEqual(
      [await waiting.names(), new Set(waiting.warned)],
      [['a'], new Set(['expired objects could not be removed'])],
    );
    answers = true;
    await waiting.pass(step);
    assert.deepEqual(await waiting.names(), []);
  });

  test('with an unknown outcome keeps a newer object of the same name', async () => {
    const store = openMemoryStore();
    const asked: number[] = [];
    const lossy = intercepted(store, async (key, revision) => {
      asked.push(revision);
      await store.delete(key, revision);
      throw new StoreError('unknownOutcome', 'lost');
    });
    await using server = await Server.start({ store: lossy });
    const { metadata } = await server.registry.object('POST', events, eventBody('a'));
    await server.pass(hour + 2 * step);
    await server.registry.object('POST', events, eventBody('a'));
    await server.pass(2 * step);
    assert.deepEqual([await server.names(), asked.map(String)], [['a'], [metadata.resourceVersion]]);
  });

  test('gets a bounded number of concurrent removals', async () => {
    const count = 3 * limits.expiryParallel + 1;
    const store = openMemoryStore();
    let underWay = 0;
    let most = 0;
    const counting = intercepted(store, async (key, revision) => {
      most = Math.max(most, ++underWay);
      await turn();
      await store.delete(key, revision);
      underWay--;
    });
    await using busy = await Server.start({ store: counting });
    for (let index = 0; index < count; index++) await busy.registry.object('POST', events, eventBody(`e${index}`));
    await busy.pass(hour + 2 * step);
    assert.deepEqual([await busy.names(), most], [[], limits.expiryParallel]);
  });

  test('is left alone once the server stops', async () => {
    const store = openMemoryStore();
    const deleted: string[] = [];
    const stopping = intercepted(store, async (key, revision) => {
      deleted.push(key);
      server.close();
      await store.delete(key, revision);
    });
    const server = await Server.start({ store: stopping });
    try {
      const idle = server.clock.pending;
      for (let index = 0; index <= limits.expiryParallel; index++) {
        await server.registry.object('POST', events, eventBody(`e${index}`));
      }
      await server.pass(hour);
      server.clock.advance(2 * step);
      for (let turns = 0; turns < 50; turns++) await turn();
      assert.equal(deleted.length, limits.expiryParallel, 'one batch, and no more');
      assert.equal(server.clock.pending, idle - 1);
      assert.equal((await server.names()).length, 1);
    } finally {
      await server[Symbol.asyncDispose]();
    }
  });
});

test('at random: nothing expires too early, too late or wrongly', async () => {
  const timeToLiveMs = 2 * minute;
  const stepMs = 1_000;
  const operation = fc.oneof(
    fc.record({
      type: fc.constant('write' as const),
      path: fc.constantFrom(events, traces, configMaps),
      name: fc.constantFrom('a', 'b', 'c'),
    }),
    fc.record({ type: fc.constant('pass' as const), steps: fc.integer({ min: 1, max: 90 }) }),
    fc.constant({ type: 'restart' as const }),
    fc.record({ type: fc.constant('stop' as const), ms: fc.integer({ min: 0, max: 3 * minute }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
      await using server = await Server.start({ timeToLiveMs });
      const { clock, registry } = server;
      const written = new Map<string, number>();
      let count = 0;
      const check = async (): Promise<void> => {
        const present = new Set<string>();
        for (const path of [events, traces, configMaps]) {
          for (const name of await server.names(path)) present.add(`${path}/${name}`);
        }
        for (const [target, atMs] of written) {
          const ageMs = clock.now() - atMs;
          const stays = target.startsWith(configMaps) || ageMs < timeToLiveMs;
          if (stays) assert.ok(present.has(target), `${target} went after ${ageMs} ms`);
          // One second, the resolution of an object's timestamps.
          else if (ageMs > timeToLiveMs + 2 * stepMs + 1_000)
            assert.ok(!present.has(target), `${target} is there after ${ageMs} ms`);
          if (!present.has(target)) written.delete(target);
        }
      };
      for (const next of operations) {
        if (next.type === 'write') {
          const target = `${next.path}/${next.name}`;
          const exists = written.has(target);
          const labels = { count: String(count++) };
          const body =
            next.path === events ? eventBody(next.name, { labels }) : { metadata: { name: next.name, labels } };
          if (exists) await registry.object('PATCH', target, { metadata: { labels } });
          else await registry.object('POST', next.path, body);
          written.set(target, clock.now());
        } else if (next.type === 'pass') {
          for (let done = 0; done < next.steps; done++) {
            await server.pass(stepMs, stepMs);
            await check();
          }
        } else {
          server.close();
          if (next.type === 'stop') clock.advance(next.ms);
          await registry.cache.fresh();
          server.restart();
        }
      }
    }),
    { numRuns: 60 },
  );
});

/** The events of a collection from now on. */
function watch(prefix: string): { readonly version: number; readonly seen: readonly CacheEvent[] } {
  const seen: CacheEvent[] = [];
  const { cache } = server.registry;
  const version = cache.revision;
  const watcher = cache
    .collection(prefix)
    .watch({ after: version }, { event: (event) => seen.push(event) > 0, closed: () => {} });
  after(() => watcher.close());
  return { version, seen };
}

/** The same store with `delete` intercepted. */
const intercepted = (store: Store, remove: (key: string, revision: number) => Promise<void>): Store =>
  new Proxy(store, {
    get(target, name) {
      if (name !== 'delete') {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return async (key: string, revision: number) => {
        await remove(key, revision);
        return { revision: await target.head() };
      };
    },
  });
