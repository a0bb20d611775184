import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bytes, rejected } from '../../conformance/subject.ts';
import { backupSqlite } from './backup.ts';
import { lockDataFile } from './owner-lock.ts';
import { restoreSqlite } from './restore.ts';
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

/** Paths that lead to the file: by a link to it, by a link to that one, and by one to its folder. */
const linksTo = (folder: string, file: string): readonly string[] => {
  const [link, other, directory] = [join(folder, 'links', 'link.db'), join(folder, 'other.db'), join(folder, 'again')];
  mkdirSync(join(folder, 'links'));
  symlinkSync(join('..', 'data.db'), link);
  symlinkSync(link, other);
  symlinkSync(folder, directory);
  assert.equal(file, join(folder, 'data.db'));
  return [link, other, join(directory, 'data.db'), join(directory, 'links', 'link.db')];
};

test('a file has one owner, whatever links lead to it, whether it exists already or not', async (context) => {
  const { file, folder, open } = placeFor(context);
  const links = linksTo(folder, file);
  for (const first of [file, ...links]) {
    const store = await open({ file: first });
    await store.create('/a', bytes(first));
    for (const other of [file, ...links]) {
      const error = await rejected(open({ file: other }), 'unavailable');
      assert.match(error.message, new RegExp(`data.db is in use by process ${process.pid}: stop it first$`));
      const restored = await rejected(restoreSqlite({ from: file, to: other }), 'unavailable');
      assert.equal(restored.message, error.message);
    }
    if (first !== file) assert.equal(await outcomeInChild(context, file), 'unavailable');
    await store.close();
    assert.ok(existsSync(file) && existsSync(`${file}-identity`));
    rmSync(file);
  }
});

test('a file is backed up by a link to it while it is served, and restored to where a link leads', async (context) => {
  const { file, folder, open } = placeFor(context);
  const [link = ''] = linksTo(folder, file);
  const store = await open({ file: link });
  await store.create('/a', bytes('x'));
  await backupSqlite({ file: link, to: `${folder}/copy.db` });
  await store.close();
  rmSync(file);
  await restoreSqlite({ from: `${folder}/copy.db`, to: link });
  assert.equal(realpathSync(link), file);
  const restored = await open();
  assert.ok(await restored.get('/a'));
});

test('links that lead nowhere or in a circle are refused with a reason', async (context) => {
  const { folder, open } = placeFor(context);
  symlinkSync(join(folder, 'absent', 'data.db'), join(folder, 'nowhere.db'));
  symlinkSync(join(folder, 'round.db'), join(folder, 'round.db'));
  const nowhere = await rejected(open({ file: join(folder, 'nowhere.db') }), 'unavailable');
  assert.match(nowhere.message, /the folder of .*absent\/data\.db does not exist/);
  const round = await rejected(open({ file: join(folder, 'round.db') }), 'unavailable');
  assert.match(round.message, /round\.db leads through too many symbolic links/);
});

test('a file with another name (hard link) is neither opened nor backed up; with one name again it is', async (context) => {
  const { file, folder, open } = placeFor(context);
  const store = await open();
  await store.create('/a', bytes('x'));
  const other = join(folder, 'other.db');
  linkSync(file, other);
  const to = join(folder, 'copy.db');
  const reasons = [await rejected(open({ file: other }), 'unavailable')];
  for (const from of [file, other]) reasons.push(await rejected(backupSqlite({ file: from, to }), 'unavailable'));
  for (const { message } of reasons) assert.match(message, /has 2 names \(hard links\).*: remove the others/);
  await store.close();
  await rejected(open(), 'unavailable');
  unlinkSync(other);
  assert.ok(await (await open()).get('/a'));
});
