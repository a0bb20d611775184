import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { bytes, rejected } from '../../conformance/subject.ts';
import { backupSqlite } from './backup.ts';
import { lockDataFile } from './owner-lock.ts';
import { inChild, placeFor } from './sqlite-fixture.ts';

const owner = (file: string) => `
  const store = await sqlite.openSqliteStore({ file: ${JSON.stringify(file)} });
  await store.create('/from-child', new Uint8Array(1));
  console.log('open');
  process.stdin.on('end', () => store.close()).resume();
`;

/** What another process that opens the file comes to. */
const outcomeInChild = (context: TestContext, file: string): Promise<string | undefined> =>
  inChild(
    context,
    `const options = { file: ${JSON.stringify(file)} };
     console.log(await sqlite.openSqliteStore(options).then(() => 'opened', (error) => error.code)); process.exit()`,
  ).line();

test('a second process is told who owns the file, and can have it afterwards', async (context) => {
  const { file, open } = placeFor(context);
  const child = inChild(context, owner(file));
  assert.equal(await child.line(), 'open');
  const error = await rejected(open(), 'unavailable');
  assert.match(error.message, new RegExp(`${file} is in use by process ${child.process.pid}: stop it first$`));
  child.process.stdin?.end();
  assert.equal(await child.line(), undefined);
  const store = await open();
  assert.ok(await store.get('/from-child'));
});

test('an owner that was killed holds nothing up, and what it was told is durable is there', async (context) => {
  const { file, open } = placeFor(context);
  const child = inChild(context, owner(file));
  assert.equal(await child.line(), 'open');
  await child.kill();
  assert.ok(existsSync(`${file}-lock`) && existsSync(`${file}-pid`), 'the dead owner left its files');
  const store = await open();
  assert.ok(await store.get('/from-child'));
  const error = await rejected(open(), 'unavailable');
  assert.match(error.message, new RegExp(`process ${process.pid}: stop it first$`));
});

test('the same process cannot open a file twice, and loses nothing by trying', async (context) => {
  const { file, open } = placeFor(context);
  const store = await open();
  await rejected(open(), 'unavailable');
  await rejected(open(), 'unavailable');
  await store.create('/a', bytes('x'));
  // POSIX locks end when their process closes any descriptor of the file: another process notices, this one does not.
  assert.equal(await outcomeInChild(context, file), 'unavailable');
});

test('a backup by the owner itself leaves its locks alone', async (context) => {
  const { file, folder, open } = placeFor(context);
  const first = await open();
  await first.create('/a', bytes('x'));
  await first.close();
  await open();
  await backupSqlite({ file, to: `${folder}/copy.db` });
  // Using a write-ahead log without shared memory needs the whole file for oneself.
  const child = inChild(
    context,
    `import { DatabaseSync } from 'node:sqlite';
     const database = new DatabaseSync(${JSON.stringify(file)}, { timeout: 0 });
     try { database.exec('PRAGMA locking_mode = EXCLUSIVE; SELECT * FROM meta'); console.log('alone'); } catch (error) { console.log(error.message); }`,
  );
  assert.equal(await child.line(), 'database is locked');
  assert.equal(await outcomeInChild(context, file), 'unavailable');
});

test('a pid file alone, even of a process that lives, is no lock', async (context) => {
  const { file, open } = placeFor(context);
  writeFileSync(`${file}-pid`, String(process.ppid));
  await open();
});

test('a lock leaves no files, and may be closed twice', async (context) => {
  const { file, contents } = placeFor(context);
  const lock = lockDataFile(file);
  assert.throws(() => lockDataFile(file), { code: 'unavailable' });
  lock.close();
  lock.close();
  assert.deepEqual(contents(), {});
  lockDataFile(file).close();
});
