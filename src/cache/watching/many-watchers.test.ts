import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { until } from '../../base/waits-fixture.ts';
import type { Revision } from '../../store/store.ts';
import type { CachedResource, CacheEvent, Collection } from '../cache.ts';
import { configMaps as configMapsResource, openCache, put, RecordingWatch } from '../cache-fixture.ts';
import { type EntryCodec, objectCodec } from '../entries/entry-codec.ts';

describe('delivery of a change to very many watches', () => {
  const watchersMax = 10_000;

  /** A clock that advances with every delivered event. */
  class DeliveryClock extends ManualClock {
    readonly #deliveryMs: number;
    deliveries = 0;

    constructor(deliveryMs: number) {
      super();
      this.#deliveryMs = deliveryMs;
    }

    override monotonic(): number {
      return super.monotonic() + this.deliveries * this.#deliveryMs;
    }
  }

  /** A watch whose deliveries take time on the clock. */
  class CountedWatch extends RecordingWatch {
    onEvent: () => void = () => {};

    constructor(clock: DeliveryClock, ...rest: ConstructorParameters<typeof RecordingWatch>) {
      super(...rest);
      this.onEvent = () => {
        clock.deliveries++;
      };
    }

    override event(event: CacheEvent): boolean {
      this.onEvent();
      return super.event(event);
    }
  }

  const many = (clock: DeliveryClock, configMaps: Collection, after: Revision) =>
    Array.from({ length: watchersMax }, () => new CountedWatch(clock, configMaps, { after }));

  test('takes as many turns of the event loop as it needs, and each watch receives events in order', async (context) => {
    const clock = new DeliveryClock(0.01);
    const { cache, store, configMaps } = await openCache(context, { clock });
    const watches = many(clock, configMaps, cache.revision);
    await until(() => true);
    const writes = [await put(store, 'a'), await put(store, 'a'), await put(store, 'b')];
    let turns = 0;
    let longest = 0;
    let before = clock.deliveries;
    for (; clock.deliveries < writes.length * watchersMax; turns++) {
      // No watch may receive a change before every watch has received the one before it.
      const counts = watches.map(({ events }) => events.length);
      assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
      await new Promise((resolve) => setImmediate(resolve));
      longest = Math.max(longest, clock.deliveries - before);
      before = clock.deliveries;
      assert.ok(turns < watchersMax);
    }
    assert.ok(longest * 0.01 <= limits.turnMs + 1, `${longest} in one turn`);
    for (const watch of watches) assert.deepEqual(watch.revisions, writes);
    assert.equal(watches[0]?.watcher.revision, cache.revision);
  });

  test('continues when watches open, close, fail and pause in the middle', async (context) => {
    const clock = new DeliveryClock(0.01);
    const { cache, store, configMaps } = await openCache(context, { clock });
    const after = cache.revision;
    const watches = many(clock, configMaps, after);
    await until(() => true);
    const [first, second, last] = [watches[0], watches[1], watches.at(-1)];
    const added: RecordingWatch[] = [];
    const middle = watches[watchersMax / 2] as CountedWatch;
    middle.onEvent = () => {
      clock.deliveries++;
      if (added.length > 0) return;
      first?.watcher.close();
      last?.watcher.close();
      added.push(new RecordingWatch(configMaps, { after }), new RecordingWatch(configMaps, { after: cache.revision }));
    };
    const failing = watches[watchersMax / 2 + 1] as CountedWatch;
    failing.onEvent = () => {
      throw new Error('a fault');
    };
    const paused = new RecordingWatch(configMaps, { after }, 1);
    await until(() => true);
    const writes = [await put(store, 'a'), await put(store, 'b')];
    await until(() => second?.events.length === 2 && added[0]?.events.length === 2 && paused.events.length === 1);
    await until(() => watches[watchersMax - 2]?.events.length === 2);
    assert.deepEqual((first as RecordingWatch).revisions, writes.slice(0, 1));
    assert.deepEqual((last as RecordingWatch).revisions, []);
    assert.equal(failing.closedFor, 'closed');
    paused.resume();
    for (const watch of [second as RecordingWatch, middle, added[0] as RecordingWatch, paused]) {
      assert.deepEqual(watch.revisions, writes);
    }
    // It started after everything that was in the cache by then.
    assert.ok((added[1] as RecordingWatch).revisions.every((revision) => revision === writes[1]));
    assert.equal(cache.watchers, watchersMax);
  });

  test('waits while the senders are throttled', async (context) => {
    const { cache, store, configMaps } = await openCache(context);
    const watch = new RecordingWatch(configMaps, { after: cache.revision });
    await until(() => true);
    const room = Promise.withResolvers<void>();
    let busy: Promise<void> | undefined = room.promise;
    const throttle = cache.throttle(() => busy);
    const writes = [await put(store, 'a'), await put(store, 'b')];
    await cache.fresh();
    assert.deepEqual(watch.revisions, []);
    busy = undefined;
    room.resolve();
    await until(() => watch.events.length === 2);
    assert.deepEqual(watch.revisions, writes);
    busy = new Promise(() => {});
    throttle.close();
    await put(store, 'c');
    await until(() => watch.events.length === 3);
  });

  test('stops at once when all watches end, and they are notified over many turns', async (context) => {
    const clock = new DeliveryClock(0.01);
    const { cache, store, configMaps } = await openCache(context, { clock });
    const watches = many(clock, configMaps, cache.revision);
    for (const watch of watches) {
      const { closed } = watch;
      watch.closed = (reason) => {
        clock.deliveries++;
        closed.call(watch, reason);
      };
    }
    const left = watches.at(-1) as RecordingWatch;
    await until(() => true);
    await cache.reload(configMapsResource.prefix);
    assert.equal(cache.watchers, 0);
    assert.ok(clock.deliveries < watchersMax);
    left.watcher.close();
    await put(store, 'late');
    await until(() => clock.deliveries === watchersMax - 1);
    assert.equal(left.closedFor, undefined);
    for (const watch of watches.slice(0, -1))
      assert.deepEqual([watch.closedFor, watch.events.length], ['compacted', 0]);
  });
});

test('an immediate watch has received a change when others see its revision, however far behind they are', async (context) => {
  const { cache, store, configMaps } = await openCache(context);
  const held = Promise.withResolvers<void>();
  const throttle = cache.throttle(() => held.promise);
  const first = await put(store, 'first');
  await cache.fresh();
  const after = first - 1;
  const immediate = new RecordingWatch(configMaps, { after, immediate: true });
  const ofOne = new RecordingWatch(configMaps, { after, immediate: true, name: 'b' });
  const other = new RecordingWatch(configMaps, { after: first });
  await until(() => immediate.events.length === 1);
  for (const name of ['a', 'b', 'a']) {
    const revision = await put(store, name);
    await cache.fresh();
    assert.equal(immediate.events.at(-1)?.revision, revision);
    assert.deepEqual([immediate.watcher.revision, ofOne.watcher.revision], [revision, revision]);
  }
  assert.deepEqual([immediate.events.length, ofOne.events.length, other.events.length], [4, 1, 0]);
  throttle.close();
  held.resolve();
  await until(() => other.events.length === 3);
  assert.equal(immediate.events.length, 4, 'each once');
  immediate.watcher.close();
  await put(store, 'c');
  await cache.fresh();
  assert.deepEqual([immediate.events.length, ofOne.events.length], [4, 1]);
  cache.removeResource(configMaps.prefix);
  assert.equal(ofOne.closedFor, 'closed', 'at once');
});

for (const [what, bytes, isShared] of [
  ['a large change', limits.inlineBytesMax, true],
  ['a small one, of which there are many', 100, false],
] as const) {
  test(`an immediate watch shares the turn with the change that it receives: ${what}`, async (context) => {
    const clock = new ManualClock();
    /** Decoding a value takes a whole turn. */
    const codecOf = (resource: CachedResource): EntryCodec => {
      const codec = objectCodec(resource);
      return {
        ...codec,
        decode(record, place) {
          clock.advance(limits.turnMs);
          return codec.decode(record, place);
        },
      };
    };
    const { cache, store, configMaps } = await openCache(context, { clock, codecOf });
    const wereOver: boolean[] = [];
    configMaps.watch(
      { after: cache.revision, immediate: true },
      { event: () => wereOver.push(new TimeSlice(clock).over) > 0, closed: () => {} },
    );
    await turn();
    await put(store, 'a', { data: 'x'.repeat(bytes) });
    await cache.fresh();
    assert.deepEqual(wereOver, [isShared]);
  });
}
