import assert from 'node:assert/strict';
import { isStoreError, type StoreRecord } from '../store.ts';
import { bytes, farBeyond, type Guarantee, inKeyOrder, rejected, text, written } from './subject.ts';
import { assertSameBytes, assertSameRecord, assertSameRecords } from './validators.ts';

/** Single records: the effect of each write, its preconditions and errors. */
export const recordGuarantees = (guarantee: Guarantee): void => {
  guarantee('a store without keys answers, at a revision that is not 0', async ({ store }) => {
    assert.ok((await store.head()) >= 1);
    assert.equal(await store.get('/absent'), undefined);
    const page = await store.list('');
    assert.deepEqual(page.records, []);
    assert.equal(page.remaining, 0);
    assert.ok(page.revision >= 1);
  });

  guarantee('create, update and delete have their effect', async ({ store }) => {
    const created = await store.create('/a', bytes('one'));
    assertSameRecord(await store.get('/a'), { key: '/a', value: bytes('one'), revision: created.revision });
    const updated = await store.update('/a', bytes('two'), created.revision);
    assertSameRecord(await store.get('/a'), { key: '/a', value: bytes('two'), revision: updated.revision });
    const removed = await store.delete('/a', updated.revision);
    assert.equal(await store.get('/a'), undefined);
    const again = await store.create('/a', bytes('three'));
    assertSameRecord(await store.get('/a'), { key: '/a', value: bytes('three'), revision: again.revision });
    const revisions = [created, updated, removed, again].map(({ revision }) => revision);
    assert.deepEqual(
      revisions,
      [...new Set(revisions)].sort((a, b) => a - b),
    );
  });

  guarantee('create refuses an existing key', async ({ store }) => {
    const first = await written(store, '/a', 'one');
    const error = await rejected(store.create('/a', bytes('two')), 'exists');
    assert.equal(error.key, '/a');
    assertSameRecord(await store.get('/a'), first);
  });

  guarantee('update and delete refuse a revision other than the expected one', async ({ store }) => {
    const first = await written(store, '/a', 'one');
    const second = await store.update('/a', bytes('two'), first.revision);
    const attempts = [() => store.update('/a', bytes('x'), first.revision), () => store.delete('/a', first.revision)];
    for (const attempt of attempts) {
      const error = await rejected(attempt(), 'conflict');
      assert.equal(error.key, '/a');
      assert.equal(error.revision, second.revision);
    }
    await rejected(store.update('/a', bytes('x'), second.revision + 1), 'conflict');
    assert.equal(text((await store.get('/a'))?.value), 'two');
  });

  guarantee('update and delete refuse a key that does not exist', async ({ store }) => {
    const head = await store.head();
    await rejected(store.update('/a', bytes('x'), head), 'notFound');
    await rejected(store.delete('/a', head), 'notFound');
    const first = await written(store, '/a', 'one');
    await store.delete('/a', first.revision);
    await rejected(store.update('/a', bytes('x'), first.revision), 'notFound');
    await rejected(store.delete('/a', first.revision), 'notFound');
    assert.equal(await store.get('/a'), undefined);
  });

  guarantee('a write of the current bytes is a write', async ({ store }) => {
    const first = await written(store, '/a', 'same');
    const second = await store.update('/a', bytes('same'), first.revision);
    assert.ok(second.revision > first.revision);
    assert.equal((await store.get('/a'))?.revision, second.revision);
  });

  guarantee('values are bytes of any content and length', async ({ store }) => {
    const values = {
      '/every-byte': Uint8Array.from({ length: 256 }, (_, index) => index),
      '/empty': new Uint8Array(0),
      '/zeros': new Uint8Array(1_000),
      '/large': Uint8Array.from({ length: 1024 * 1024 }, (_, index) => (index * 31) % 251),
      '/view': new Uint8Array(bytes('..inside..').buffer, 2, 6),
      '/buffer': Buffer.from('from the pool'),
    };
    const revisions = new Map<string, number>();
    for (const [key, value] of Object.entries(values)) {
      revisions.set(key, (await store.create(key, value)).revision);
    }
    const page = await store.list('/');
    assert.equal(page.records.length, Object.keys(values).length);
    for (const [key, value] of Object.entries(values)) {
      assertSameBytes((await store.get(key))?.value ?? assert.fail(key), value);
      const listed = page.records.find((record) => record.key === key);
      assertSameRecord(listed, { key, value, revision: revisions.get(key) ?? 0 });
    }
  });

  guarantee('an exact read shows the past', async ({ store }) => {
    const before = await store.head();
    const first = await written(store, '/a', 'one');
    const second = await store.update('/a', bytes('two'), first.revision);
    const other = await written(store, '/b', 'other');
    const removed = await store.delete('/a', second.revision);
    const again = await store.create('/a', bytes('three'));
    const states: readonly (readonly [number, string | undefined])[] = [
      [before, undefined],
      [first.revision, 'one'],
      [second.revision, 'two'],
      [other.revision, 'two'],
      [removed.revision, undefined],
      [again.revision, 'three'],
    ];
    for (const [at, expected] of states) {
      assert.equal(text((await store.get('/a', at))?.value), expected, `at ${at}`);
      const page = await store.list('/a', { at });
      assert.equal(page.revision, at);
      assert.equal(text(page.records[0]?.value), expected, `list at ${at}`);
    }
  });

  guarantee('an exact read beyond the head is refused', async ({ store }) => {
    await written(store, '/a', 'one');
    const future = await farBeyond(store);
    await rejected(store.get('/a', future), 'futureRevision');
    await rejected(store.list('/', { at: future }), 'futureRevision');
    await rejected(store.compact(future), 'futureRevision');
    assert.equal(text((await store.get('/a'))?.value), 'one');
  });
};

/** Lists: order, prefixes, paging. */
export const listGuarantees = (guarantee: Guarantee): void => {
  guarantee('keys sort by their UTF-8 bytes', async ({ store }) => {
    const keys = [
      '/k/😀',
      '/k/\uFFFD',
      '/k/é',
      '/k/z',
      '/k/Z',
      '/k/',
      '/k/a/b',
      '/k/a-b',
      '/k/a',
      '/k/\u{10FFFF}',
      '/k/aa',
    ];
    for (const key of keys) await store.create(key, bytes(key));
    const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const page = await store.list('/k/');
    assert.deepEqual(
      page.records.map(({ key }) => key),
      sorted,
    );
    for (const [index, key] of sorted.entries()) {
      const rest = await store.list('/k/', { after: key });
      assert.deepEqual(
        rest.records.map((record) => record.key),
        sorted.slice(index + 1),
      );
    }
  });

  guarantee('a prefix selects the keys that start with it, and no others', async ({ store }) => {
    const keys = [
      '/a',
      '/a/',
      '/a/1',
      '/a/1/x',
      '/a0',
      '/b',
      '/é',
      '/é/1',
      '/ê',
      '/😀',
      '/😀/1',
      '/😁',
      '/\u{10FFFF}',
      '/\u{10FFFF}x',
    ];
    for (const key of keys) await store.create(key, bytes(key));
    for (const prefix of ['', '/', '/a', '/a/', '/a/1', '/é', '/😀', '/\u{10FFFF}', '/none', 'x']) {
      const expected = keys.filter((key) => key.startsWith(prefix));
      const page = await store.list(prefix);
      assert.deepEqual(new Set(page.records.map(({ key }) => key)), new Set(expected), `prefix ${prefix}`);
      assert.equal(page.records.length, expected.length);
      assert.equal(page.remaining, 0);
    }
  });

  guarantee('long keys are kept whole', async ({ store }) => {
    const long = `/${'n'.repeat(2_000)}`;
    const first = await written(store, `${long}1`, 'one');
    const second = await written(store, `${long}2`, 'two');
    assertSameRecord(await store.get(first.key), first);
    assertSameRecords((await store.list(long)).records, [first, second]);
    assert.equal(await store.get(long), undefined);
  });

  guarantee('pages follow each other, and count what remains', async ({ store }) => {
    const all: StoreRecord[] = [];
    for (let index = 10; index < 35; index++) all.push(await written(store, `/page/${index}`, `value ${index}`));
    await written(store, '/pagf', 'outside');
    for (const limit of [1, 7, 24, 25, 26]) {
      const seen: StoreRecord[] = [];
      let page = await store.list('/page/', { limit });
      for (;;) {
        assert.ok(page.records.length <= limit);
        seen.push(...page.records);
        assert.equal(page.remaining, all.length - seen.length, `limit ${limit}`);
        if (page.remaining === 0) break;
        page = await store.list('/page/', { limit, at: page.revision, after: seen.at(-1)?.key ?? '' });
      }
      assertSameRecords(seen, all);
    }
  });

  guarantee('pages follow each other when only asked whether there are more', async ({ store }) => {
    const all: StoreRecord[] = [];
    for (let index = 10; index < 35; index++) all.push(await written(store, `/page/${index}`, `value ${index}`));
    await written(store, '/pagf', 'outside');
    const gone = await written(store, '/page/99', 'deleted');
    await store.delete(gone.key, gone.revision);
    for (const limit of [1, 7, 24, 25, 26]) {
      const seen: StoreRecord[] = [];
      let page = await store.list('/page/', { limit, remaining: 'whether' });
      for (;;) {
        seen.push(...page.records);
        const following = all.length - seen.length;
        assert.equal(page.remaining > 0, following > 0, `limit ${limit}`);
        assert.ok(page.remaining <= following, `limit ${limit}`);
        if (page.remaining === 0) break;
        const after = seen.at(-1)?.key ?? '';
        page = await store.list('/page/', { limit, at: page.revision, after, remaining: 'whether' });
      }
      assertSameRecords(seen, all);
    }
  });

  guarantee('who asks for room has the same records, and the room where it is said to be', async ({ store }) => {
    const all: StoreRecord[] = [];
    for (let index = 10; index < 35; index++) {
      const value = index % 7 === 0 ? 'x'.repeat(100_000) : `value ${index}`;
      all.push(await written(store, `/page/${index}`, value));
    }
    for (const limit of [10, 100]) {
      const { records } = await store.list('/page/', { limit, room: 30 });
      assertSameRecords(records, all.slice(0, limit));
      for (const { value, revision, room } of records) {
        if (!room) continue;
        assert.equal(room.end - room.start, 30 + String(revision).length);
        assert.equal(room.memory.buffer, value.buffer);
        assert.equal(room.memory.byteOffset + room.end, value.byteOffset);
        // Nothing else lies there.
        room.memory.fill(0, room.start, room.end);
      }
      assertSameRecords(records, all.slice(0, limit));
    }
    assertSameRecords((await store.list('/page/')).records, all);
  });

  guarantee('a page of no records says what remains', async ({ store }) => {
    for (const name of ['b', 'd', 'f']) await written(store, `/p/${name}`, name);
    for (const [after, expected] of Object.entries({ '': 3, '/p/b': 2, '/p/c': 2, '/p/f': 0, '/z': 0 })) {
      for (const how of [{}, { remaining: 'exact' }] as const) {
        const page = await store.list('/p/', { after, limit: 0, ...how });
        assert.deepEqual(page.records, []);
        assert.equal(page.remaining, expected, `after ${after}`);
      }
      const asked = await store.list('/p/', { after, limit: 0, remaining: 'whether' });
      assert.equal(asked.remaining > 0, expected > 0, `after ${after}`);
    }
  });

  guarantee('a page may start after any key', async ({ store }) => {
    const all: StoreRecord[] = [];
    for (const name of ['b', 'd', 'f']) all.push(await written(store, `/p/${name}`, name));
    const [b, d, f] = all.map(({ key }) => key.slice(3));
    const cases: Readonly<Record<string, readonly (string | undefined)[]>> = {
      '/p/c': [d, f],
      '/p/d': [f],
      '/p/dd': [f],
      '/p/f': [],
      '/p/zzz': [],
      '/p/': [b, d, f],
      '/a': [b, d, f],
      '/z': [],
      '': [b, d, f],
    };
    for (const [after, expected] of Object.entries(cases)) {
      const page = await store.list('/p/', { after });
      assert.deepEqual(
        page.records.map(({ key }) => key.slice(3)),
        expected,
        `after ${after}`,
      );
      const first = await store.list('/p/', { after, limit: 1 });
      assert.equal(first.records.length, Math.min(1, expected.length));
      assert.equal(first.remaining, Math.max(0, expected.length - 1));
    }
  });

  guarantee('pages at one revision show one state while writers go on', async ({ store }) => {
    const all: StoreRecord[] = [];
    for (let index = 10; index < 30; index++) all.push(await written(store, `/page/${index}`, `value ${index}`));
    const first = await store.list('/page/', { limit: 5 });
    const seen = [...first.records];
    for (let round = 0; seen.length < all.length; round++) {
      for (const record of all.slice(round * 2, round * 2 + 2)) await store.delete(record.key, record.revision);
      const updated = all.at(-1 - round);
      if (updated) await store.update(updated.key, bytes(`changed ${round}`), updated.revision);
      await store.create(`/page/${30 + round}`, bytes('new'));
      const page = await store.list('/page/', { limit: 5, at: first.revision, after: seen.at(-1)?.key ?? '' });
      assert.equal(page.revision, first.revision);
      seen.push(...page.records);
      assert.equal(page.remaining, all.length - seen.length);
    }
    assertSameRecords(seen, all);
  });

  guarantee('many records come in one list', async ({ store }) => {
    const value = 'v'.repeat(1_000);
    const names = Array.from({ length: 2_500 }, (_, index) => `/many/${String(index).padStart(5, '0')}`);
    const records: StoreRecord[] = [];
    while (records.length < names.length) {
      const some = names.slice(records.length, records.length + 500);
      records.push(...(await Promise.all(some.map((key) => written(store, key, value)))));
    }
    assert.equal(new Set(records.map(({ revision }) => revision)).size, records.length);
    const page = await store.list('/many/');
    assertSameRecords(page.records, inKeyOrder(records));
    const part = await store.list('/many/', { limit: 1_700 });
    assert.equal(part.records.length, 1_700);
    assert.equal(part.remaining, 800);
  });
};

/**
 * Strict serializability: concurrent calls behave as if executed one at a time, in an order consistent with real time.
 */
export const serializabilityGuarantees = (guarantee: Guarantee): void => {
  guarantee('of writers that race to create a key, exactly one wins', async ({ store }) => {
    const attempts = Array.from({ length: 20 }, (_, index) => store.create('/race', bytes(`writer ${index}`)));
    const outcomes = await Promise.allSettled(attempts);
    const winners = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [index] : []));
    assert.equal(winners.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(isStoreError(outcome.reason, 'exists'), String(outcome.reason));
    }
    assert.equal(text((await store.get('/race'))?.value), `writer ${winners[0]}`);
  });

  guarantee('of writers that race to replace or delete a record, exactly one wins', async ({ store }) => {
    let record = await written(store, '/race', 'start');
    for (let round = 0; round < 5; round++) {
      const attempts = Array.from({ length: 12 }, (_, index) =>
        store.update('/race', bytes(`writer ${index}`), record.revision),
      );
      const outcomes = await Promise.allSettled([...attempts, store.delete('/race', record.revision)]);
      const winners = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      assert.equal(winners.length, 1);
      const revision = winners[0]?.value.revision;
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') continue;
        if (isStoreError(outcome.reason, 'conflict')) assert.equal(outcome.reason.revision, revision);
        else assert.ok(isStoreError(outcome.reason, 'notFound'), String(outcome.reason));
      }
      record = (await store.get('/race')) ?? (await written(store, '/race', 'start'));
    }
  });

  guarantee('no update is lost', async ({ store }) => {
    await store.create('/counter', bytes('0'));
    const revisions: number[] = [];
    const add = async () => {
      for (;;) {
        const record = (await store.get('/counter')) ?? assert.fail('the counter is gone');
        const next = bytes(String(Number(text(record.value)) + 1));
        try {
          revisions.push((await store.update('/counter', next, record.revision)).revision);
          return;
        } catch (error) {
          if (!isStoreError(error, 'conflict')) throw error;
        }
      }
    };
    const adder = async () => {
      for (let round = 0; round < 8; round++) await add();
    };
    await Promise.all(Array.from({ length: 6 }, adder));
    assert.equal(text((await store.get('/counter'))?.value), '48');
    assert.equal(new Set(revisions).size, 48);
  });

  guarantee('a read sees every write that was acknowledged before it began', async ({ store }) => {
    let record = await written(store, '/clock', '0');
    let writing = true;
    const check = async () => {
      while (writing) {
        const acknowledged = record.revision;
        const [head, got, page] = await Promise.all([store.head(), store.get('/clock'), store.list('/clock')]);
        assert.ok(head >= acknowledged, `head ${head} after ${acknowledged} was acknowledged`);
        assert.ok((got?.revision ?? 0) >= acknowledged);
        assert.ok((page.records[0]?.revision ?? 0) >= acknowledged);
        assert.ok(page.revision >= (page.records[0]?.revision ?? 0));
      }
    };
    const write = async () => {
      for (let tick = 1; tick <= 150; tick++) {
        const value = bytes(String(tick));
        record = { key: '/clock', value, revision: (await store.update('/clock', value, record.revision)).revision };
      }
      writing = false;
    };
    await Promise.all([write(), check(), check()]);
  });

  guarantee('a list during writes is the state at its revision', async ({ store }) => {
    let writing = true;
    const write = async (name: string) => {
      for (let round = 0; round < 30; round++) {
        const { revision } = await store.create(`/set/${name}`, bytes(String(round)));
        await store.delete(`/set/${name}`, revision);
      }
    };
    const check = async () => {
      while (writing) {
        const page = await store.list('/set/');
        const exact = await store.list('/set/', { at: page.revision });
        assertSameRecords(exact.records, page.records);
      }
    };
    const writers = Promise.all(['a', 'b', 'c', 'd'].map(write)).finally(() => {
      writing = false;
    });
    await Promise.all([writers, check()]);
  });

  guarantee('values are stored as passed, in the order of the calls', async ({ store }) => {
    const first = await written(store, '/order', '0');
    const outcomes = await Promise.allSettled([
      store.update('/order', bytes('1'), first.revision),
      store.create('/order/2', bytes('2')),
      store.create('/order/3', bytes('3')),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled'],
    );
    assert.deepEqual(
      (await store.list('/order')).records.map(({ value }) => text(value)),
      ['1', '2', '3'],
    );
  });
};
