import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { bytes, rejected, text } from '../../conformance/subject.ts';
import { assertSameRecords } from '../../conformance/validators.ts';
import { readChanges } from '../../conformance/watch-changes.ts';
import type { Store } from '../../store.ts';
import { backupSqlite } from './backup.ts';
import { revisionAfterCopy } from './file-identity.ts';
import { restoreSqlite } from './restore.ts';
import { inChild, type Place, placeFor } from './sqlite-fixture.ts';

const fill = (store: Store, prefix: string, count: number): Promise<unknown> =>
  Promise.all(Array.from({ length: count }, (_, index) => store.create(`${prefix}${index}`, bytes('v'.repeat(1_000)))));

const openCopy = ({ open }: Place, file: string): Promise<Store> => open({ file });

test('another process copies the file while its owner writes', async (context) => {
  const place = placeFor(context);
  const to = join(place.folder, 'copy.db');
  const store = await place.open();
  await fill(store, '/before/', 500);
  const acknowledged = await store.head();
  const paths = JSON.stringify({ file: place.file, to });
  const child = inChild(context, `console.log(JSON.stringify(await sqlite.backupSqlite(${paths})))`);
  let copied: string | undefined;
  const copying = child.line().then((line) => {
    copied = line ?? 'nothing';
  });
  let round = 0;
  while (copied === undefined) await fill(store, `/during/${round++}/`, 20);
  await copying;

  const { revision } = JSON.parse(copied) as { readonly revision: number };
  assert.ok(revision >= acknowledged);
  assert.equal(statSync(to).mode & 0o777, 0o600);
  const copy = await openCopy(place, to);
  assert.ok((await copy.head()) > revision);
  assertSameRecords((await copy.list('')).records, (await store.list('', { at: revision })).records);
});

test('a backup needs no running owner, and leaves the file as it was', async (context) => {
  const place = placeFor(context);
  const store = await place.open();
  await fill(store, '/a/', 10);
  await store.close();
  const before = place.contents();
  const to = join(place.folder, 'copy.db');
  const phases: string[] = [];
  const { bytes: size } = await backupSqlite({
    file: place.file,
    to,
    progress: ({ phase, done, total }) => phases.push(`${phase} ${done === total}`),
  });
  assert.deepEqual(phases.slice(-2), ['copy true', 'check true']);
  const { 'copy.db': copy, ...others } = place.contents();
  assert.deepEqual(others, before);
  assert.equal(statSync(to).size, size);
  assert.ok(copy);
});

test('a backup overwrites nothing', async (context) => {
  const place = placeFor(context);
  await fill(await place.open(), '/a/', 3);
  const to = join(place.folder, 'copy.db');
  for (const taken of [to, `${to}-wal`]) {
    writeFileSync(taken, 'precious');
    const error = await rejected(backupSqlite({ file: place.file, to }), 'unavailable');
    assert.match(error.message, new RegExp(`^${taken} exists already`));
    assert.equal(readFileSync(taken, 'utf8'), 'precious');
    rmSync(taken);
  }
});

test('a backup of what is absent, damaged or not ours fails and leaves nothing', async (context) => {
  const place = placeFor(context);
  const to = join(place.folder, 'copy.db');
  await rejected(backupSqlite({ file: place.file, to }), 'unavailable');
  assert.deepEqual(place.contents(), {});
  writeFileSync(place.file, 'garbage '.repeat(5_000));
  const before = place.contents();
  await rejected(backupSqlite({ file: place.file, to }), 'corrupt');
  await rejected(restoreSqlite({ from: place.file, to }), 'corrupt');
  assert.deepEqual(place.contents(), before);
  await rejected(backupSqlite({ file: place.file, to: join(place.folder, 'none', 'copy.db') }), 'unavailable');
});

test('a backup of a file with damaged pages fails', async (context) => {
  const place = placeFor(context);
  const store = await place.open();
  await fill(store, '/a/', 300);
  await store.close();
  const content = readFileSync(place.file);
  content.fill(0x5a, 10 * 8_192, 12 * 8_192);
  writeFileSync(place.file, content);
  const to = join(place.folder, 'copy.db');
  const error = await rejected(backupSqlite({ file: place.file, to }), 'corrupt');
  assert.ok(error.message.includes(place.file), error.message);
  assert.deepEqual(Object.keys(place.contents()), ['data.db', 'data.db-identity']);
});

test('a restored store continues above what clients have seen, and makes them relist', async (context) => {
  const place = placeFor(context);
  const backup = join(place.folder, 'backup.db');
  const store = await place.open();
  const kept = await store.create('/kept', bytes('kept'));
  const changed = await store.create('/changed', bytes('old'));
  await backupSqlite({ file: place.file, to: backup });
  await store.update('/changed', bytes('new'), changed.revision);
  await fill(store, '/lost/', 20);
  const seen = await store.head();
  await store.close();

  const to = join(place.folder, 'restored.db');
  const { revision } = await restoreSqlite({ from: backup, to });
  assert.ok(revision > seen + limits.copyRevisionStep - 100);
  assert.equal(statSync(to).mode & 0o777, 0o600);
  const restored = await openCopy(place, to);
  assert.equal(await restored.head(), revision);
  for (const past of [kept.revision, changed.revision, seen]) {
    await rejected(restored.list('/', { at: past }), 'compacted');
    await rejected(readChanges(restored, past, seen + 1), 'compacted');
  }
  assert.deepEqual(
    (await restored.list('/', { at: revision })).records.map((record) => [
      record.key,
      text(record.value),
      record.revision,
    ]),
    [
      ['/changed', 'old', changed.revision],
      ['/kept', 'kept', kept.revision],
    ],
  );
  const next = await restored.update('/kept', bytes('changed'), kept.revision);
  assert.ok(next.revision > revision);
  const [change] = await readChanges(restored, revision, next.revision);
  assert.ok(change?.type === 'update' && text(change.previous.value) === 'kept');
  await restored.compact(next.revision);
  assert.equal((await restored.list('/')).records.length, 2);
});

test('restoring overwrites nothing, and needs a target that nobody owns', async (context) => {
  const place = placeFor(context);
  const backup = join(place.folder, 'backup.db');
  const store = await place.open();
  await backupSqlite({ file: place.file, to: backup });
  const inUse = await rejected(restoreSqlite({ from: backup, to: place.file }), 'unavailable');
  assert.match(inUse.message, new RegExp(`in use by process ${process.pid}`));
  await store.close();
  const before = place.contents();
  const taken = await rejected(restoreSqlite({ from: backup, to: place.file }), 'unavailable');
  assert.match(taken.message, /exists already/);
  assert.deepEqual(place.contents(), before);
});

test('revisions grow from copy to copy of one file', () => {
  const clock = new ManualClock();
  const first = revisionAfterCopy(1_000, clock.now());
  clock.advance(1);
  const second = revisionAfterCopy(1_000, clock.now());
  assert.equal(second - first, 1_000);
  assert.equal(revisionAfterCopy(second, 0), second + limits.copyRevisionStep);
  assert.throws(() => revisionAfterCopy(Number.MAX_SAFE_INTEGER - 5, clock.now()), { code: 'corrupt' });
});
