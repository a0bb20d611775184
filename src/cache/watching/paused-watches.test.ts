import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { until } from '../../base/waits-fixture.ts';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { configMap, keyOf, openCache, put, putMany, RecordingCounter, RecordingWatch } from '../cache-fixture.ts';

/** Watches whose sinks pause: how much they hold, when they are closed, and what they delay. */

test('a paused watch receives the rest when it is resumed', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const watch = new RecordingWatch(configMaps, { after: cache.revision }, 3);
  const writes = await putMany(store, 10);
  await cache.fresh();
  for (const count of [3, 6, 9, 10]) {
    assert.deepEqual(watch.revisions, writes.slice(0, count));
    assert.equal(watch.watcher.revision, count === 10 ? cache.revision : writes[count - 1]);
    watch.resume();
  }
  const more = await put(store, 'more');
  await cache.fresh();
  assert.equal(watch.revisions.at(-1), more);
});

test('a watch whose sink stays paused is closed when its queue is full', async (context) => {
  const metrics = {
    reloads: new RecordingCounter(),
    slowWatches: new RecordingCounter(),
    corruptObjects: new RecordingCounter(),
  };
  const { cache, store, configMaps } = await openCache(context, { metrics });
  const slow = new RecordingWatch(configMaps, { after: cache.revision }, 1);
  const quick = new RecordingWatch(configMaps, { after: cache.revision });
  await putMany(store, limits.watcherBufferEventsMax + 1);
  await cache.fresh();
  assert.equal(slow.closedFor, undefined);
  const [first] = slow.revisions;
  await put(store, 'one-more');
  await cache.fresh();
  assert.equal(slow.closedFor, 'slow');
  assert.equal(slow.watcher.revision, first);
  slow.resume();
  assert.equal(slow.events.length, 1);
  assert.equal(quick.events.length, limits.watcherBufferEventsMax + 2);
  assert.equal(metrics.slowWatches.count, 1);
  assert.equal(cache.watchers, 1);
  // A new watch can continue from its position.
  const again = new RecordingWatch(configMaps, { after: slow.watcher.revision });
  await until(() => again.events.length > 0);
  assert.deepEqual(again.received, quick.received.slice(1));
});

test('the queue of a watch is bounded in bytes', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const slow = new RecordingWatch(configMaps, { after: cache.revision }, 1);
  const size = 1024 * 1024;
  const data = 'x'.repeat(size);
  let there = await store.create(keyOf('big'), configMap('big', { data }));
  for (let queued = 1; queued <= limits.watcherQueueBytesMax / size; queued++) {
    assert.equal(slow.closedFor, undefined);
    there = await store.update(keyOf('big'), configMap('big', { data }), there.revision);
    await cache.fresh();
  }
  assert.equal(slow.closedFor, 'slow');
});

for (const after of ['now', 'before'] as const) {
  test(`a watch that the server itself delays is not slow, from ${after}`, async (context) => {
    const { cache, store, configMaps } = await openCache(context);
    const start = cache.revision;
    const early = after === 'before' ? await putMany(store, 3) : [];
    await cache.fresh();
    const watch = new RecordingWatch(configMaps, { after: start }, 1);
    watch.preparing = true;
    const writes = await putMany(store, 2 * limits.watcherBufferEventsMax + 5, 'more');
    await cache.fresh();
    const expected = [...early, ...writes];
    assert.deepEqual(watch.revisions, expected.slice(0, 1));
    assert.equal(watch.watcher.revision, (expected[1] ?? 0) - 1);
    while (watch.events.length < expected.length) {
      const { length } = watch.events;
      watch.resume();
      if (watch.events.length === length) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(watch.revisions, expected);
    assert.deepEqual([watch.closedFor, cache.watchers], [undefined, 1]);
  });
}

test('watches of a resource that will be removed are not slow, and get all that happened before they end', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const start = cache.revision;
  const [one, another] = [1, 1].map((takes) => new RecordingWatch(configMaps, { after: start }, takes));
  assert.equal(configMaps.hasLaggingWatches, false);
  configMaps.keepSlowWatches();
  const writes = await putMany(store, 2 * limits.watcherBufferEventsMax + 5);
  await cache.fresh();
  for (const watch of [one, another]) {
    assert.ok(watch);
    assert.deepEqual([watch.closedFor, watch.revisions], [undefined, writes.slice(0, 1)]);
    assert.equal(configMaps.hasLaggingWatches, true);
    for (let left = writes.length; left > 0; left--) watch.resume();
    assert.deepEqual(watch.revisions, writes);
  }
  assert.equal(configMaps.hasLaggingWatches, false);
  cache.removeResource(configMaps.prefix);
  await until(() => one?.closedFor === 'closed' && another?.closedFor === 'closed');
});

test('a paused watch that replays history holds nothing, and is not slow', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const after = cache.revision;
  const writes = await putMany(store, limits.watcherBufferEventsMax * 2);
  await cache.fresh();
  const watch = new RecordingWatch(configMaps, { after }, 700);
  await until(() => watch.events.length === 700);
  assert.equal(watch.watcher.revision, writes[699]);
  const more = await put(store, 'more');
  await cache.fresh();
  for (const count of [1_400, 2_001]) {
    watch.resume();
    assert.equal(watch.events.length, count);
  }
  assert.deepEqual(watch.revisions, [...writes, more]);
  assert.equal(watch.closedFor, undefined);
});

test('a watch that pauses while catching up delays the others for a short time only', async (context) => {
  const store = openMemoryStore();
  const after = await store.head();
  const writes = await putMany(store, 50);
  const { cache, clock, configMaps } = await openCache(context, { store });
  const idle = clock.pending;
  const quick = new RecordingWatch(configMaps, { after });
  const stalled = new RecordingWatch(configMaps, { after }, 10);
  await until(() => clock.pending > idle);
  assert.deepEqual([quick.events.length, stalled.events.length], [10, 10]);
  assert.equal(stalled.watcher.revision, writes[9]);
  clock.advance(limits.catchUpPauseMsMax);
  await until(() => quick.events.length === 50);
  assert.equal(stalled.events.length, 10);
  for (const count of [20, 30, 40, 50]) {
    stalled.resume();
    await until(() => stalled.events.length === count && clock.pending >= idle);
    assert.equal(stalled.watcher.revision >= (writes[count - 1] ?? 0), true);
  }
  stalled.resume();
  const live = await put(store, 'live');
  await cache.fresh();
  await until(() => stalled.events.length === 51);
  assert.deepEqual(stalled.revisions, [...writes, live]);
  assert.deepEqual(quick.revisions, [...writes, live]);
  stalled.watcher.close();
  quick.watcher.close();
  assert.equal(clock.pending, idle);
});
