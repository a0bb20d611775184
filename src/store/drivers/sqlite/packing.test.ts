import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { packOutcomes, packWrite, unpackOutcomes, unpackWrites, type WriteOutcome } from './messages.ts';
import { Packer, Unpacker } from './packing.ts';

test('packed data of any size is unpacked', () => {
  const item = fc.oneof(
    fc.record({ kind: fc.constant('number' as const), value: fc.maxSafeInteger() }),
    fc.record({ kind: fc.constant('text' as const), value: fc.string({ unit: 'grapheme', maxLength: 300 }) }),
    fc.record({ kind: fc.constant('bytes' as const), value: fc.uint8Array({ maxLength: 600 }) }),
  );
  fc.assert(
    fc.property(fc.array(item), fc.nat(64), (items, sizeHint) => {
      const packer = new Packer(sizeHint);
      for (const { kind, value } of items) {
        if (kind === 'number') packer.number(value);
        else if (kind === 'text') packer.text(value);
        else packer.bytes(value);
      }
      const { length } = packer;
      const message = packer.finish();
      assert.equal(message.byteLength, length);
      const unpacker = new Unpacker(message);
      for (const { kind, value } of items) assert.deepEqual(unpacker[kind](), value);
      assert.ok(unpacker.done);
    }),
    { numRuns: 200 },
  );
});

test('writes and outcomes round-trip', () => {
  const packer = new Packer();
  const value = Uint8Array.of(0, 1, 255);
  packWrite(packer, { verb: 'update', key: '/é', value, expected: 2 ** 52 });
  packWrite(packer, { verb: 'delete', key: '/d', value: new Uint8Array(0), expected: 3 });
  assert.deepEqual(unpackWrites(packer.finish()), [
    { verb: 'update', key: new TextEncoder().encode('/é'), value, expected: 2 ** 52 },
    { verb: 'delete', key: new TextEncoder().encode('/d'), value: new Uint8Array(0), expected: 3 },
  ]);
  const outcomes: readonly WriteOutcome[] = [
    { status: 'committed', revision: 7, previous: value },
    { status: 'exists', revision: 5 },
    { status: 'notFound' },
    { status: 'conflict', revision: 6 },
    { status: 'full' },
  ];
  for (const isFull of [true, false]) {
    assert.deepEqual(unpackOutcomes(packOutcomes({ isFull, outcomes })), { isFull, outcomes });
  }
});
