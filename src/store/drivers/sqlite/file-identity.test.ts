import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { bytes } from '../../conformance/subject.ts';
import { headOf, openDataFile } from './data-file.ts';
import { claimDataFile } from './file-identity.ts';
import { placeFor } from './sqlite-fixture.ts';
import { openSqliteStore } from './sqlite-store.ts';

/** A file with history that a server has used. */
async function usedFile(context: TestContext): Promise<string> {
  const { file } = placeFor(context);
  const store = await openSqliteStore({ file });
  await store.create('/a', bytes('x'));
  await store.close();
  return file;
}

const killed = new Error('killed');

/** Claims the file as a start does that is killed just before or after its mark is committed. */
function claimUntil(file: string, when: 'before' | 'after'): void {
  const database = openDataFile(file);
  const dying = new Proxy(database, {
    get(target, name) {
      if (name === 'isTransaction') return false;
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const commits = name === 'exec' && args[0] === 'COMMIT';
        if (commits && when === 'before') throw killed;
        const result = value.apply(target, args);
        if (commits) throw killed;
        return result;
      };
    },
  });
  assert.throws(() => claimDataFile(dying, file, 0), killed);
  database.close();
}

for (const when of ['before', 'after'] as const) {
  test(`a start that is killed ${when} its mark is committed leaves the original`, async (context) => {
    const file = await usedFile(context);
    const database = openDataFile(file);
    const head = headOf(database);
    database.close();
    for (let round = 0; round < 3; round++) claimUntil(file, when);
    const store = await openSqliteStore({ file });
    assert.equal(await store.head(), head);
    assert.equal((await store.get('/a'))?.revision, head);
    await store.close();
    assert.equal(readFileSync(`${file}-identity`, 'utf8').split('\n').length, 2, 'one mark is left');
  });
}

test('a file with a mark of neither is a copy', async (context) => {
  const file = await usedFile(context);
  claimUntil(file, 'before');
  const marks = readFileSync(`${file}-identity`, 'utf8');
  writeFileSync(
    `${file}-identity`,
    marks.replace(/(?<=^mark=)./gm, (digit) => (digit === '0' ? '1' : '0')),
  );
  const database = openDataFile(file);
  const head = headOf(database);
  database.close();
  const store = await openSqliteStore({ file });
  assert.ok((await store.head()) > head);
  await store.close();
});
