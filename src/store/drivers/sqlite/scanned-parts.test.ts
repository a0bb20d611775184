import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FileClients } from './file-clients.ts';
import type { LogFile } from './log-file.ts';
import { unpackRecords } from './packed-records.ts';

/** A file with so many records of so many bytes, in slices of so many. Tells after which keys it was asked. */
function fileOf({ count, bytes, slice }: { readonly count: number; readonly bytes: number; readonly slice: number }) {
  const asked: (string | undefined)[] = [];
  const value = Buffer.alloc(bytes);
  const scan: LogFile['scan'] = ({ after }, limit, records) => {
    asked.push(after);
    const first = after === undefined ? 0 : Number(after) + 1;
    const taken = Math.max(0, Math.min(limit, slice, count - first));
    for (let index = first; index < first + taken; index++) records.add([String(index), 1, value]);
    return { count: taken, bytes: taken * bytes, last: taken === 0 ? undefined : String(first + taken - 1) };
  };
  return { asked, clients: new FileClients({ scan } as LogFile) };
}

const cases = [
  ['all of a few', { count: 7, bytes: 100, slice: 3 }, { limit: 100, records: 7, slices: 4 }],
  ['as many as are wanted', { count: 70, bytes: 100, slice: 3 }, { limit: 8, records: 8, slices: 3 }],
  ['of small ones a thousand', { count: 5_000, bytes: 1, slice: 300 }, { limit: 10 ** 9, records: 1_000, slices: 4 }],
  ['of large ones what exceeds 2 MiB', { count: 50, bytes: 500_000, slice: 2 }, { limit: 50, records: 6, slices: 3 }],
  ['nothing', { count: 0, bytes: 0, slice: 3 }, { limit: 10, records: 0, slices: 1 }],
] as const;

for (const [what, file, { limit, records, slices }] of cases) {
  test(`a part of a scan has ${what}, and other calls come between its slices`, async () => {
    const { asked, clients } = fileOf(file);
    const part = clients.scan({ prefix: '/', after: undefined, at: 1 }, { limit, room: undefined });
    assert.equal(asked.length, 1, 'the first slice is read at once');
    for (let turns = 1; turns < slices; turns++) {
      await new Promise(setImmediate);
      assert.ok(asked.length <= turns + 1, 'one in each turn');
    }
    const keys = unpackRecords(await part, undefined).map(({ key }) => key);
    assert.deepEqual(
      keys,
      Array.from({ length: records }, (_, index) => String(index)),
    );
    assert.equal(asked.length, slices);
  });
}
