import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { type Change, type Revision, StoreError } from '../../store/store.ts';
import type { CacheEntry, CacheEvent } from '../cache.ts';
import {
  configMap,
  FaultyStore,
  keyOf,
  nodes,
  openCache,
  parsed,
  put,
  putMany,
  RecordingWatch,
  remove,
} from '../cache-fixture.ts';

const labelled = (app: string) => (entry: CacheEntry) => entry.label('app') === app;

test('objects that start and stop matching are ADDED and DELETED', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const all = new RecordingWatch(configMaps, { after: cache.revision });
  const web = new RecordingWatch(configMaps, { after: cache.revision, matches: labelled('web') });
  const none = new RecordingWatch(configMaps, { after: cache.revision, matches: () => false });
  const revisions: Revision[] = [];
  for (const app of ['web', 'web', 'db', 'db', 'web']) revisions.push(await put(store, 'a', { labels: { app } }));
  const [first, second, third, fourth, fifth] = revisions;
  const gone = await remove(store, 'a');
  const other = await put(store, 'b', { labels: { app: 'db' } });
  const otherGone = await remove(store, 'b');
  await cache.fresh();
  assert.deepEqual(all.received, [
    `ADDED a@${first}`,
    `MODIFIED a@${second}`,
    `MODIFIED a@${third}`,
    `MODIFIED a@${fourth}`,
    `MODIFIED a@${fifth}`,
    `DELETED a@${gone}`,
    `ADDED b@${other}`,
    `DELETED b@${otherGone}`,
  ]);
  assert.deepEqual(web.received, [
    `ADDED a@${first}`,
    `MODIFIED a@${second}`,
    `DELETED a@${third}`,
    `ADDED a@${fifth}`,
    `DELETED a@${gone}`,
  ]);
  assert.deepEqual(none.received, []);
  // The last state that matched, with the revision of the event.
  for (const event of [...all.events, ...web.events]) {
    assert.equal(parsed(event.entry.bytes).metadata.resourceVersion, String(event.revision));
    assert.equal(event.entry.revision, event.revision);
  }
  assert.ok(web.events.every(({ entry }) => entry.label('app') === 'web'));
  // Watches with the same event share one object.
  assert.equal(all.events[1], web.events[1]);
  assert.equal(all.events[5], web.events[4]);
  assert.notEqual(all.events[2], web.events[2]);
});

test('a watch of a namespace, a name, an object', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const after = cache.revision;
  const watches = {
    all: new RecordingWatch(configMaps, { after }),
    namespace: new RecordingWatch(configMaps, { after, namespace: 'x' }),
    name: new RecordingWatch(configMaps, { after, name: 'a' }),
    object: new RecordingWatch(configMaps, { after, namespace: 'x', name: 'a' }),
    both: new RecordingWatch(configMaps, { after, namespace: 'x', matches: labelled('web') }),
  };
  const cluster = cache.collection(nodes.prefix);
  const node = new RecordingWatch(cluster, { after, name: 'a' });
  const nowhere = new RecordingWatch(cluster, { after, namespace: 'x' });
  await put(store, 'a', { labels: { app: 'web' }, namespace: 'x' });
  await put(store, 'a', { labels: { app: 'web' }, namespace: 'y' });
  await put(store, 'b', { labels: { app: 'db' }, namespace: 'x' });
  await put(store, 'b', { labels: { app: 'db' }, namespace: 'xx' });
  await store.create(`${nodes.prefix}a`, configMap('a'));
  await store.create(`${nodes.prefix}b`, configMap('b'));
  await cache.fresh();
  const seen = (watch: RecordingWatch) =>
    watch.events.map(({ entry }) => entry.key.slice(entry.key.lastIndexOf('s/') + 2));
  const expected = {
    all: ['x/a', 'y/a', 'x/b', 'xx/b'],
    namespace: ['x/a', 'x/b'],
    name: ['x/a', 'y/a'],
    object: ['x/a'],
    both: ['x/a'],
  };
  assert.deepEqual(Object.fromEntries(Object.entries(watches).map(([key, watch]) => [key, seen(watch)])), expected);
  assert.deepEqual([seen(node), seen(nowhere)], [['a'], []]);
  // The same from history.
  for (const [key, watch] of Object.entries(watches)) {
    const options = { namespace: { namespace: 'x' }, name: { name: 'a' }, object: { namespace: 'x', name: 'a' } };
    if (!(key in options)) continue;
    const again = new RecordingWatch(configMaps, { after, ...options[key as keyof typeof options] });
    await until(() => again.events.length === watch.events.length);
    assert.deepEqual(again.received, watch.received);
  }
});

test('nothing is delivered before watch has returned or after close', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const start = cache.revision;
  await put(store, 'a');
  await cache.fresh();
  const replayed = new RecordingWatch(configMaps, { after: start });
  assert.equal(replayed.events.length, 0);
  const closed = new RecordingWatch(configMaps, { after: start });
  closed.watcher.close();
  const live = new RecordingWatch(configMaps, { after: cache.revision });
  assert.equal(cache.watchers, 2);
  await until(() => replayed.events.length === 1);
  live.watcher.close();
  live.watcher.close();
  replayed.watcher.close();
  await put(store, 'b');
  await cache.fresh();
  assert.deepEqual([replayed.events.length, closed.events.length, live.events.length], [1, 0, 0]);
  assert.deepEqual([replayed.closedFor, closed.closedFor, live.closedFor], [undefined, undefined, undefined]);
  assert.equal(cache.watchers, 0);
});

test('a watch resumes from any revision of the window without gap or repetition', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const start = cache.revision;
  const writes = [...(await putMany(store, 20))];
  await cache.fresh();
  const watches = [start, ...writes].map((after) => new RecordingWatch(configMaps, { after }));
  writes.push(...(await putMany(store, 20)));
  await cache.fresh();
  for (const [index, watch] of watches.entries()) assert.deepEqual(watch.revisions, writes.slice(index));
});

test('a watch from a future revision waits for it', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const after = cache.revision + 3;
  const watch = new RecordingWatch(configMaps, { after });
  const writes = await putMany(store, 6);
  await cache.fresh();
  assert.deepEqual(
    watch.revisions,
    writes.filter((revision) => revision > after),
  );
});

describe('a watch from a revision that the store does not reach in time', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test('ends, since another store must have issued the revision', async (context) => {
    const { cache, store, clock, configMaps } = await openCache(context);
    const watch = new RecordingWatch(configMaps, { after: cache.revision + 3 });
    const near = new RecordingWatch(configMaps, { after: cache.revision + 1 });
    await put(store, 'a');
    const { length } = await putMany(store, 1);
    await cache.fresh();
    clock.advance(limits.futureRevisionWaitMs - 1);
    await turn();
    assert.deepEqual([watch.closedFor, near.closedFor], [undefined, undefined]);
    clock.advance(1);
    await turn();
    assert.deepEqual([watch.closedFor, near.closedFor], ['beyond', undefined]);
    assert.equal(near.events.length, length);
  });

  test('continues if the store has reached it and the cache has not', async (context) => {
    const store = new FaultyStore();
    const { cache, clock, configMaps } = await openCache(context, { store });
    const watch = new RecordingWatch(configMaps, { after: cache.revision + 5 });
    let head = cache.revision + 5;
    store.head = async () => head;
    clock.advance(limits.futureRevisionWaitMs);
    await turn();
    assert.equal(watch.closedFor, undefined);
    head = cache.revision;
    const late = new RecordingWatch(configMaps, { after: cache.revision + 6 });
    clock.advance(limits.futureRevisionWaitMs);
    await turn();
    assert.deepEqual([watch.closedFor, late.closedFor], [undefined, 'beyond']);
  });

  test('is checked again if the store does not answer', async (context) => {
    const store = new FaultyStore();
    const { cache, clock, configMaps } = await openCache(context, { store });
    const watch = new RecordingWatch(configMaps, { after: cache.revision + 5 });
    store.before = (call) => {
      if (call === 'head') throw new StoreError('unavailable', 'away');
    };
    clock.advance(limits.futureRevisionWaitMs);
    await turn();
    assert.equal(watch.closedFor, undefined);
    store.before = () => {};
    clock.advance(limits.futureRevisionWaitMs);
    await turn();
    assert.equal(watch.closedFor, 'beyond');
  });

  test('leaves no timer when it is closed', async (context) => {
    const { cache, clock, configMaps } = await openCache(context);
    const before = clock.pending;
    const watch = new RecordingWatch(configMaps, { after: cache.revision + 5 });
    assert.equal(clock.pending, before + 1);
    watch.watcher.close();
    assert.equal(clock.pending, before);
  });
});

test('an idle watch advances its revision', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const watch = new RecordingWatch(configMaps, { after: cache.revision });
  const later = new RecordingWatch(configMaps, { after: cache.revision + 100 });
  await store.create('/elsewhere', configMap('x'));
  const { revision } = await store.create(`${nodes.prefix}a`, configMap('a'));
  await cache.fresh();
  assert.equal(watch.watcher.revision, revision);
  assert.equal(later.watcher.revision, revision + 98);
});

test('a sink or a selector that throws ends its own watch only', async (context) => {
  const { cache, store, configMaps, log } = await openCache(context);
  const closed: string[] = [];
  const fail = () => {
    throw new Error('a fault');
  };
  const after = cache.revision;
  configMaps.watch({ after }, { event: fail, closed: (reason) => closed.push(reason) });
  configMaps.watch({ after, matches: fail }, { event: () => true, closed: fail });
  const good = new RecordingWatch(configMaps, { after });
  await putMany(store, 2);
  await cache.fresh();
  assert.deepEqual(closed, ['closed']);
  assert.equal(good.events.length, 2);
  assert.equal(cache.watchers, 1);
  assert.equal(log.lines.length, 3);
});

test('watches may be opened and closed by sinks', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const opened: RecordingWatch[] = [];
  const after = cache.revision;
  const first = configMaps.watch(
    { after },
    {
      event: () => {
        first.close();
        victim.watcher.close();
        opened.push(new RecordingWatch(configMaps, { after }));
        return true;
      },
      closed: () => assert.fail('it closed itself'),
    },
  );
  const victim = new RecordingWatch(configMaps, { after });
  const writes = await putMany(store, 3);
  await cache.fresh();
  await until(() => opened[0]?.events.length === 3);
  assert.equal(opened.length, 1);
  assert.deepEqual(
    opened.map((watch) => watch.revisions),
    [writes],
  );
  assert.equal(victim.events.length, 0);
});

test('history is bounded in events; older starts are served from the store', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const after = cache.revision;
  const writes: Revision[] = [];
  for (let index = 0; index < limits.cacheHistoryEventsMax + 500; index++) {
    writes.push((await store.create(keyOf(`n${index}`), configMap(`n${index}`))).revision);
  }
  await cache.fresh();
  const early = new RecordingWatch(configMaps, { after });
  const recent = new RecordingWatch(configMaps, { after: writes[499] ?? 0 });
  await until(() => recent.events.length > 0);
  assert.equal(recent.events.length, limits.cacheHistoryEventsMax);
  await until(() => early.events.length === writes.length);
  assert.deepEqual(early.revisions, writes);
});

test('watches from before startup share one stream of history and then go live', async (context) => {
  const store = new FaultyStore();
  const start = await store.head();
  const writes = [...(await putMany(store, 30))];
  await put(store, 'm0', { labels: { app: 'web' } });
  writes.push(await store.head(), await remove(store, 'm1'));
  const { cache, configMaps } = await openCache(context, { store });
  let streams = 0;
  store.before = (call) => {
    if (call === 'changes') streams++;
  };
  const watches = [start, ...writes].map((after) => new RecordingWatch(configMaps, { after }));
  const web = new RecordingWatch(configMaps, { after: start, matches: labelled('web'), name: 'm0' });
  writes.push(await put(store, 'live'));
  await until(() => watches.every((watch) => watch.revisions.at(-1) === writes.at(-1)));
  writes.push(await put(store, 'm0', { labels: { app: 'db' } }));
  await cache.fresh();
  for (const [index, watch] of watches.entries()) assert.deepEqual(watch.revisions, writes.slice(index));
  assert.deepEqual(web.received, [`ADDED m0@${writes[30]}`, `DELETED m0@${writes[33]}`]);
  assert.equal(streams, 1);
  assert.ok(watches.every(({ watcher }) => watcher.revision === cache.revision));
});

test('a watch too old for the store is closed, and does not delay the others', async (context) => {
  const store = openMemoryStore();
  const start = await store.head();
  const writes = await putMany(store, 10);
  await store.compact(writes[4] ?? 0);
  const { configMaps } = await openCache(context, { store });
  const watches = [start, ...writes].map((after) => new RecordingWatch(configMaps, { after }));
  await until(() => watches.every(({ closedFor, events }, index) => closedFor || events.length === 10 - index));
  for (const [index, watch] of watches.entries()) {
    assert.equal(watch.closedFor, index < 5 ? 'compacted' : undefined, `after ${index} writes`);
    assert.deepEqual(watch.revisions, index < 5 ? [] : writes.slice(index));
  }
});

test('closing a watch that is catching up ends its change stream', async (context) => {
  const store = new FaultyStore();
  const after = await store.head();
  await putMany(store, 10);
  const { cache, clock, configMaps } = await openCache(context, { store });
  const idle = clock.pending;
  const watch = new RecordingWatch(configMaps, { after }, 1);
  await until(() => clock.pending > idle);
  watch.watcher.close();
  await until(() => clock.pending === idle);
  assert.equal(cache.watchers, 0);
  const again = new RecordingWatch(configMaps, { after });
  await until(() => again.events.length === 10);
});

/** A clock on which every step takes long. */
class SlowClock extends ManualClock {
  #looks = 0;

  override monotonic(): number {
    return super.monotonic() + this.#looks++ * limits.sliceMs;
  }
}

test('a long fan-out is split into slices, and watches stay exact in between', async (context) => {
  const { cache, store, clock, configMaps } = await openCache(context);
  const start = cache.revision;
  /** A watch with slow delivery. */
  class SlowWatch extends RecordingWatch {
    override event(event: CacheEvent): boolean {
      clock.advance(limits.sliceMs + 1);
      return super.event(event);
    }
  }
  const early = new SlowWatch(configMaps, { after: start });
  const writes = await Promise.all(Array.from({ length: 50 }, (_, index) => put(store, `s${index}`)));
  await cache.fresh();
  // The state is ahead of what the watchers have received.
  assert.equal(cache.revision, writes.at(-1));
  assert.ok(early.events.length < writes.length);
  const late: RecordingWatch[] = [];
  await until(() => {
    if (early.events.length === writes.length) return true;
    assert.equal(early.watcher.revision, Math.max(start, early.events.at(-1)?.revision ?? 0));
    late.push(
      new RecordingWatch(configMaps, { after: start }),
      new RecordingWatch(configMaps, { after: cache.revision }),
    );
    return false;
  }, 'the first watch is not told all');
  const last = await put(store, 'last');
  await until(() => early.events.length > writes.length && late.every((watch) => watch.revisions.at(-1) === last));
  for (const [index, watch] of [early, ...late].entries()) {
    assert.deepEqual(watch.revisions, index === 0 || index % 2 === 1 ? [...writes, last] : [last]);
  }
});

test('changes of one revision stay together', async (context) => {
  const store = openMemoryStore();
  const { revision } = await store.create('/elsewhere', configMap('x'));
  const twins: readonly Change[] = ['a', 'b'].map((name) => ({
    type: 'create',
    key: keyOf(name),
    revision: revision + 1,
    value: configMap(name),
  }));
  store.changes = async function* (from, signal) {
    if (from <= revision) yield { changes: twins, revision: revision + 1 };
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  };
  // Even if each of them takes longer than a slice of the fan-out.
  const { cache, configMaps } = await openCache(context, { store, clock: new SlowClock() });
  const quick = new RecordingWatch(configMaps, { after: revision });
  const live = new RecordingWatch(configMaps, { after: revision }, 1);
  await cache.waitFor(revision + 1, 1);
  assert.deepEqual([quick.events.length, quick.watcher.revision], [2, revision + 1]);
  const replayed = new RecordingWatch(configMaps, { after: revision }, 1);
  await until(() => replayed.events.length === 1);
  for (const watch of [live, replayed]) {
    assert.deepEqual(watch.received, [`ADDED a@${revision + 1}`]);
    assert.equal(watch.watcher.revision, revision);
    watch.resume();
    assert.deepEqual(watch.received, [`ADDED a@${revision + 1}`, `ADDED b@${revision + 1}`]);
    assert.equal(watch.watcher.revision, revision + 1);
  }
});

test('changes repeated by the store are not repeated to watches', async (context) => {
  const store = openMemoryStore();
  const { changes } = store;
  store.changes = async function* (from, signal) {
    for await (const batch of changes.call(store, from, signal)) {
      yield batch;
      yield batch;
      yield { changes: [], revision: batch.revision - 1 };
    }
  };
  const { cache, configMaps } = await openCache(context, { store });
  const watch = new RecordingWatch(configMaps, { after: cache.revision });
  const writes = await putMany(store, 5);
  await cache.fresh();
  const past = await put(store, 'm0');
  await cache.fresh();
  assert.deepEqual(watch.revisions, [...writes, past]);
  assert.deepEqual(configMaps.snapshotAt(writes[4] ?? 0)?.get(keyOf('m0'))?.revision, writes[0]);
});

test('1,000 watches and 20,000 events', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const namespaces = 50;
  const events = 20_000;
  const counts = new Map<number, number>();
  const last = new Map<number, Revision>();
  for (let index = 0; index < 1_000; index++) {
    const count = (revision: Revision): boolean => {
      assert.ok(revision > (last.get(index) ?? 0));
      last.set(index, revision);
      counts.set(index, (counts.get(index) ?? 0) + 1);
      return true;
    };
    const namespace = index < 20 ? {} : { namespace: `ns-${index % namespaces}` };
    const sink = { event: ({ revision }: { revision: Revision }) => count(revision), closed: () => assert.fail() };
    configMaps.watch({ after: cache.revision, ...namespace }, sink);
  }
  const value = configMap('a');
  for (let index = 0; index < events; index++)
    await store.create(keyOf(`o${index}`, `ns-${index % namespaces}`), value);
  await cache.fresh();
  for (let index = 0; index < 1_000; index++) {
    assert.equal(counts.get(index), index < 20 ? events : events / namespaces);
  }
});
