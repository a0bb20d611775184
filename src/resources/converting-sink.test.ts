import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { until } from '../base/waits-fixture.ts';
import type { CacheEntry, CacheEvent, Watcher, WatchSink } from '../cache/cache.ts';
import { ConvertingSink } from './converting-sink.ts';

/** What the sink looks at of an event. */
const eventAt = (revision: number): CacheEvent =>
  ({ type: 'MODIFIED', revision, entry: { revision, start: 0, end: 10 } as CacheEntry }) as CacheEvent;

/** A watch whose events are converted by the test. Those with an even revision are known where `knowsEven`. */
function watched({ knowsEven = false, takesMax = Number.POSITIVE_INFINITY } = {}) {
  const seen: number[] = [];
  const ends: unknown[] = [];
  const asked: { readonly entries: readonly CacheEntry[]; answer(error?: Error): void }[] = [];
  let room = takesMax;
  let [resumed, position] = [0, 0];
  const sink: WatchSink = {
    event({ revision }) {
      seen.push(revision);
      room -= 1;
      return room > 0;
    },
    closed: (reason) => ends.push(reason),
    failed: (error) => ends.push(error),
  };
  const converting = new ConvertingSink(sink, {
    known: (entry) => (knowsEven && entry.revision % 2 === 0 ? entry : undefined),
    convert: (entries) =>
      new Promise((resolve, reject) => {
        asked.push({ entries, answer: (error) => (error ? reject(error) : resolve(entries)) });
      }),
    ended: () => ends.push('ended'),
  });
  const inner: Watcher = {
    get revision() {
      return position;
    },
    resume: () => {
      resumed += 1;
    },
    close: () => void ends.push('closed inside'),
  };
  const watcher = converting.follow(inner);
  const send = (revision: number): boolean => {
    position = revision;
    return converting.event(eventAt(revision));
  };
  const makeRoom = (count: number): void => {
    room = count;
    watcher.resume();
  };
  return { ...{ seen, ends, asked, converting, watcher, send, makeRoom }, resumed: () => resumed };
}

describe('events that are converted by others', () => {
  it('are passed on in their order, also those that need no conversion', async () => {
    const { seen, asked, send, watcher } = watched({ knowsEven: true });
    assert.equal(send(2), true);
    assert.deepEqual(seen, [2]);
    for (const revision of [3, 4, 5]) assert.equal(send(revision), true);
    assert.deepEqual(seen, [2]);
    assert.equal(watcher.revision, 2, 'a bookmark must not overtake');
    await until(() => asked.length === 1);
    asked[0]?.answer();
    await until(() => seen.length === 4);
    assert.deepEqual(seen, [2, 3, 4, 5]);
    assert.equal(watcher.revision, 5);
  });

  it('pause the watch while a batch is full, and go on after it', async () => {
    const { seen, asked, send, resumed, converting } = watched();
    const count = limits.conversionObjectsMax;
    for (let revision = 1; revision <= count; revision++) assert.equal(send(revision), revision < count);
    assert.equal(converting.preparing, true);
    await until(() => asked.length === 1);
    assert.equal(asked[0]?.entries.length, count);
    asked[0]?.answer();
    await until(() => resumed() === 1);
    assert.equal(seen.length, count);
    assert.equal(converting.preparing, false);
  });

  it('wait for a sink that is full', async () => {
    const { seen, asked, send, makeRoom, resumed } = watched({ takesMax: 2 });
    for (const revision of [1, 2, 3]) send(revision);
    await until(() => asked.length === 1);
    asked[0]?.answer();
    await until(() => seen.length === 2);
    assert.equal(send(4), false);
    assert.equal(asked.length, 1, 'nothing is asked for a sink that is full');
    makeRoom(10);
    await until(() => asked.length === 2);
    assert.deepEqual(
      asked[1]?.entries.map(({ revision }) => revision),
      [3, 4],
    );
    asked[1]?.answer();
    await until(() => resumed() === 1);
    assert.deepEqual(seen, [1, 2, 3, 4]);
  });

  it('that cannot be converted end the watch', async () => {
    const { seen, ends, asked, send } = watched();
    send(1);
    await until(() => asked.length === 1);
    const error = new Error('no');
    asked[0]?.answer(error);
    await until(() => ends.length === 3);
    assert.deepEqual(ends, ['ended', 'closed inside', error]);
    assert.deepEqual(seen, []);
  });

  it('are dropped when the watch ends', async () => {
    const { seen, ends, asked, send, watcher } = watched();
    send(1);
    await until(() => asked.length === 1);
    watcher.close();
    asked[0]?.answer();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([seen, ends], [[], ['ended', 'closed inside']]);
  });
});
