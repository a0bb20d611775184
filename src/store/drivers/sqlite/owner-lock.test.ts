import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { bytes, rejected } from '../../conformance/subject.ts';
import { lockDataFile } from './owner-lock.ts';
import { inChild, placeFor } from './testing.ts';

const owner = (file: string) => `
  const store = await sqlite.openSqliteStore({ file: ${JSON.stringify(file)} });
  await store.create('/from-child', new Uint8Array(1));
  console.log('open');
  process.stdin.on('end', () => store.close()).resume();
`;

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

test('the same process cannot open a file twice, and the first opener does not notice', async (context) => {
  const { open } = placeFor(context);
  const store = await open();
  await rejected(open(), 'unavailable');
  await rejected(open(), 'unavailable');
  await store.create('/a', bytes('x'));
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
