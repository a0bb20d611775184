import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { MessageReader, MessageWriter } from './protobuf-wire.ts';

const reader = (hex: string): MessageReader => new MessageReader(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

const readInt64 = (hex: string): number => {
  const message = reader(hex);
  assert.ok(message.next());
  return message.int64();
};

describe('protobuf wire format', () => {
  test('the examples of the published encoding guide', () => {
    assert.equal(new MessageWriter().int64(1, 150).finish().toString('hex'), '089601');
    assert.equal(readInt64('08 96 01'), 150);
    const text = new MessageWriter().bytes(2, Buffer.from('testing')).finish();
    assert.equal(text.toString('hex'), '120774657374696e67');
    const nested = new MessageWriter().message(3, new MessageWriter().int64(1, 150)).finish();
    assert.equal(nested.toString('hex'), '1a03089601');
    assert.equal(readInt64('08 fe ff ff ff ff ff ff ff ff 01'), -2);
  });

  test('defaults are left out, empty messages are not', () => {
    const message = new MessageWriter().int64(1, 0).bool(2, false).bytes(3, new Uint8Array(0));
    assert.equal(message.finish().length, 0);
    assert.equal(new MessageWriter().message(3, new MessageWriter()).finish().toString('hex'), '1a00');
  });

  test('every safe integer and all bytes come back', () => {
    const fields = fc.record({
      field: fc.integer({ min: 1, max: 2 ** 29 - 1 }),
      value: fc.oneof(fc.maxSafeNat(), fc.uint8Array({ minLength: 1 })),
    });
    fc.assert(
      fc.property(fc.array(fields), (written) => {
        const writer = new MessageWriter();
        for (const { field, value } of written) {
          if (typeof value !== 'number') writer.bytes(field, value);
          else if (value > 0) writer.int64(field, value);
        }
        const message = new MessageReader(writer.finish());
        for (const { field, value } of written) {
          if (value === 0) continue;
          assert.ok(message.next());
          assert.equal(message.field, field);
          if (typeof value === 'number') assert.equal(message.int64(), value);
          else assert.deepEqual(message.copy(), value);
        }
        assert.equal(message.next(), false);
      }),
    );
  });

  test('values that nobody takes are skipped, whatever their type', () => {
    const message = reader('08 ff ff ff ff ff ff ff ff ff 01  11 0102030405060708  1a 02 ffff  25 01020304  28 07');
    const seen: number[] = [];
    while (message.next()) {
      seen.push(message.field);
      if (message.field === 5) assert.equal(message.int64(), 7);
    }
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  });

  test('a copy does not share the bytes of the message', () => {
    const bytes = Buffer.from('0a0161', 'hex');
    const message = new MessageReader(bytes);
    message.next();
    const copy = message.copy();
    bytes.fill(0);
    assert.equal(Buffer.from(copy).toString(), 'a');
    assert.equal(copy.buffer.byteLength, 1);
  });

  const malformed: Record<string, string> = {
    'a tag that is cut off': '80',
    'a varint that is cut off': '08 80',
    'a varint of eleven bytes': '08 ff ff ff ff ff ff ff ff ff ff 01',
    'bytes that are cut off': '0a 05 61',
    'a length beyond 2^53': '0a ff ff ff ff ff ff ff ff 7f',
    'a negative length': '0a ff ff ff ff ff ff ff ff ff 01',
    'a fixed number that is cut off': '0d 01 02',
    'an unknown wire type': '0b',
  };
  for (const [name, hex] of Object.entries(malformed)) {
    test(`${name} is refused`, () => {
      const message = reader(hex);
      assert.throws(() => {
        while (message.next());
        message.next();
      }, RangeError);
    });
  }

  test('a value of another wire type, and an integer beyond 2^53, are refused', () => {
    const number = reader('08 01');
    number.next();
    assert.throws(() => number.view(), RangeError);
    assert.throws(() => readInt64('08 80 80 80 80 80 80 80 10'), RangeError);
    assert.equal(readInt64('08 ff ff ff ff ff ff ff 0f'), Number.MAX_SAFE_INTEGER);
    assert.throws(() => new MessageWriter().int64(1, 2 ** 53), RangeError);
    assert.throws(() => new MessageWriter().int64(1, -1), RangeError);
  });
});
