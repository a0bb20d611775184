import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inChild, placeFor } from './sqlite-fixture.ts';

const writersMax = 4;
const keysMax = 60;
const rounds = 8;

/**
 * Writers that repeatedly change their own keys in batches, besides single writes. Prints `ready` first, then `writer
 * round` for each acknowledged batch.
 */
const load = (file: string, start: number): string => `
  const store = await sqlite.openSqliteStore({ file: ${JSON.stringify(file)} });
  const value = (round) => Buffer.from(String(round).padEnd(4_000, ' '));
  console.log('ready');
  const writer = async (name) => {
    for (let round = ${start}; ; round++) {
      const { records } = await store.list('/batch/' + name + '/');
      const writes = records.length === 0
        ? Array.from({ length: ${keysMax} }, (_, index) => ({ verb: 'create', key: '/batch/' + name + '/' + index, value: value(round) }))
        : round % 5 === 4
          ? records.map(({ key, revision }) => ({ verb: 'delete', key, expected: revision }))
          : records.map(({ key, revision }) => ({ verb: 'update', key, expected: revision, value: value(round) }));
      await store.batch(writes);
      console.log(name + ' ' + round);
    }
  };
  const single = async () => {
    for (let round = 0; ; round++) await store.create('/single/${start}/' + round, value(round));
  };
  await Promise.all([...Array(${writersMax}).keys()].map(writer).concat(single()));
`;

test('a process killed during batches leaves each complete or not at all, and all acknowledged ones', async (context) => {
  const { file, open } = placeFor(context);
  let start = 0;
  for (let round = 0; round < rounds; round++) {
    const child = inChild(context, load(file, start));
    assert.equal(await child.line(), 'ready');
    // At a different point of a commit each time.
    const acknowledged = new Map<string, number>();
    let killed: Promise<void> | undefined;
    for (let lines = 0; ; lines++) {
      if (lines === 6 + round * 3) killed = child.kill();
      const line = await child.line();
      if (line === undefined) break;
      const [writer = '', at] = line.split(' ');
      acknowledged.set(writer, Number(at));
    }
    assert.ok(killed, 'it ended by itself');
    await killed;
    const store = await open();
    for (let writer = 0; writer < writersMax; writer++) {
      const { records } = await store.list(`/batch/${writer}/`);
      const values = new Set(records.map(({ value }) => Number(Buffer.from(value).toString())));
      assert.ok(records.length === 0 || records.length === keysMax, `${records.length} keys of a batch`);
      assert.ok(values.size <= 1, `parts of the batches ${[...values]}`);
      const [found] = values;
      const last = acknowledged.get(String(writer));
      // One more batch may have been committed without being acknowledged.
      if (found !== undefined) {
        assert.ok(found >= (last ?? 0), `batch ${last} was acknowledged, ${found} is there`);
        start = Math.max(start, found);
      } else if (last !== undefined) {
        assert.ok(last % 5 === 4 || (last + 1) % 5 === 4, `batch ${last} was acknowledged, and nothing is there`);
      }
    }
    start += 2;
    await store.close();
  }
});
