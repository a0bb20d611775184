import assert from 'node:assert/strict';
import { type Change, isStoreError, type Revision, type Store } from '../store.ts';
import { bytes, type Guarantee, inKeyOrder, rejected, text, written } from './subject.ts';
import { assertBookmarkable, assertOrdered, assertSameChanges, assertSameRecords, replay } from './validators.ts';
import { readChanges, watchChanges } from './watch-changes.ts';

/**
 * The change stream: complete, ordered, without duplicates, resumable from any revision in history, live until aborted.
 */
export const changeStreamGuarantees = (guarantee: Guarantee): void => {
  guarantee('a change stream delivers type, value and previous value', async ({ store }) => {
    const from = await store.head();
    const first = await written(store, '/a', 'one');
    const second = await store.update('/a', bytes('two'), first.revision);
    const removed = await store.delete('/a', second.revision);
    const again = await written(store, '/a', 'three');
    const previous = { key: '/a', value: bytes('two'), revision: second.revision };
    assertSameChanges(await readChanges(store, from, again.revision), [
      { type: 'create', ...first },
      { type: 'update', key: '/a', value: bytes('two'), revision: second.revision, previous: first },
      { type: 'delete', key: '/a', revision: removed.revision, previous },
      { type: 'create', ...again },
    ]);
  });

  guarantee('a refused write is not in the change stream', async ({ store }) => {
    const from = await store.head();
    const first = await written(store, '/a', 'one');
    await rejected(store.create('/a', bytes('x')), 'exists');
    await rejected(store.update('/a', bytes('x'), first.revision + 1_000), 'conflict');
    await rejected(store.delete('/b', first.revision), 'notFound');
    const last = await written(store, '/z', 'last');
    assertSameChanges(await readChanges(store, from, last.revision), [
      { type: 'create', ...first },
      { type: 'create', ...last },
    ]);
  });

  guarantee('a change stream delivers live changes', async ({ store }) => {
    const stream = watchChanges(store, await store.head());
    const told: Change[] = [];
    for (let index = 0; index < 20; index++) {
      const record = await written(store, `/live/${index}`, `value ${index}`);
      told.push({ type: 'create', ...record });
      if (index % 3 === 0) await stream.reached(record.revision);
    }
    await stream.reached(told.at(-1)?.revision ?? 0);
    assertSameChanges(await stream.stop(), told);
  });

  guarantee('change streams that start in the past go on live without gap or repetition', async ({ store }) => {
    const from = await store.head();
    const starts: Revision[] = [from];
    const streams = [{ start: from, stream: watchChanges(store, from) }];
    const acknowledged: Revision[] = [];
    const writing = writeAtRandom(store, { writers: 6, writes: 60 }, (revision) => {
      acknowledged.push(revision);
      if (acknowledged.length % 40 !== 0) return;
      const start = starts.at(-1) ?? from;
      starts.push(revision);
      for (const past of [start, revision]) streams.push({ start: past, stream: watchChanges(store, past) });
    });
    await writing;
    const end = (await written(store, '/end', '')).revision;
    const all = await readChanges(store, from, end);
    assertOrdered(all, from);
    const revisions = new Set(all.map(({ revision }) => revision));
    for (const revision of acknowledged) assert.ok(revisions.has(revision), `acknowledged ${revision} is missing`);
    assert.equal(all.length, acknowledged.length + 1);
    const { records } = await store.list('');
    assertSameRecords(records, inKeyOrder(replay(all).values()));
    for (const { start, stream } of streams) {
      await stream.reached(end);
      const changes = await stream.stop();
      assertBookmarkable(stream.batches, start);
      assertSameChanges(
        changes,
        all.filter(({ revision }) => revision > start),
      );
    }
  });

  guarantee('a change stream can be resumed from every revision that it reported', async ({ store }) => {
    const from = await store.head();
    const stream = watchChanges(store, from);
    await writeAtRandom(store, { writers: 3, writes: 20 });
    const end = (await written(store, '/end', '')).revision;
    await stream.reached(end);
    const all = await stream.stop();
    for (const { revision: start } of stream.batches.slice(-20)) {
      assertSameChanges(
        await readChanges(store, start, end),
        all.filter(({ revision }) => revision > start),
      );
    }
  });

  guarantee('the state at a revision plus the change stream from it is the state later', async ({ store }) => {
    await writeAtRandom(store, { writers: 3, writes: 20 });
    const writing = writeAtRandom(store, { writers: 3, writes: 30, prefix: '/more/' });
    const start = await store.list('');
    await writing;
    const end = await store.list('');
    const before = new Map(start.records.map((record) => [record.key, record]));
    const changes = await readChanges(store, start.revision, end.revision);
    assertSameRecords(end.records, inKeyOrder(replay(changes, before).values()));
  });

  guarantee('a change stream from beyond the head waits for it', async ({ store }) => {
    const from = (await store.head()) + 5;
    const stream = watchChanges(store, from);
    const told: Change[] = [];
    for (let index = 0; index < 12; index++) {
      const record = await written(store, `/later/${index}`, 'x');
      if (record.revision > from) told.push({ type: 'create', ...record });
    }
    await stream.reached(told.at(-1)?.revision ?? assert.fail('no write passed the start of the change stream'));
    assertSameChanges(await stream.stop(), told);
    assertBookmarkable(stream.batches, from);
  });

  guarantee('an aborted change stream ends without an error', async ({ store }) => {
    const from = await store.head();
    await written(store, '/a', 'one');
    const early = new AbortController();
    early.abort();
    for await (const batch of store.changes(from, early.signal))
      assert.fail(`a batch at ${batch.revision} after abort`);
    const late = new AbortController();
    const stream = store.changes(from, late.signal)[Symbol.asyncIterator]();
    const first = await stream.next();
    assert.ok(!first.done && first.value.changes.length > 0);
    const waiting = drain(stream);
    late.abort();
    await waiting;
    assert.equal((await stream.next()).done, true);
    await written(store, '/b', 'the store goes on');
  });

  guarantee('a consumer may leave a change stream', async ({ store }) => {
    const from = await store.head();
    await written(store, '/a', 'one');
    const abort = new AbortController();
    for await (const batch of store.changes(from, abort.signal)) {
      if (batch.changes.length > 0) break;
    }
    abort.abort();
    await written(store, '/b', 'the store goes on');
  });

  guarantee('a consumer that stalls loses nothing', async ({ store }) => {
    const from = await store.head();
    const stalled = followSlowly(store, from);
    const value = 'v'.repeat(4_096);
    const names = Array.from({ length: 1_500 }, (_, index) => `/stall/${index}`);
    await written(store, '/stall', 'first');
    await stalled.started;
    for (let start = 0; start < names.length; start += 250) {
      await Promise.all(names.slice(start, start + 250).map((key) => written(store, key, value)));
    }
    const end = (await written(store, '/stalled', 'last')).revision;
    const changes = await stalled.finish(end);
    assertOrdered(changes, from);
    assert.equal(changes.length, names.length + 2);
    assert.equal(replay(changes).size, names.length + 2);
  });

  guarantee('many change streams deliver the same', async ({ store }) => {
    const from = await store.head();
    const streams = Array.from({ length: 50 }, () => watchChanges(store, from));
    await writeAtRandom(store, { writers: 4, writes: 20 });
    const end = (await written(store, '/end', '')).revision;
    const all = await readChanges(store, from, end);
    for (const stream of streams) {
      await stream.reached(end);
      assertSameChanges(await stream.stop(), all);
    }
  });

  guarantee('a stopped change stream does not disturb the others', async ({ store }) => {
    const from = await store.head();
    const [stopped, kept] = [watchChanges(store, from), watchChanges(store, from)];
    const first = await written(store, '/a', 'one');
    await stopped.reached(first.revision);
    await stopped.stop();
    const second = await written(store, '/b', 'two');
    await kept.reached(second.revision);
    assert.equal((await kept.stop()).length, 2);
  });
};

interface RandomWrites {
  readonly writers: number;
  /** Per writer. */
  readonly writes: number;
  readonly prefix?: string;
}

/**
 * Concurrent writers that create, replace and delete the same few keys. Deterministic: each step follows from its
 * index.
 */
const writeAtRandom = async (
  store: Store,
  { writers, writes, prefix = '/random/' }: RandomWrites,
  acknowledged: (revision: Revision) => void = () => {},
): Promise<void> => {
  const write = async (writer: number, step: number) => {
    const key = `${prefix}${(writer * 7 + step * 5) % 11}`;
    const value = bytes(`writer ${writer} step ${step}`);
    const record = await store.get(key);
    if (!record) return store.create(key, value);
    return step % 3 === 0 ? store.delete(key, record.revision) : store.update(key, value, record.revision);
  };
  const run = async (writer: number) => {
    for (let step = 0; step < writes; step++) {
      try {
        acknowledged((await write(writer, step)).revision);
      } catch (error) {
        const lostRace = (['exists', 'conflict', 'notFound'] as const).some((code) => isStoreError(error, code));
        if (!lostRace) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => run(writer)));
};

/**
 * Reads one batch, stalls until `finish`, then reads on; if the stream has ended meanwhile, resumes after the last
 * revision read.
 */
const followSlowly = (store: Store, from: Revision) => {
  const abort = new AbortController();
  const iterator = store.changes(from, abort.signal)[Symbol.asyncIterator]();
  const started = iterator.next();
  const finish = async (end: Revision): Promise<readonly Change[]> => {
    const first = await started;
    assert.ok(!first.done);
    const changes = [...first.value.changes];
    let position = first.value.revision;
    try {
      while (position < end) {
        const next = await iterator.next();
        assert.ok(!next.done, 'the change stream ended early');
        changes.push(...next.value.changes);
        position = next.value.revision;
      }
    } catch (error) {
      if (!isStoreError(error, 'unavailable')) throw error;
      changes.push(...(await readChanges(store, position, end)));
    }
    abort.abort();
    await drain(iterator);
    return changes.filter(({ revision }) => revision <= end);
  };
  return { started, finish };
};

const drain = async (stream: AsyncIterator<unknown>): Promise<void> => {
  while (!(await stream.next()).done);
};

/** Compaction: which revisions become unreadable, and which stay readable. */
export const compactionGuarantees = (guarantee: Guarantee): void => {
  guarantee('compaction forgets what came before, and keeps the rest', async ({ store }) => {
    const from = await store.head();
    const first = await written(store, '/a', 'one');
    const gone = await written(store, '/gone', 'gone');
    const second = await store.update('/a', bytes('two'), first.revision);
    await store.delete('/gone', gone.revision);
    const kept = await written(store, '/kept', 'kept');
    const at = await store.list('/');
    const third = await store.update('/a', bytes('three'), second.revision);
    const removed = await store.delete('/kept', kept.revision);

    await store.compact(kept.revision);

    for (const past of [first.revision, second.revision, gone.revision]) {
      const error = await rejected(store.get('/a', past), 'compacted');
      if (error.revision !== undefined) await store.get('/a', error.revision);
      await rejected(store.list('/', { at: past }), 'compacted');
      await rejected(readChanges(store, past, removed.revision), 'compacted');
    }
    await rejected(readChanges(store, from, removed.revision), 'compacted');
    assertSameRecords((await store.list('/', { at: kept.revision })).records, at.records);
    assert.equal(text((await store.get('/a', kept.revision))?.value), 'two');
    assert.equal(await store.get('/gone', kept.revision), undefined);
    assert.equal(text((await store.get('/a'))?.value), 'three');
    const changes = await readChanges(store, kept.revision, removed.revision);
    assertSameChanges(changes, [
      {
        type: 'update',
        key: '/a',
        value: bytes('three'),
        revision: third.revision,
        previous: { key: '/a', value: bytes('two'), revision: second.revision },
      },
      { type: 'delete', key: '/kept', revision: removed.revision, previous: kept },
    ]);
  });

  guarantee('compaction changes no current value and no revision', async ({ store }) => {
    await writeAtRandom(store, { writers: 4, writes: 30 });
    const before = await store.list('');
    await store.compact(before.revision);
    const after = await store.list('');
    assertSameRecords(after.records, before.records);
    assertSameRecords((await store.list('', { at: before.revision })).records, before.records);
    const next = await written(store, '/next', 'next');
    assert.ok(next.revision > before.revision);
    assertSameChanges(await readChanges(store, before.revision, next.revision), [{ type: 'create', ...next }]);
  });

  guarantee('compacting again does nothing', async ({ store }) => {
    const first = await written(store, '/a', 'one');
    const second = await store.update('/a', bytes('two'), first.revision);
    const third = await store.update('/a', bytes('three'), second.revision);
    await store.compact(second.revision);
    await store.compact(second.revision);
    await store.compact(first.revision);
    await rejected(store.get('/a', first.revision), 'compacted');
    assert.equal(text((await store.get('/a', second.revision))?.value), 'two');
    assert.equal(text((await store.get('/a', third.revision))?.value), 'three');
  });

  guarantee('a deleted key stays deleted after compaction, and can be created again', async ({ store }) => {
    const first = await written(store, '/a', 'one');
    const removed = await store.delete('/a', first.revision);
    await store.compact(removed.revision);
    assert.equal(await store.get('/a'), undefined);
    assert.equal(await store.get('/a', removed.revision), undefined);
    await rejected(store.update('/a', bytes('x'), first.revision), 'notFound');
    assert.ok((await store.head()) >= removed.revision);
    const again = await written(store, '/a', 'two');
    assert.ok(again.revision > removed.revision);
    assertSameChanges(await readChanges(store, removed.revision, again.revision), [{ type: 'create', ...again }]);
  });

  guarantee('a live change stream goes on through compaction', async ({ store }) => {
    const from = await store.head();
    const stream = watchChanges(store, from);
    let record = await written(store, '/a', '0');
    for (let round = 1; round <= 20; round++) {
      const value = bytes(String(round));
      record = { key: '/a', value, revision: (await store.update('/a', value, record.revision)).revision };
      await stream.reached(record.revision);
      if (round % 5 === 0) await store.compact(record.revision);
    }
    const changes = await stream.stop();
    assert.equal(changes.length, 21);
    replay(changes);
  });
};
