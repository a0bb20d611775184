import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { bytes, text } from '../../conformance/subject.ts';
import type { Revision, Store } from '../../store.ts';
import { placeFor } from './sqlite-fixture.ts';

const names = Array.from({ length: 40 }, (_, index) => `/hot/${index + 10}`);

/** Leaves one current record and `rounds` superseded ones per name. */
const rewrite = async (store: Store, rounds: number): Promise<Revision> => {
  const value = bytes('v'.repeat(4_000));
  const revisions = await Promise.all(names.map(async (key) => (await store.create(key, value)).revision));
  for (let round = 0; round < rounds; round++) {
    await Promise.all(
      names.map(async (key, index) => {
        revisions[index] = (await store.update(key, value, revisions[index] ?? 0)).revision;
      }),
    );
  }
  return Math.max(...revisions);
};

test('compaction gives space back to the file system', async (context) => {
  const { file, open } = placeFor(context);
  const store = await open();
  const head = await rewrite(store, 80);
  await store.close();
  const before = statSync(file).size;
  assert.ok(before > 10_000_000);
  const reopened = await open();
  await reopened.compact(head);
  await reopened.close();
  assert.ok(statSync(file).size < before / 4, `${before} became ${statSync(file).size}`);
  const again = await open();
  assert.equal((await again.list('/')).records.length, names.length);
});

test('writers and readers go on during compaction', async (context) => {
  const { open } = placeFor(context);
  const store = await open();
  const head = await rewrite(store, 50);
  let compacting = true;
  const compacted = store.compact(head).finally(() => {
    compacting = false;
  });
  let writes = 0;
  while (compacting) {
    await store.create(`/beside/${writes++}`, bytes('x'));
    assert.equal((await store.list('/hot/')).records.length, names.length);
  }
  await compacted;
  assert.ok(writes > 2, `only ${writes} writes came through`);
});

test('a list under way keeps the rows it needs from compaction', async (context) => {
  const { open } = placeFor(context);
  const store = await open();
  const large = bytes('v'.repeat(200_000));
  for (let index = 10; index < 30; index++) await store.create(`/large/${index}`, large);
  const at = await store.head();
  const listing = store.list('/large/', { at });
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const key = `/large/${index + 10}`;
      return store.update(key, bytes('small'), (await store.get(key))?.revision ?? 0);
    }),
  );
  await store.compact(await store.head());
  const { records } = await listing;
  assert.equal(records.length, 20);
  for (const { value } of records) assert.equal(value.length, large.length);
  await assert.rejects(store.list('/large/', { at }), { code: 'compacted' });
});

test('compaction that was interrupted by closing is finished by the next', async (context) => {
  const { file, open } = placeFor(context);
  const store = await open();
  const head = await rewrite(store, 80);
  const interrupted = store.compact(head);
  await store.close();
  await Promise.allSettled([interrupted]);
  const before = statSync(file).size;
  const reopened = await open();
  const { revision } = await reopened.create('/next', bytes('x'));
  await reopened.compact(revision);
  assert.equal((await reopened.list('/hot/')).records.length, names.length);
  assert.equal(text((await reopened.get('/next'))?.value), 'x');
  await reopened.close();
  assert.ok(statSync(file).size < before / 4, `${before} became ${statSync(file).size}`);
});
