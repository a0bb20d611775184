import assert from 'node:assert/strict';
import { chmodSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { bytes, rejected, text } from '../../conformance/subject.ts';
import { type Place, placeFor } from './sqlite-fixture.ts';

const fill = async ({ open }: Place, count: number): Promise<void> => {
  const store = await open();
  await Promise.all(
    Array.from({ length: count }, (_, index) => store.create(`/fill/${index}`, bytes('v'.repeat(900)))),
  );
  await store.close();
};

/** Asserts that opening fails with that code and message, and leaves every file unchanged. */
const refuses = async (place: Place, code: 'corrupt' | 'unavailable', message: RegExp): Promise<void> => {
  const before = place.contents();
  const error = await rejected(place.open(), code);
  assert.match(error.message, message);
  assert.ok(error.message.includes(place.file), error.message);
  assert.deepEqual(place.contents(), before);
};

const withDatabase = (file: string, sql: string): void => {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
};

test('the file is readable by its owner only, and alone after closing', async (context) => {
  const place = placeFor(context);
  const store = await place.open();
  await store.create('/a', bytes('x'));
  for (const name of Object.keys(place.contents())) {
    assert.equal(statSync(`${place.folder}/${name}`).mode & 0o777, 0o600, name);
  }
  await store.close();
  assert.deepEqual(Object.keys(place.contents()), ['data.db', 'data.db-identity']);
  chmodSync(place.file, 0o644);
  const again = await place.open();
  for (const name of Object.keys(place.contents())) {
    assert.equal(statSync(`${place.folder}/${name}`).mode & 0o777, 0o600, name);
  }
  await again.close();
});

test('an empty file becomes a store', async (context) => {
  const place = placeFor(context);
  writeFileSync(place.file, '');
  const store = await place.open();
  await store.create('/a', bytes('x'));
  await store.close();
  assert.equal(text((await (await place.open()).get('/a'))?.value), 'x');
});

test('a file that is no database is refused', async (context) => {
  for (const garbage of ['short', 'long and not a database '.repeat(1_000), '\0'.repeat(8_192), 'SQLite format 3\0']) {
    const place = placeFor(context);
    writeFileSync(place.file, garbage);
    await refuses(place, 'corrupt', /damaged data/);
  }
});

test('a file that was cut off is refused', async (context) => {
  for (const share of [0.002, 0.5, 0.99]) {
    const place = placeFor(context);
    await fill(place, 100);
    truncateSync(place.file, Math.floor(statSync(place.file).size * share));
    await refuses(place, 'corrupt', /damaged data/);
  }
});

test('a file of a newer layout is refused', async (context) => {
  const place = placeFor(context);
  await fill(place, 3);
  withDatabase(place.file, 'PRAGMA user_version = 2');
  await refuses(place, 'unavailable', /layout version 2, this program knows 1: it was written by a newer one/);
});

test('a database of another program is refused', async (context) => {
  const place = placeFor(context);
  withDatabase(place.file, 'CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)');
  chmodSync(place.file, 0o644);
  await refuses(place, 'unavailable', /another program/);
  assert.equal(statSync(place.file).mode & 0o777, 0o644);
});

test('a file that lost a table is refused', async (context) => {
  const place = placeFor(context);
  await fill(place, 3);
  withDatabase(place.file, 'DROP TABLE meta');
  await refuses(place, 'corrupt', /lacks parts/);
});

test('a missing folder is named', async (context) => {
  const { folder, open } = placeFor(context);
  const error = await rejected(open({ file: `${folder}/none/data.db` }), 'unavailable');
  assert.match(error.message, /the folder of .*none\/data\.db does not exist/);
});

test('a folder in the place of the file is named', async (context) => {
  const { folder, open } = placeFor(context);
  chmodSync(folder, 0o755);
  const error = await rejected(open({ file: folder }), 'unavailable');
  assert.equal(error.message, `${folder} is not a file`);
  assert.equal(statSync(folder).mode & 0o777, 0o755);
});

test('damage found later is reported, and ends writing to the file', async (context) => {
  const place = placeFor(context);
  await fill(place, 300);
  const content = readFileSync(place.file);
  // Pages of the log between the first and the last, which opening does not read.
  content.fill(0x5a, 8 * 8_192, 20 * 8_192);
  writeFileSync(place.file, content);
  const store = await place.open();
  await rejected(store.list('/'), 'corrupt');
  await rejected(store.create('/new', bytes('x')), 'corrupt');
  assert.ok(await store.get('/fill/0'), 'what is not damaged can be read');
  await store.close();
  const damaged = (file: Buffer) => file.subarray(8 * 8_192, 20 * 8_192);
  assert.deepEqual(damaged(readFileSync(place.file)), damaged(content));
  const found = Buffer.from('/new');
  assert.equal(readFileSync(place.file).includes(found), false);
});
