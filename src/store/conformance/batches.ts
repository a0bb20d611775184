import assert from 'node:assert/strict';
import { limits } from '../../base/limits.ts';
import {
  type BatchWrite,
  type Change,
  type Committed,
  isStoreError,
  type Store,
  type StoreErrorCode,
} from '../store.ts';
import { bytes, type Guarantee, inKeyOrder, rejected, type StoreCapabilities, text, written } from './subject.ts';
import {
  assertBookmarkable,
  assertOrdered,
  assertSameChanges,
  assertSameRecord,
  assertSameRecords,
  replay,
} from './validators.ts';
import { readChanges, watchChanges } from './watch-changes.ts';

const create = (key: string, value = key): BatchWrite => ({ verb: 'create', key, value: bytes(value) });
const creates = (prefix: string, count: number): readonly BatchWrite[] =>
  Array.from({ length: count }, (_, index) => create(`${prefix}${index}`));

/** Batches: several writes in one transaction. */
export const batchGuarantees = (guarantee: Guarantee, capabilities: StoreCapabilities): void => {
  const { batchWritesMax = limits.storeBatchWritesMax, batchBytesMax = limits.storeBatchBytesMax } = capabilities;

  guarantee('a batch applies its writes in their order', async ({ store }) => {
    const changed = await written(store, '/changed', 'one');
    const gone = await written(store, '/gone', 'two');
    const before = await store.head();
    const committed = await store.batch([
      create('/z'),
      { verb: 'update', key: '/changed', value: bytes('three'), expected: changed.revision },
      { verb: 'delete', key: '/gone', expected: gone.revision },
      create('/a'),
    ]);
    assertRevisions(committed, 4, before);
    const [z = 0, update = 0, removal = 0, a = 0] = committed.map(({ revision }) => revision);
    assertSameRecords((await store.list('')).records, [
      { key: '/a', value: bytes('/a'), revision: a },
      { key: '/changed', value: bytes('three'), revision: update },
      { key: '/z', value: bytes('/z'), revision: z },
    ]);
    assertSameChanges(await readChanges(store, before, a), [
      { type: 'create', key: '/z', value: bytes('/z'), revision: z },
      { type: 'update', key: '/changed', value: bytes('three'), revision: update, previous: changed },
      { type: 'delete', key: '/gone', revision: removal, previous: gone },
      { type: 'create', key: '/a', value: bytes('/a'), revision: a },
    ]);
    assertSameRecords((await store.list('', { at: before })).records, [changed, gone]);
  });

  const refusals: Readonly<Record<string, { readonly code: StoreErrorCode; readonly refused: BatchWrite }>> = {
    'a creation of what is there': { code: 'exists', refused: create('/there') },
    'an update of another revision': {
      code: 'conflict',
      refused: { verb: 'update', key: '/there', value: bytes('x'), expected: 1 },
    },
    'a deletion of another revision': { code: 'conflict', refused: { verb: 'delete', key: '/there', expected: 1 } },
    'an update of what is absent': {
      code: 'notFound',
      refused: { verb: 'update', key: '/absent', value: bytes('x'), expected: 1 },
    },
    'a deletion of what is absent': { code: 'notFound', refused: { verb: 'delete', key: '/absent', expected: 1 } },
    'an update of what is absent, at no revision': {
      code: 'notFound',
      refused: { verb: 'update', key: '/absent', value: bytes('x'), expected: 0 },
    },
  };
  for (const [what, { code, refused }] of Object.entries(refusals)) {
    guarantee(`a batch with ${what} does nothing, wherever it stands in it`, async ({ store }) => {
      const there = await written(store, '/there', 'one');
      const other = await written(store, '/other', 'two');
      const before = await store.list('');
      const fine: readonly BatchWrite[] = [
        create('/new'),
        { verb: 'update', key: '/other', value: bytes('x'), expected: other.revision },
      ];
      for (const place of [0, 1, 2]) {
        const error = await rejected(store.batch(fine.toSpliced(place, 0, refused)), code);
        assert.equal(error.key, refused.key);
        if (code !== 'notFound') assert.equal(error.revision, there.revision);
        assertSameRecords((await store.list('')).records, before.records);
      }
      const last = await written(store, '/last', 'last');
      assertSameChanges(await readChanges(store, before.revision, last.revision), [{ type: 'create', ...last }]);
    });
  }

  guarantee('the first of several writes that cannot be done is named', async ({ store }) => {
    await written(store, '/b', 'one');
    await written(store, '/a', 'one');
    const refused = [create('/c'), create('/b'), { verb: 'delete', key: '/d', expected: 1 } as const, create('/a')];
    assert.equal((await rejected(store.batch(refused), 'exists')).key, '/b');
    assert.equal((await rejected(store.batch(refused.toReversed()), 'exists')).key, '/a');
    assert.equal((await rejected(store.batch(refused.toSpliced(1, 1)), 'notFound')).key, '/d');
  });

  guarantee('an empty batch resolves at once, and a duplicate key is refused', async ({ store }) => {
    const there = await written(store, '/there', 'one');
    assert.deepEqual(await store.batch([]), []);
    const { revision } = there;
    const twice: readonly (readonly BatchWrite[])[] = [
      [create('/a'), create('/b'), create('/a')],
      [{ verb: 'delete', key: '/there', expected: revision }, create('/there')],
    ];
    for (const writes of twice) await assert.rejects(store.batch(writes), RangeError);
    assertSameRecords((await store.list('')).records, [there]);
  });

  guarantee('the largest batch is done, and one with a write more is tooLarge and not begun', async ({ store }) => {
    const before = await store.head();
    await rejected(store.batch(creates('/more/', batchWritesMax + 1)), 'tooLarge');
    const committed = await store.batch(creates('/many/', batchWritesMax));
    assertRevisions(committed, batchWritesMax, before);
    const changes = await readChanges(store, before, committed.at(-1)?.revision ?? 0);
    assertOrdered(changes, before);
    assert.deepEqual(
      changes.map(({ key }) => key),
      creates('/many/', batchWritesMax).map(({ key }) => key),
    );
    const { records } = await store.list('');
    assertSameRecords(records, inKeyOrder(replay(changes).values()));
    const deletions = records
      .slice(0, batchWritesMax - 1)
      .map(({ key, revision }): BatchWrite => ({ verb: 'delete', key, expected: revision }));
    await store.batch(deletions);
    assert.equal((await store.list('')).records.length, 1);
  });

  guarantee('a batch of too many bytes is tooLarge and not begun', async ({ store }) => {
    const value = new Uint8Array(batchBytesMax / 16);
    const large = (count: number): readonly BatchWrite[] =>
      Array.from({ length: count }, (_, index) => ({ verb: 'create', key: `/large/${index}`, value }));
    await rejected(store.batch(large(17)), 'tooLarge');
    assert.deepEqual((await store.list('')).records, []);
    await store.batch(large(15));
    assert.equal((await store.list('')).records.length, 15);
  });

  guarantee('of batches that race for a key one wins, and the others leave nothing', async ({ store }) => {
    const attempts = Array.from({ length: 12 }, (_, index) =>
      store.batch([create(`/own/${index}`), create('/race', String(index)), create(`/own/${index}/b`)]),
    );
    const outcomes = await Promise.allSettled(attempts);
    const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(isStoreError(outcome.reason, 'exists'), String(outcome.reason));
    }
    assert.equal(text((await store.get('/race'))?.value), String(winners[0]));
    assert.deepEqual(
      (await store.list('/own/')).records.map(({ key }) => key),
      [`/own/${winners[0]}`, `/own/${winners[0]}/b`],
    );
  });

  guarantee(
    'no read of the latest state sees part of a batch',
    async ({ store }) => {
      let writing = true;
      const check = async () => {
        while (writing) {
          const { records } = await store.list('/pair/');
          const values = new Set(records.map(({ value }) => text(value)));
          assert.ok(
            records.length === 0 || (records.length === 4 && values.size === 1),
            `${records.length} of a batch`,
          );
        }
      };
      const checking = Promise.all([check(), check()]);
      const noise = Array.from({ length: 20 }, (_, index) => written(store, `/noise/${index}`, 'x'));
      try {
        await flipPairs(store, 25);
      } finally {
        writing = false;
      }
      await Promise.all([checking, ...noise]);
    },
    { skip: capabilities.batchesInPart },
  );

  guarantee('change streams that start between batches, and amid them, miss and repeat nothing', async ({ store }) => {
    const from = await store.head();
    const live = watchChanges(store, from);
    const noise = Array.from({ length: 20 }, (_, index) => written(store, `/noise/${index}`, 'x'));
    await flipPairs(store, 25);
    await Promise.all(noise);
    const end = (await written(store, '/end', '')).revision;
    await live.reached(end);
    const all = await live.stop();
    assertOrdered(all, from);
    assertBookmarkable(live.batches, from);
    assertSameRecords((await store.list('')).records, inKeyOrder(replay(all).values()));
    for (const start of new Set(all.map(({ revision }) => revision))) {
      const rest = all.filter(({ revision }) => revision > start);
      assertSameChanges(await readChanges(store, start, end), rest);
      const at = await store.list('', { at: start });
      assertSameRecords(at.records, inKeyOrder(replay(upTo(all, start)).values()));
    }
  });

  guarantee('history of batches is compacted as any other', async ({ store }) => {
    const [first, second] = [await flipPairs(store, 3), await store.list('/pair/')];
    await store.compact(second.revision);
    assertSameRecords((await store.list('/pair/', { at: second.revision })).records, second.records);
    await rejected(store.get('/pair/0', first), 'compacted');
    const last = await flipPairs(store, 1, 'again');
    const changes = await readChanges(store, second.revision, last);
    assert.deepEqual(
      changes.map(({ type, key }) => `${type} ${key}`),
      [0, 1, 2, 3].map((index) => `update /pair/${index}`),
    );
  });

  if (capabilities.durable) {
    guarantee('a batch is there after reopening, with its history', async ({ store, reopen }) => {
      assert.ok(reopen);
      const from = await store.head();
      await flipPairs(store, 3);
      const before = await store.list('');
      const changes = await readChanges(store, from, before.revision);
      await store.close();
      const reopened = await reopen();
      assertSameRecords((await reopened.list('')).records, before.records);
      assertSameChanges(await readChanges(reopened, from, before.revision), changes);
      assertSameRecord(
        await reopened.get('/pair/0', changes[3]?.revision),
        before.records[0] && {
          ...before.records[0],
          value: bytes('0'),
          revision: changes[0]?.revision ?? 0,
        },
      );
    });
  }
};

const upTo = (changes: readonly Change[], revision: number): readonly Change[] =>
  changes.filter((change) => change.revision <= revision);

/** One revision per write: all equal, or consecutive. */
const assertRevisions = (committed: readonly Committed[], count: number, before: number): void => {
  const revisions = committed.map(({ revision }) => revision);
  const first = revisions[0] ?? 0;
  assert.equal(revisions.length, count);
  assert.ok(first > before);
  const shared = revisions.map(() => first);
  const own = revisions.map((_, index) => first + index);
  assert.deepEqual(revisions, revisions.at(-1) === first ? shared : own);
};

/** Repeatedly writes the same value to four keys in one batch; returns the last revision of the first round. */
const flipPairs = async (store: Store, rounds: number, name = ''): Promise<number> => {
  let first = 0;
  for (let round = 0; round < rounds; round++) {
    const { records } = await store.list('/pair/');
    const value = bytes(`${name}${round}`);
    const writes = [0, 1, 2, 3].map((index): BatchWrite => {
      const key = `/pair/${index}`;
      const there = records[index];
      return there ? { verb: 'update', key, value, expected: there.revision } : { verb: 'create', key, value };
    });
    const committed = await store.batch(writes);
    if (round === 0) first = committed.at(-1)?.revision ?? 0;
  }
  return first;
};
