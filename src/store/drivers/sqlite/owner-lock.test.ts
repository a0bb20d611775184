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

/** The result of opening the file from another process. */
const outcomeInChild = (context: TestContext, file: string): Promise<string | undefined> =>
  inChild(
    context,
    `const options = { file: ${JSON.stringify(file)} };
     console.log(await sqlite.openSqliteStore(options).then(() => 'opened', (error) => error.code)); process.exit()`,
  ).line();

test('a second process gets an error naming the owner, and can open the file afterwards', async (context) => {
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

test('a killed owner blocks nothing, and its acknowledged writes are there', async (context) => {
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

test('the same process cannot open a file twice, and keeps its lock when it tries', async (context) => {
  const { file, open } = placeFor(context);
  const store = await open();
  await rejected(open(), 'unavailable');
  await rejected(open(), 'unavailable');
  await store.create('/a', bytes('x'));
  // A process loses its POSIX locks on a file when it closes any descriptor of it: only another process notices that.
  assert.equal(await outcomeInChild(context, file), 'unavailable');
});

test('a backup by the owner itself leaves its locks alone', async (context) => {
  const { file, folder, open } = placeFor(context);
  const first = await open();
  await first.create('/a', bytes('x'));
  await first.close();
  await open();
  await backupSqlite({ file, to: `${folder}/copy.db` });
  // Using a write-ahead log without shared memory requires exclusive access to the file.
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
