import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MalformedMessage, WireReader, WireWriter, wireType } from './protobuf-wire.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const written = (write: (writer: WireWriter) => void): string => {
  const writer = new WireWriter();
  write(writer);
  return hex(writer.finish());
};
/** Reads the first field of a message. */
const first = <T>(bytes: string, read: (reader: WireReader) => T): T => {
  const reader = new WireReader(Buffer.from(bytes, 'hex'));
  assert.ok(reader.next());
  return read(reader);
};

const integers: readonly (readonly [value: number | bigint, bytes: string])[] = [
  [0, '00'],
  [1, '01'],
  [127, '7f'],
  [128, '8001'],
  [300, 'ac02'],
  [2 ** 28, '8080808001'],
  [2 ** 31 - 1, 'ffffffff07'],
  [2 ** 32, '8080808010'],
  [2 ** 35, '808080808001'],
  [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
  [2n ** 53n, '8080808080808010'],
  [2n ** 63n - 1n, 'ffffffffffffffff7f'],
  [-1, 'ffffffffffffffffff01'],
  [-(2 ** 31), '80808080f8ffffffff01'],
  [-(2n ** 63n), '80808080808080808001'],
];
for (const [value, bytes] of integers) {
  test(`the integer ${value}`, () => {
    assert.equal(
      written((writer) => writer.int(value)),
      bytes,
    );
    assert.equal(
      first(`08${bytes}`, (reader) => reader.int64()),
      value,
    );
  });
}

test('the examples of the published encoding guide', () => {
  const number = (writer: WireWriter): void => {
    writer.uint(150);
    writer.tag(1, wireType.varint);
  };
  assert.equal(written(number), '089601');
  const text = (writer: WireWriter): void => {
    writer.raw(Buffer.from('testing'));
    writer.delimit(2, 0);
  };
  assert.equal(written(text), '120774657374696e67');
  const nested = (writer: WireWriter): void => {
    number(writer);
    writer.delimit(3, 0);
  };
  assert.equal(written(nested), '1a03089601');
  assert.equal(
    first('08feffffffffffffffff01', (reader) => reader.int64()),
    -2,
  );
});

test('all 64-bit integers round-trip', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
      const number = Number(value);
      const exact = Number.isSafeInteger(number) ? number : value;
      const bytes = written((writer) => writer.int(exact));
      assert.equal(
        first(`08${bytes}`, (reader) => reader.int64()),
        exact,
      );
    }),
  );
});

test('integers of 32 bits are cut, and varints may be longer than they need to be', () => {
  assert.equal(
    first('08ffffffffffffffffff01', (reader) => reader.int32()),
    -1,
  );
  assert.equal(
    first('088180808010', (reader) => reader.int32()),
    1,
  );
  assert.equal(
    first('08818000', (reader) => reader.int64()),
    1,
  );
  assert.equal(
    first('0880808080808080808002', (reader) => reader.int64()),
    0,
    'what is beyond 64 bits is dropped',
  );
});

test('tags, text, lengths: written from the end', () => {
  const bytes = written((writer) => {
    writer.uint(3);
    writer.tag(16, wireType.varint);
    const before = writer.length;
    writer.text('ä');
    writer.delimit(1, before);
  });
  assert.equal(bytes, '0a02c3a4800103');
});

test('long messages are written', () => {
  const text = 'x'.repeat(100_000);
  const bytes = written((writer) => {
    writer.text(text);
    writer.delimit(1, 0);
  });
  assert.equal(bytes, `0aa08d06${'78'.repeat(100_000)}`);
  assert.equal(
    first(bytes, (reader) => reader.string()),
    text,
  );
});

test('doubles', () => {
  assert.equal(
    written((writer) => writer.double(0.5)),
    '000000000000e03f',
  );
  assert.equal(
    first('09000000000000e03f', (reader) => reader.double()),
    0.5,
  );
});

test('a replacement character is text like another', () => {
  assert.equal(
    first('0a03efbfbd', (reader) => reader.string()),
    '\ufffd',
  );
});

const hostile: readonly (readonly [why: string, bytes: string, message: RegExp])[] = [
  ['a tag that is cut off', '80', /cut off/],
  ['a varint that is cut off', '0880', /cut off/],
  ['a varint of eleven bytes', '08ffffffffffffffffffff01', /more than ten bytes/],
  ['a varint without an end', `08${'80'.repeat(1000)}`, /more than ten bytes/],
  ['a length without bytes', '0a05', /cut off/],
  ['a length past the end', '0a0561', /cut off/],
  ['a length of 2^63', '0a8080808080808080800161', /cut off/],
  ['a length of 2^64 - 1', '0affffffffffffffffff0161', /cut off/],
  ['a field with the number 0', '0000', /number 0/],
  ['a field past the last number', '80808080800100', /no field has the number/],
  ['a group without an end', '0b', /cut off/],
  ['a group that ends with the value of a field', '0b08', /cut off/],
  ['the end of a group', '0c', /wire type 4/],
  ['wire type 6', '0e', /wire type 6/],
  ['wire type 7', '0f', /wire type 7/],
  ['64 bits that are cut off', '0900', /cut off/],
  ['32 bits that are cut off', '0d00', /cut off/],
];
for (const [why, bytes, message] of hostile) {
  test(`refused: ${why}`, () => {
    const reader = new WireReader(Buffer.from(bytes, 'hex'));
    const walk = (): void => {
      while (reader.next()) reader.skip();
    };
    assert.throws(walk, (error) => error instanceof MalformedMessage && message.test(error.message));
  });
}

test('refused: a value of another type than is expected', () => {
  const read = (reader: WireReader): void => reader.expect(wireType.delimited);
  assert.throws(() => first('0801', read), /field 1 has wire type 0, expected 2/);
  first('0a00', read);
});

test('refused: text that is not UTF-8', () => {
  assert.throws(() => first('0a01ff', (reader) => reader.string()), /field 1 is not UTF-8/);
});

test('a part does not read past its end', () => {
  const reader = new WireReader(Buffer.from('0a01801001', 'hex'));
  reader.next();
  reader.enter();
  assert.throws(() => reader.next(), /cut off/);
});

const skipped: readonly (readonly [why: string, bytes: string])[] = [
  ['zero', '0800'],
  ['a great number', '08808080808010'],
  ['text', '0a0161'],
  ['64 bits', '09000000000000e03f'],
  ['32 bits', '0d00000001'],
  ['an empty group', '0b0c'],
  ['a group of values', '0b080112017a19000000000000000025000000000c'],
  ['groups in groups', `${'0b'.repeat(100_000)}${'0c'.repeat(100_000)}`],
  ['a group whose end has another number', '0b14'],
];
for (const [why, bytes] of skipped) {
  test(`skipped: ${why}`, () => {
    const reader = new WireReader(Buffer.from(`${bytes}1001`, 'hex'));
    reader.next();
    reader.skip();
    assert.deepEqual([reader.next(), reader.field], [true, 2]);
    assert.equal(reader.int64(), 1);
    assert.equal(reader.next(), false);
  });
}
