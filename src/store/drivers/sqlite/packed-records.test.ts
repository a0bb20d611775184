import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../../base/limits.ts';
import { RecordPacker, type RecordRow, unpackRecords } from './packed-records.ts';

const { slabBytes } = limits;

function packed(rows: readonly RecordRow[], room: number | undefined) {
  const packer = new RecordPacker(room);
  for (const row of rows) packer.add(row);
  return packer.finish();
}

const row = fc.tuple(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.oneof(
    fc.maxSafeInteger().filter((each) => each > 0),
    fc.integer({ min: 1, max: 200 }),
  ),
  fc
    .oneof(fc.nat(300), fc.integer({ min: slabBytes - 60, max: slabBytes + 60 }))
    .map((length) => Buffer.alloc(length, length)),
);

test('records are unpacked as they were packed, with the room that was asked for', () => {
  fc.assert(
    fc.property(fc.array(row), fc.option(fc.nat(40), { nil: undefined }), (rows, room) => {
      const records = unpackRecords(packed(rows, room), room);
      assert.equal(records.length, rows.length);
      for (const [index, [key, revision, value]] of rows.entries()) {
        const record = records[index] ?? assert.fail();
        assert.deepEqual([record.key, record.revision], [key, revision]);
        assert.ok(value.equals(record.value));
        const there = record.room;
        assert.equal(there && there.end - there.start, room === undefined ? undefined : room + `${revision}`.length);
        if (there) assert.ok(there.memory.subarray(there.end, there.end + value.length).equals(value));
      }
    }),
    { numRuns: 100 },
  );
});

test('values share slabs, next to each other, and one that is larger has its own', () => {
  const sizes = [10, 20, slabBytes / 2, slabBytes, 5, 3 * slabBytes, 7, 9];
  const rows = sizes.map((size, index) => [`k${index}`, index + 1, Buffer.alloc(size)] as const);
  const parts = packed(rows, 4);
  const records = unpackRecords(parts, 4);
  assert.deepEqual(
    parts.slabs.map(({ byteLength }) => byteLength),
    [slabBytes, slabBytes + 5, slabBytes, 3 * slabBytes + 5, 7 + 9 + 10],
  );
  const [first, second, third] = records;
  assert.equal(second?.room?.memory, first?.room?.memory);
  assert.equal(second?.room?.start, (first?.room?.end ?? 0) + 10);
  assert.equal(third?.room?.start, (second?.room?.end ?? 0) + 20);
});

test('no records', () => {
  assert.deepEqual(unpackRecords(packed([], 30), 30), []);
});
