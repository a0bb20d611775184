import assert from 'node:assert/strict';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../base/time/clock.ts';
import { until } from '../../../base/waits-fixture.ts';
import { bytes, rejected } from '../../conformance/subject.ts';
import { type BatchWrite, isStoreError, type Store, type StoreErrorCode, type StoreRecord } from '../../store.ts';
import { smallDiskMissing } from './small-disk-fixture.ts';
import { inChild, type Place, placeFor } from './sqlite-fixture.ts';

/** A full disk: what can still be written, thanks to the reserve, and how room is regained. */

const mebibyte = 1024 * 1024;
const value = bytes('v'.repeat(20_000));
/** The system clock with every delay shortened. */
const hasty: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(Math.min(delayMs, 5), callback),
};

const openSmall = (place: Place, fileBytesMax = 2 * mebibyte): Promise<Store> =>
  place.open({ fileBytesMax, reserveBytes: mebibyte, clock: hasty });

/** Creates objects until the disk is full. Returns those created. */
async function fillUp(store: Store, prefix = '/fill'): Promise<readonly StoreRecord[]> {
  const records: StoreRecord[] = [];
  for (;;) {
    const key = `${prefix}/${records.length}`;
    try {
      records.push({ key, value, revision: (await store.create(key, value)).revision });
    } catch (error) {
      assert.ok(isStoreError(error, 'full'), String(error));
      return records;
    }
  }
}

async function outcomeOf(write: Promise<unknown>): Promise<StoreErrorCode | 'committed'> {
  try {
    await write;
    return 'committed';
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return error.code as StoreErrorCode;
  }
}

/** Retries a write until it succeeds: room is freed concurrently. */
async function taken(write: () => Promise<unknown>): Promise<void> {
  await until(async () => (await outcomeOf(write())) === 'committed', 'no room is made');
}

const larger = bytes('w'.repeat(20_001));
const equal = bytes('w'.repeat(20_000));
const smaller = bytes('w'.repeat(19_999));

const writes: readonly (readonly [
  what: string,
  write: (store: Store, record: StoreRecord) => Promise<unknown>,
  outcome: StoreErrorCode | 'committed',
])[] = [
  ['a create', (store) => store.create('/new', bytes('x')), 'full'],
  ['a create of a key that is there', (store, { key }) => store.create(key, value), 'exists'],
  ['an update that makes it larger', (store, { key, revision }) => store.update(key, larger, revision), 'full'],
  ['an update that leaves it as large', (store, { key, revision }) => store.update(key, equal, revision), 'full'],
  ['an update of a stale one', (store, { key, revision }) => store.update(key, larger, revision - 1), 'conflict'],
  ['an update that makes it smaller', (store, { key, revision }) => store.update(key, smaller, revision), 'committed'],
  [
    'a step of a deletion that makes it larger',
    (store, { key, revision }) => store.update(key, larger, revision, { deletion: true }),
    'committed',
  ],
  ['a deletion', (store, { key, revision }) => store.delete(key, revision), 'committed'],
  ['a deletion of a stale one', (store, { key, revision }) => store.delete(key, revision - 1), 'conflict'],
];

describe('a full disk', () => {
  for (const [what, write, outcome] of writes) {
    test(`${what}: ${outcome}`, async (context) => {
      const store = await openSmall(placeFor(context));
      const records = await fillUp(store);
      const record = records.at(-1);
      assert.ok(record && records.length > 10);
      assert.equal(await outcomeOf(write(store, record)), outcome);
    });
  }

  test('each write of a group is judged by itself', async (context) => {
    const store = await openSmall(placeFor(context));
    const records = await fillUp(store);
    const together = records.flatMap(({ key, revision }, index) => [
      outcomeOf(store.create(`/more/${index}`, value)),
      outcomeOf(store.delete(key, revision)),
    ]);
    const outcomes = await Promise.all(together);
    assert.deepEqual(
      outcomes.filter((_, index) => index % 2 === 1),
      records.map(() => 'committed'),
    );
    assert.ok(outcomes.filter((outcome) => outcome === 'full').length > 0);
    const { records: left } = await store.list('/fill/');
    assert.deepEqual(left, []);
  });

  test('a batch is done if each of its writes is, and otherwise not at all', async (context) => {
    const store = await openSmall(placeFor(context));
    const records = await fillUp(store);
    const deletions = records.map(({ key, revision }): BatchWrite => ({ verb: 'delete', key, expected: revision }));
    const creation: BatchWrite = { verb: 'create', key: '/new', value };
    const refused = await rejected(store.batch([...deletions, creation]), 'full');
    assert.equal(refused.key, '/new');
    assert.equal((await store.list('/')).records.length, records.length);
    await store.batch(deletions);
    assert.deepEqual((await store.list('/')).records, []);
    await taken(() => store.batch([creation]));
  });

  test('reads go on, history goes, and writes go on when enough was deleted, as often as it happens', async (context) => {
    const place = placeFor(context);
    const store = await openSmall(place);
    for (let round = 0; round < 3; round++) {
      const records = await fillUp(store, `/round-${round}`);
      assert.ok(records.length > 10);
      assert.equal((await store.list('/')).records.length, records.length);
      assert.equal(await store.head(), records.at(-1)?.revision);
      for (const { key, revision } of records) await store.delete(key, revision);
      await taken(async () => {
        const { revision } = await store.create('/again', value);
        await store.delete('/again', revision);
      });
    }
    await store.close();
    assert.ok(statSync(place.file).size <= 3 * mebibyte);
  });

  test('history gives way to what is current', async (context) => {
    const store = await openSmall(placeFor(context));
    let { revision } = await store.create('/hot', value);
    const first = revision;
    // Far more than would fit if history were kept.
    for (let index = 0; index < 500; index++) {
      await taken(async () => {
        ({ revision } = await store.update('/hot', index % 2 === 0 ? larger : value, revision));
      });
    }
    await rejected(store.get('/hot', first), 'compacted');
    assert.equal((await store.get('/hot'))?.revision, revision);
  });

  test('deletions go on after a restart', async (context) => {
    const place = placeFor(context);
    const store = await openSmall(place);
    const records = await fillUp(store);
    await store.close();
    const reopened = await openSmall(place);
    for (const { key, revision } of records) await reopened.delete(key, revision);
    await taken(() => reopened.create('/new', value));
  });

  test('an object that several steps delete is deleted', async (context) => {
    const store = await openSmall(placeFor(context));
    const record = (await fillUp(store)).at(-1);
    assert.ok(record);
    const marked = await store.update(record.key, larger, record.revision, { deletion: true });
    const released = await store.update(record.key, value, marked.revision);
    await store.delete(record.key, released.revision);
    assert.equal(await store.get(record.key), undefined);
  });
});

/** Code for child processes: with a disk of their own, and the shortened clock. */
const prelude = `
  import { statSync, writeFileSync, readFileSync, existsSync, rmSync, appendFileSync } from 'node:fs';
  const [file, ballast] = [process.env.DISK + '/data.db', process.env.DISK + '/ballast'];
  const reserve = file + '-reserve';
  const reserveBytes = 20 * 1024 * 1024;
  const value = Buffer.alloc(20_000, 'v');
  const clock = { now: () => Date.now(), monotonic: () => performance.now(), after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(ms, 5)); timer.unref(); return { close: () => clearTimeout(timer) }; } };
  const open = () => sqlite.openSqliteStore({ file, clock, reserveBytes });
  const until = async (holds) => { while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 1)); };
  const isReserved = () => existsSync(reserve) && statSync(reserve).size === reserveBytes;
  const outcome = (write) => write.then(() => 'committed', (error) => error.code);
  const fill = async (store) => {
    for (let index = 0; ; index++) {
      const result = await outcome(store.create('/fill/' + index, value));
      if (result !== 'committed') return result;
    }
  };
  /** Fills the disk like another program. */
  const fillDisk = () => { try { for (;;) appendFileSync(ballast, Buffer.alloc(65536, 1)); } catch (error) { return error.code; } };
  const report = (...parts) => console.log(parts.join(' '));
`;

const onSmallDisk = (context: TestContext, source: string) => {
  const { folder } = placeFor(context);
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const child = inChild(context, `process.env.DISK = ${JSON.stringify(disk)}; ${prelude} ${source}`, {
    disk: { folder: disk, kibibytes: 64 * 1024 },
  });
  return { child, disk };
};

describe('a small file system', { skip: smallDiskMissing }, () => {
  test('when full, takes deletions and smaller values, and reuses the space they free', async (context) => {
    const { child } = onSmallDisk(
      context,
      `const store = await open();
      await until(isReserved);
      report('filled', await fill(store));
      const { records } = await store.list('/fill/');
      report('smaller', await outcome(store.update(records[0].key, value.subarray(1), records[0].revision)));
      report('larger', await outcome(store.update(records[1].key, Buffer.alloc(20_001), records[1].revision)));
      const half = records.slice(2, records.length / 2);
      const results = await Promise.all(half.map(({ key, revision }) => outcome(store.delete(key, revision))));
      report('deleted', [...new Set(results)], half.length > 100);
      await until(async () => (await outcome(store.create('/new' + Math.random(), value))) === 'committed');
      await until(isReserved);
      report('again', await outcome(store.create('/more', value)));
      await store.close();`,
    );
    const lines: (string | undefined)[] = [];
    for (let index = 0; index < 5; index++) lines.push(await child.line());
    assert.deepEqual(lines, [
      'filled full',
      'smaller committed',
      'larger full',
      'deleted committed true',
      'again committed',
    ]);
  });

  test('filled by another program, also while the store was closed', async (context) => {
    const { child } = onSmallDisk(
      context,
      `let store = await open();
      for (let index = 0; index < 50; index++) await store.create('/a/' + index, value);
      await until(isReserved);
      await store.close();
      report('others', fillDisk());
      store = await open();
      report('create', await outcome(store.create('/new', value)));
      const { records } = await store.list('/a/');
      const results = [];
      for (const { key, revision } of records) results.push(await outcome(store.delete(key, revision)));
      report('deleted', [...new Set(results)], results.length);
      rmSync(ballast);
      await until(async () => (await outcome(store.create('/new', value))) === 'committed');
      await until(isReserved);
      report('done');
      await store.close();`,
    );
    const lines: (string | undefined)[] = [];
    for (let index = 0; index < 4; index++) lines.push(await child.line());
    assert.deepEqual(lines, ['others ENOSPC', 'create full', 'deleted committed 50', 'done']);
  });
});

describe('the reserve', () => {
  test('is set aside beside the file, for its owner alone, and stays over restarts', async (context) => {
    const place = placeFor(context);
    const file = `${place.file}-reserve`;
    const store = await place.open({ reserveBytes: 3 * mebibyte, clock: hasty });
    await until(() => statSync(file, { throwIfNoEntry: false })?.size === 3 * mebibyte);
    await store.close();
    const { ino, mode } = statSync(file);
    assert.equal(mode & 0o777, 0o600);
    const again = await place.open({ reserveBytes: 3 * mebibyte, clock: hasty });
    await again.create('/a', value);
    await again.close();
    assert.equal(statSync(file).ino, ino);
  });

  test('is not set aside while a start needs the disk', async (context) => {
    const place = placeFor(context);
    const store = await place.open();
    await store.create('/a', value);
    assert.equal(existsSync(`${place.file}-reserve`), false);
  });
});
