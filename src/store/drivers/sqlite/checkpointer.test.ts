import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Store } from '../../store.ts';
import { placeFor } from './sqlite-fixture.ts';

const mebibyte = 1024 * 1024;

/** Writes several at once, so that groups are larger than one. */
async function fill(store: Store, { count, bytes }: { readonly count: number; readonly bytes: number }): Promise<void> {
  const value = Buffer.alloc(bytes, 'v');
  for (let number = 0; number < count; number += 10) {
    await Promise.all(Array.from({ length: 10 }, (_, each) => store.create(`/${bytes}/${number + each}`, value)));
  }
}

for (const [what, count, bytes] of [
  ['small', 20_000, 100],
  ['large', 200, 500_000],
] as const) {
  test(`the write-ahead log is moved in time, and not at each write: ${what} values`, async (context) => {
    const { file, open } = placeFor(context);
    const store = await open();
    let [most, moves] = [0, 0];
    for (let part = 0; part < 20; part++) {
      const before = statSync(file).size;
      await fill(store, { count: count / 20, bytes: bytes + part });
      most = Math.max(most, statSync(`${file}-wal`).size);
      if (statSync(file).size > before) moves++;
    }
    assert.ok(moves >= 1 && moves < 20, `${moves}`);
    assert.ok(most > 14 * mebibyte && most < 24 * mebibyte, `${most}`);
  });
}

test('a backup that reads lets the log grow, and the data file is whole when it has ended', async (context) => {
  const { file, open } = placeFor(context);
  const store = await open();
  await fill(store, { count: 100, bytes: 1_000 });
  const backup = new DatabaseSync(file);
  backup.exec('BEGIN');
  assert.equal(backup.prepare('SELECT count(*) AS rows FROM log').get()?.['rows'], 100);
  await fill(store, { count: 60, bytes: 500_000 });
  assert.ok(statSync(`${file}-wal`).size > 28 * mebibyte);
  assert.equal(backup.prepare('SELECT count(*) AS rows FROM log').get()?.['rows'], 100);
  backup.close();
  await store.compact(await store.head());
  assert.ok(statSync(file).size > 28 * mebibyte);
  await store.close();
  assert.equal((await (await open()).list('/')).records.length, 160);
});
