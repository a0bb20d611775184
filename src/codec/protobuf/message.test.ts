import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../base/limits.ts';
import { StatusError } from '../../meta/status-error.ts';
import { decode } from '../../schema/decode.ts';
import {
  always,
  anyObject,
  anyValue,
  bool,
  bytes,
  inline,
  int32,
  int64,
  intOrString,
  list,
  map,
  microTime,
  number,
  oneOf,
  opt,
  ptr,
  quantity,
  req,
  type Schema,
  type StructSchema,
  string,
  struct,
  time,
} from '../../schema/schema.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage } from './encode.ts';
import { hasMessage } from './message.ts';

const of = (schema: Schema, made: typeof opt = opt): StructSchema =>
  struct('test.v1.One', 'One field.', { a: made(1, schema, 'It.') });

const leaf = struct('test.v1.Leaf', 'A leaf.', { name: opt(1, string(), 'Name.') });

const either = oneOf({ number: 1, schema: bool(), beside: true }, { number: 2, schema: () => leaf });
const several = oneOf({ number: 1, schema: leaf }, { number: 2, schema: list(leaf) });

const hex = (schema: StructSchema, value: Readonly<Record<string, unknown>>): string =>
  encodeMessage(schema, value).toString('hex');
const read = (schema: StructSchema, text: string): Record<string, unknown> =>
  decodeMessage(schema, Buffer.from(text, 'hex'));

/** Bytes written by hand according to the format. */
const both: readonly (readonly [why: string, schema: StructSchema, value: Record<string, unknown>, bytes: string])[] = [
  ['text', of(string()), { a: 'hi' }, '0a026869'],
  ['an integer', of(int32()), { a: 300 }, '08ac02'],
  ['a negative integer', of(int32()), { a: -1 }, '08ffffffffffffffffff01'],
  ['a great integer', of(int64()), { a: 2n ** 62n }, '08808080808080808040'],
  ['true', of(bool()), { a: true }, '0801'],
  ['a fraction', of(number()), { a: 0.5 }, '09000000000000e03f'],
  ['bytes', of(bytes()), { a: 'aGk=' }, '0a026869'],
  ['a time', of(time()), { a: '1970-01-01T00:00:10Z' }, '0a04080a1000'],
  ['a time before 1970', of(time()), { a: '1969-12-31T23:59:59Z' }, '0a0d08ffffffffffffffffff011000'],
  ['a fine time', of(microTime()), { a: '1970-01-01T00:00:10.000005Z' }, '0a05080a108827'],
  ['no time', of(time(), always), { a: null }, '0a00'],
  ['a quantity', of(quantity()), { a: '5m' }, '0a040a02356d'],
  ['an integer where text may be', of(intOrString()), { a: 80 }, '0a06080010501a00'],
  ['text where an integer may be', of(intOrString()), { a: 'x' }, '0a07080110001a0178'],
  ['any value', of(anyValue()), { a: [1] }, '0a050a035b315d'],
  ['any object', of(anyObject()), { a: {} }, '0a040a027b7d'],
  ['one of two, a struct', of(either), { a: { name: 'x' } }, '0a0708011203' + '0a0178'],
  ['one of two, true', of(either), { a: true }, '0a020801'],
  ['one of two, false', of(either), { a: false }, '0a020800'],
  ['one of two, a list', of(several), { a: [{ name: 'x' }, {}] }, '0a09' + '12030a0178' + '12020a00'],
  ['a struct', of(leaf), { a: { name: 'x' } }, '0a030a0178'],
  ['a list of texts', of(list(string())), { a: ['x', ''] }, '0a01780a00'],
  ['a list of integers', of(list(int32())), { a: [1, 0] }, '08010800'],
  ['a list of structs', of(list(leaf)), { a: [{ name: 'x' }, { name: 'y' }] }, '0a030a01780a030a0179'],
  ['a map, its keys in order', of(map(string())), { a: { a: '', b: 'x' } }, '0a050a016112000a060a0162120178'],
  ['a map of structs', of(map(leaf)), { a: { k: { name: 'x' } } }, '0a080a016b12030a0178'],
  ['a map of bytes', of(map(bytes())), { a: { k: 'aA==' } }, '0a060a016b120168'],
  ['a map of lists', of(map(list(string()))), { a: { k: ['x', 'y'] } }, '0a0b0a016b12060a01780a0179'],
  ['an empty list in a map', of(map(list(string()))), { a: { k: null } }, '0a050a016b1200'],
  ['an empty text with a pointer', of(string(), ptr), { a: '' }, '0a00'],
  ['false with a pointer', of(bool(), ptr), { a: false }, '0800'],
];
for (const [why, schema, value, text] of both) {
  test(`${why}: written and read`, () => {
    assert.equal(hex(schema, value), text);
    assert.deepEqual(read(schema, text), value);
  });
}

test('fields that are not pointers in the Go types are written even if absent', () => {
  const zeros: readonly (readonly [schema: StructSchema, bytes: string])[] = [
    [of(string()), '0a00'],
    [of(int32()), '0800'],
    [of(bool()), '0800'],
    [of(number()), '090000000000000000'],
    [of(leaf, always), '0a020a00'],
    [of(time(), always), '0a00'],
    [of(quantity(), always), '0a030a0130'],
    [of(intOrString(), always), '0a06080010001a00'],
    [struct('test.v1.Must', 'Must.', { a: req(1, string(), 'It.') }), '0a00'],
  ];
  for (const [schema, text] of zeros) assert.equal(hex(schema, {}), text);
  const nothing = [of(string(), ptr), of(leaf), of(time()), of(bytes()), of(list(string())), of(map(string()))];
  for (const schema of nothing) assert.equal(hex(schema, {}), '');
});

test('fields are in order of number, and those without one are omitted', () => {
  const schema = struct('test.v1.Order', 'Order.', {
    kind: opt(0, string(), 'Kind.'),
    c: opt(3, string(), 'C.'),
    a: opt(1, string(), 'A.'),
  });
  assert.equal(hex(schema, { kind: 'K', c: 'c', a: 'a' }), '0a01611a0163');
  assert.deepEqual(read(schema, '1a01630a0161'), { a: 'a', c: 'c' });
});

test('inline fields of JSON are a message of their own, which is always written', () => {
  const inner = struct('test.v1.Inner', 'Inner.', { x: ptr(1, string(), 'X.') });
  const middle = struct('test.v1.Middle', 'Middle.', { ...inline(1, inner), y: ptr(2, string(), 'Y.') });
  const outer = struct('test.v1.Outer', 'Outer.', { z: ptr(1, string(), 'Z.'), ...inline(2, middle) });
  assert.equal(hex(outer, { x: 'x', y: 'y', z: 'z' }), '0a017a12080a030a0178120179');
  assert.equal(hex(outer, {}), '12020a00');
  assert.deepEqual(read(outer, '12080a030a01781201790a017a'), { x: 'x', y: 'y', z: 'z' });
  assert.equal(hasMessage(outer), true);
  assert.equal(hasMessage(struct('test.v1.Custom', 'Custom.', { a: opt(0, string(), 'A.') })), false);
});

test('read: packed lists, repeated fields, entries without key or value, parts of times', () => {
  assert.deepEqual(read(of(list(int32())), '0a0401ac0203'), { a: [1, 300, 3] });
  assert.deepEqual(read(of(list(number())), '0a08000000000000e03f'), { a: [0.5] });
  assert.deepEqual(read(of(list(int32())), '08010a0102'), { a: [1, 2] });
  assert.deepEqual(read(of(string()), '0a01610a0162'), { a: 'b' }, 'the last one counts');
  const two = struct('test.v1.Two', 'Two.', { x: opt(1, string(), 'X.'), y: opt(2, string(), 'Y.') });
  assert.deepEqual(read(of(two), '0a030a01780a03120179'), { a: { x: 'x', y: 'y' } }, 'structs are merged');
  assert.deepEqual(read(of(map(string())), '0a030a016b'), { a: { k: null } });
  assert.deepEqual(read(of(map(string())), '0a03120178'), { a: { '': 'x' } });
  assert.deepEqual(read(of(map(string())), '0a061201780a016b'), { a: { k: 'x' } }, 'the value first');
  assert.deepEqual(read(of(time()), '0a021005'), { a: '1970-01-01T00:00:00Z' });
  assert.deepEqual(read(of(quantity()), '0a00'), { a: '0' });
  assert.deepEqual(read(of(intOrString()), '0a00'), { a: 0 });
  assert.deepEqual(read(of(anyValue()), '0a00'), { a: null });
  assert.deepEqual(read(of(either), '0a00'), { a: false });
  assert.deepEqual(read(of(either), '0a0712030a01780800'), { a: { name: 'x' } }, 'the last one that there is');
  assert.deepEqual(read(of(either), '0a0412020a00'), { a: {} }, 'without zeros, as in JSON');
  assert.deepEqual(read(of(several), '0a00'), { a: null });
  assert.deepEqual(read(of(time()), '0a02080a0a021005'), { a: '1970-01-01T00:00:00Z' }, 'times are not merged');
  assert.deepEqual(read(of(quantity()), '0a040a02356d0a00'), { a: '5m' }, 'quantities are');
  assert.deepEqual(read(of(intOrString()), '0a0508011a01780a021005'), { a: 'x' }, 'so are these');
  assert.deepEqual(read(of(anyValue()), '0a050a035b315d0a00'), { a: [1] });
});

test('unknown fields are skipped, whatever their wire type', () => {
  const schema = struct('test.v1.Deep', 'Deep.', {
    parts: opt(1, list(leaf), 'Parts.'),
    named: opt(2, map(leaf), 'Named.'),
    part: opt(3, leaf, 'Part.'),
  });
  const group = ['9b06', '0801', '9c06'];
  const bytes = ['0a030a0178', '0a021001', '12070a016b12022001', '1a0332017a', '9a06017a', 'a00600', ...group].join('');
  assert.deepEqual(read(schema, bytes), { parts: [{ name: 'x' }, {}], named: { k: {} }, part: {} });
});

test('map keys may have names of prototype properties', () => {
  const key = Buffer.from('__proto__').toString('hex');
  const entry = `0a0e0a09${key}120178`;
  const { a } = read(of(map(string())), entry) as { a: object };
  assert.deepEqual(Object.entries(a), [['__proto__', 'x']]);
  assert.equal(Object.getPrototypeOf(a), Object.prototype);
  const leaves = read(of(map(leaf)), `0a100a09${key}12030a0178`) as { a: object };
  assert.deepEqual(Object.keys(leaves.a), ['__proto__']);
  assert.equal('name' in Object.prototype, false);
  assert.equal(hex(of(map(string())), { a }), entry);
});

const node: StructSchema = struct('test.v1.Node', 'Holds itself.', { next: opt(1, () => node, 'Next.') });

function nested(depth: number): Buffer {
  let message = Buffer.alloc(0);
  for (let i = 0; i < depth; i++) {
    const length = message.length < 128 ? [message.length] : [(message.length & 0x7f) | 0x80, message.length >> 7];
    message = Buffer.concat([Buffer.from([0x0a, ...length]), message]);
  }
  return message;
}

test('nesting is bounded', () => {
  assert.doesNotThrow(() => decodeMessage(node, nested(limits.depthMax)));
  assert.throws(() => decodeMessage(node, nested(limits.depthMax + 1)), /nested more than/);
  assert.throws(() => decodeMessage(node, nested(4_000)), /nested more than/);
});

test('elements are counted', () => {
  const refused = /more than \d+ elements/;
  const bytesOf = (element: string, count: number) => Buffer.alloc((element.length / 2) * count, element, 'hex');
  const packed = (count: number) => Buffer.concat([Buffer.from('0a91a10f', 'hex'), bytesOf('01', count)]);
  const max = limits.elementsMax;
  const packedBytes = 250_001; // the length prefix of `packed`
  assert.equal(max, packedBytes - 1);
  assert.doesNotThrow(() => decodeMessage(of(list(leaf)), bytesOf('0a00', max)));
  assert.throws(() => decodeMessage(of(list(leaf)), bytesOf('0a00', max + 1)), refused);
  assert.throws(() => decodeMessage(of(map(string())), bytesOf('0a00', max + 1)), refused);
  assert.throws(() => decodeMessage(of(list(int32())), packed(packedBytes)), refused);
});

const hostile: readonly (readonly [why: string, schema: StructSchema, bytes: string])[] = [
  ['a number where text is expected', of(string()), '0801'],
  ['text where a number is expected', of(int32()), '0a0161'],
  ['text where a fraction is expected', of(number()), '0a0161'],
  ['a number where a struct is expected', of(leaf), '0801'],
  ['a number where a map is expected', of(map(string())), '0801'],
  ['a number as the key of a map', of(map(string())), '0a020801'],
  ['a number as the value of a map', of(map(string())), '0a021001'],
  ['a packed list of texts', of(list(string())), '0801'],
  ['a packed list that is cut off', of(list(int32())), '0a020180'],
  ['a packed list of fractions that is cut off', of(list(number())), '0a0400000000'],
  ['text that is no UTF-8', of(string()), '0a01ff'],
  ['a key that is no UTF-8', of(map(string())), '0a030a01ff'],
  ['a time after the year 9999', of(time()), '0a0708808080808040'],
  ['a time that no clock knows', of(time()), '0a0a08ffffffffffffffff7f'],
  ['more nanoseconds than a second has', of(microTime()), '0a061080a8d6b907'],
  ['negative nanoseconds', of(microTime()), '0a0b10ffffffffffffffffff01'],
  ['text in the place of seconds', of(time()), '0a030a0161'],
  ['a number in the place of a quantity', of(quantity()), '0a020801'],
  ['text in the place of an integer', of(intOrString()), '0a03120161'],
  ['a number in the place of JSON', of(anyValue()), '0a020801'],
  ['a group where a struct is expected', of(leaf), '0b0c'],
  ['the end of a group that has not begun', of(leaf), '14'],
  ['a group without an end', of(leaf), '9b060801'],
  ['a field with the number 0', of(leaf), '0001'],
  ['a wire type that there is not', of(leaf), '1600'],
  ['a varint of eleven bytes', of(int32()), `08${'80'.repeat(10)}00`],
  ['any value that is no JSON', of(anyValue()), '0a030a017b'],
  ['a struct longer than its message', of(leaf), '0a7f0a0178'],
  ['a field of a struct longer than it', of(leaf), '0a030a0578'],
];
for (const [why, schema, text] of hostile) {
  test(`refused: ${why}`, () => {
    assert.throws(
      () => read(schema, text),
      (error) => error instanceof StatusError && error.code === 400,
    );
  });
}

test('arbitrary bytes are decoded or rejected, and never crash', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
      try {
        decodeMessage(everything, input);
      } catch (error) {
        assert.ok(error instanceof StatusError && error.code === 400);
      }
    }),
    { numRuns: 2_000 },
  );
});

const everything: StructSchema = struct('test.v1.Everything', 'Has a field of each type.', {
  text: opt(1, string(), 'A text.'),
  count: opt(2, int32(), 'A number.'),
  total: opt(300, int64(), 'A great number.'),
  ratio: opt(4, number(), 'A fraction.'),
  on: opt(5, bool(), 'A switch.'),
  off: ptr(6, bool(), 'A switch that can be off.'),
  data: opt(7, bytes(), 'Bytes.'),
  when: ptr(8, time(), 'A time.'),
  exact: always(9, microTime(), 'A fine time.'),
  amounts: opt(10, map(quantity()), 'Quantities.'),
  port: always(11, intOrString(), 'A port.'),
  parts: opt(13, list(leaf), 'Parts.'),
  totals: opt(14, list(int64()), 'Great numbers.'),
  again: ptr(15, () => everything, 'One more.'),
  always: always(16, leaf, 'A part that is always there.'),
  raw: opt(17, anyObject(), 'Any object.'),
  byName: opt(18, map(leaf), 'Parts by name.'),
  lists: opt(19, map(list(string())), 'Lists by name.'),
  ...inline(
    20,
    struct('test.v1.Inline', 'Inline.', {
      inside: opt(1, string(), 'Inside.'),
      bound: ptr(2, string(), 'Bound.'),
    }),
  ),
});

const text = fc.string({ unit: 'grapheme' });
const key = fc.oneof(text, fc.constantFrom('__proto__', 'constructor'));
const part = fc.record({ name: text }, { requiredKeys: [] });
const objectsOf = <T>(each: fc.Arbitrary<T>) => fc.dictionary(key, each, { maxKeys: 3, noNullPrototype: true });
const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const date = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-01-01'), noInvalidDate: true })
  .map((each) => each.toISOString());

const values = fc.letrec((tie) => ({
  value: fc.record(
    {
      text,
      count: fc.integer(),
      total: long,
      ratio: fc.double({ noDefaultInfinity: true, noNaN: true }),
      on: fc.boolean(),
      off: fc.boolean(),
      data: fc.uint8Array().map((each) => Buffer.from(each).toString('base64')),
      when: date,
      exact: date.map((each) => each.replace('Z', '000Z')),
      amounts: objectsOf(fc.constantFrom('1', '500m', '1Ki', '0')),
      port: fc.oneof(fc.integer(), text),
      parts: fc.array(part, { maxLength: 3 }),
      totals: fc.array(long, { maxLength: 3 }),
      again: fc.option(tie('value'), { nil: undefined, depthSize: 'small' }),
      always: part,
      raw: objectsOf(fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(text))),
      byName: objectsOf(part),
      lists: objectsOf(fc.array(text, { maxLength: 2 })),
      inside: text,
      bound: text,
    },
    { requiredKeys: [] },
  ),
})).value;

test('encoding and decoding round-trip', () => {
  fc.assert(
    fc.property(values, (value) => {
      const before = decode(everything, value);
      assert.deepEqual(before.errors, []);
      const message = encodeMessage(everything, before.value);
      const after = decode(everything, decodeMessage(everything, message));
      assert.deepEqual(after.unknown, []);
      assert.deepEqual(after, before);
      assert.deepEqual(encodeMessage(everything, after.value), message);
    }),
    { numRuns: 300 },
  );
});
