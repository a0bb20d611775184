import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../base/limits.ts';
import { StatusError } from '../../meta/status-error.ts';
import {
  anyValue,
  bytes,
  list,
  map,
  opt,
  type Schema,
  type StructSchema,
  string,
  struct,
} from '../../schema/schema.ts';
import { parseCbor } from './decode.ts';
import { encodeCbor, encodeElement } from './encode.ts';
import { FieldNames } from './field-names.ts';
import { encodeCborList } from './list.ts';
import { CborWriter } from './writer.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const read = (text: string): unknown => parseCbor(hex(text)).value;
const written = (value: unknown, schema?: Schema): string => encodeElement(value, schema).toString('hex');

/** Values and their only encoding. Items are those of RFC 8949 appendix A where it has them. */
const both: readonly (readonly [value: unknown, item: string])[] = [
  [0, '00'],
  [23, '17'],
  [24, '1818'],
  [255, '18ff'],
  [256, '190100'],
  [65_535, '19ffff'],
  [65_536, '1a00010000'],
  [4_294_967_295, '1affffffff'],
  [4_294_967_296, '1b0000000100000000'],
  [1_000_000_000_000, '1b000000e8d4a51000'],
  [Number.MAX_SAFE_INTEGER, '1b001fffffffffffff'],
  [2n ** 53n, '1b0020000000000000'],
  [2n ** 53n + 1n, '1b0020000000000001'],
  [2n ** 63n - 1n, '1b7fffffffffffffff'],
  [-1, '20'],
  [-24, '37'],
  [-25, '3818'],
  [-1000, '3903e7'],
  [Number.MIN_SAFE_INTEGER, '3b001ffffffffffffe'],
  [-(2n ** 53n), '3b001fffffffffffff'],
  [-(2n ** 63n), '3b7fffffffffffffff'],
  [1.5, 'f93e00'],
  [2 ** -24, 'f90001'],
  [-4.125, 'f9c420'],
  [(2 - 2 ** -23) * 2 ** 127, 'fa7f7fffff'],
  [1.1, 'fb3ff199999999999a'],
  [-4.1, 'fbc010666666666666'],
  [1e300, 'fb7e37e43c8800759c'],
  [false, 'f4'],
  [true, 'f5'],
  [null, 'f6'],
  ['', '40'],
  ['a', '4161'],
  ['\u00fc', '42c3bc'],
  ['\u6c34', '43e6b0b4'],
  ['\ud800\udd51', '44f0908591'],
  ['x'.repeat(24), `5818${'78'.repeat(24)}`],
  ['x'.repeat(256), `590100${'78'.repeat(256)}`],
  [[], '80'],
  [[1, [2, 3], [4, 5]], '8301820203820405'],
  [Array(25).fill(1), `9819${'01'.repeat(25)}`],
  [{}, 'a0'],
  [{ a: 1, b: [2, 3] }, 'a24161014162820203'],
];
describe('both ways', () => {
  for (const [value, item] of both) {
    test(item.slice(0, 40), () => {
      assert.equal(written(value), item);
      assert.deepEqual(read(item), value);
      assert.equal(encodeCbor(value).toString('hex'), `d9d9f7${item}`);
      assert.deepEqual(read(`d9d9f7${item}`), value);
    });
  }
});

/** Other encodings that are read; what published decoders make of them. */
const onlyRead: readonly (readonly [why: string, item: string, value: unknown])[] = [
  ['a head that is longer than needed', '1b0000000000000001', 1],
  ['a length that is longer than needed', '5a0000000161', 'a'],
  ['a float that is longer than needed', 'fb3ff8000000000000', 1.5],
  ['a float that is an integer', 'f94000', 2],
  ['a text string', '6161', 'a'],
  ['a text string of many characters', `7818${'c3bc'.repeat(12)}`, '\u00fc'.repeat(12)],
  ['a map with text strings as keys', 'a1616101', { a: 1 }],
  ['a text of indefinite length', '7f616161626163ff', 'abc'],
  ['a byte string of indefinite length', '5f41c341bcff', '\u00fc'],
  ['an empty one', '5fff', ''],
  ['a key of indefinite length', 'a15f41614162ff01', { ab: 1 }],
  ['an array of indefinite length', '9f01820203ff', [1, [2, 3]]],
  ['a map of indefinite length', 'bf4161bf416201ffff', { a: { b: 1 } }],
  ['base64 of tag 22', 'd6 43 68 69 21', 'aGkh'],
  ['base64 of chunks', 'd6 5f 41 68 42 69 21 ff', 'aGkh'],
  ['base64url of tag 21', 'd5 42 fb ff', '-_8'],
  ['hexadecimal of tag 23', 'd7 44 01020304', '01020304'],
  ['a time in tag 0', `c074${Buffer.from('2013-03-21T20:04:00Z').toString('hex')}`, '2013-03-21T20:04:00Z'],
  ['tags without a meaning here', 'c4 82 21 19 6ab3', [-2, 27_315]],
  ['several tags', 'd9d9f7 d9d9f7 c4 d6 41 68', 'aA=='],
  ['the self-described tag inside', '81 d9d9f7 01', [1]],
];
describe('read', () => {
  for (const [why, item, value] of onlyRead) test(why, () => assert.deepEqual(read(item), value));
});

/** Refused items, and a part of the error. */
const refused: readonly (readonly [why: string, item: string, error: string])[] = [
  ['nothing', '', 'byte 0: the data item is cut off'],
  ['more than one item', '0000', 'byte 1: expected the end of input'],
  ['a tag without an item', 'd9d9f7', 'byte 3: the data item is cut off'],
  ['a head that is cut off', '1901', 'cut off'],
  ['eight bytes that are cut off', '1b00000000000000', 'cut off'],
  ['a text that is cut off', '6261', 'cut off'],
  ['a text as long as memory', '7b7fffffffffffffff', 'cut off'],
  ['a text longer than any number', '7bffffffffffffffff', 'cut off'],
  ['an array as long as memory', '9b7fffffffffffffff', 'cut off'],
  ['an array longer than the rest', '8401', 'cut off'],
  ['a map longer than the rest', 'a2416101', 'cut off'],
  ['a map without its last value', 'a14161', 'cut off'],
  ['an array without a break', '9f01', 'cut off'],
  ['chunks without a break', '5f4161', 'cut off'],
  ['a float that is cut off', 'fb3ff0', 'cut off'],
  ['a reserved length', '1c', 'additional information 28'],
  ['a reserved length of a tag', 'dc', 'additional information 28'],
  ['an integer of indefinite length', '1f', 'additional information 31'],
  ['a tag of indefinite length', 'df00', 'additional information 31'],
  ['a break alone', 'ff', 'expected false, true, null or a float'],
  ['a break in an array of known length', '82 01 ff', 'expected false, true, null or a float'],
  ['a break in the place of a value', 'bf 4161 ff', 'expected false, true, null or a float'],
  ['undefined', 'f7', 'expected false, true, null or a float'],
  ['a simple value', 'f0', 'expected false, true, null or a float'],
  ['a simple value of two bytes', 'f8ff', 'expected false, true, null or a float'],
  ['infinity', 'f97c00', 'byte 0: expected a float that is finite'],
  ['negative infinity', 'faff800000', 'expected a float that is finite'],
  ['no number', 'fb7ff8000000000000', 'expected a float that is finite'],
  ['an integer above int64', '1b8000000000000000', 'expected an integer in the range of int64'],
  ['the largest integer', '1bffffffffffffffff', 'expected an integer in the range of int64'],
  ['an integer below int64', '3b8000000000000000', 'expected an integer in the range of int64'],
  ['a bignum', 'c249010000000000000000', 'byte 0: an item in tag 2 is not supported'],
  ['a negative bignum', 'c340', 'tag 3 is not supported'],
  ['an epoch time', 'c11a514b67b0', 'tag 1 is not supported'],
  ['a text in tag 0 that is no time', 'c06161', 'byte 0: expected a text string with an RFC 3339 time'],
  ['a byte string in tag 0', `c054${Buffer.from('2013-03-21T20:04:00Z').toString('hex')}`, 'RFC 3339 time in tag 0'],
  ['a number in tag 0', 'c000', 'RFC 3339 time in tag 0'],
  ['a text string in tag 22', 'd6 6161', 'byte 0: expected a byte string in tags 21 to 23'],
  ['a number in tag 22', 'd6 01', 'expected a byte string in tags 21 to 23'],
  ['tag 22 twice', 'd6 d6 4161', 'expected a byte string in tags 21 to 23'],
  ['a text in tag 22 that is cut off', 'd6 4261', 'cut off'],
  ['two equal keys', 'a2 4161 01 4161 02', 'byte 4: the map has the key "a" twice'],
  ['equal keys as text and bytes', 'a2 4161 01 6161 02', 'the map has the key "a" twice'],
  ['equal keys in different chunks', 'a2 5f4161ff 01 4161 02', 'the map has the key "a" twice'],
  ['equal keys in a map of indefinite length', 'bf 4161 01 4161 02 ff', 'the map has the key "a" twice'],
  ['equal keys of a prototype', `a2 ${'495f5f70726f746f5f5f01'.repeat(2)}`, 'the map has the key "__proto__" twice'],
  ['a key that is a number', 'a1 01 01', 'byte 1: expected a map key that is a string'],
  ['a key that is an array', 'a1 80 01', 'expected a map key that is a string'],
  ['a text that is no UTF-8', '6180', 'byte 1: expected valid UTF-8'],
  ['a byte string that is no UTF-8', '41ff', 'byte 1: expected valid UTF-8'],
  ['a long text that is no UTF-8', `7830${'c3bc'.repeat(23)}c3c3`, 'expected valid UTF-8'],
  ['a key that is no UTF-8', 'a141ff01', 'byte 2: expected valid UTF-8'],
  ['half of a surrogate pair', '63eda080', 'expected valid UTF-8'],
  ['a character in two text chunks', '7f61c361bcff', 'expected valid UTF-8'],
  ['a chunk of another type', '5f6161ff', 'byte 1: expected a chunk of the same type'],
  ['chunks in a chunk', '5f5f4161ffff', 'expected a chunk of the same type'],
  ['too deep an array', `${'81'.repeat(limits.depthMax + 1)}00`, 'expected no more than 64 levels of nesting'],
  ['too deep a map', `${'a14161'.repeat(limits.depthMax + 1)}00`, 'levels of nesting'],
  ['too deep an array of indefinite length', '9f'.repeat(1_000_000), 'levels of nesting'],
  ['arrays as keys', 'a1'.repeat(1_000_000), 'levels of nesting'],
  ['tags without end', 'c6'.repeat(1_000_000), 'cut off'],
];
describe('refused', () => {
  for (const [why, item, part] of refused) {
    test(why, () => {
      const wanted = (error: unknown): boolean =>
        error instanceof StatusError &&
        error.code === 400 &&
        error.message.startsWith('error decoding CBOR: byte ') &&
        error.message.includes(part);
      assert.throws(() => read(item), wanted);
    });
  }

  test('a prefix of any item', () => {
    for (const [, item] of both) {
      const bytes = hex(item);
      for (let end = 0; end < bytes.length; end++) assert.throws(() => parseCbor(bytes.subarray(0, end)), StatusError);
    }
  });

  test('too many elements, at every depth', () => {
    const max = limits.elementsMax;
    const array = (count: number) => Buffer.concat([hex('9f'), Buffer.alloc(count), hex('ff')]);
    assert.doesNotThrow(() => parseCbor(array(max)));
    assert.throws(() => parseCbor(array(max + 1)), /expected no more than 250000 elements/);
    const chunks = Buffer.concat([hex('7f'), Buffer.alloc(max + 1, 0x60), hex('ff')]);
    assert.throws(() => parseCbor(chunks), /expected no more than 250000 elements/);
    const nested = Buffer.concat([hex('9f'), ...Array(1_000).fill(array(max / 1_000)), hex('ff')]);
    assert.throws(() => parseCbor(nested), /expected no more than 250000 elements/);
  });

  test('a long key is named by its start', () => {
    const key = written('k'.repeat(100_000));
    assert.throws(
      () => read(`a2 ${key} 01 ${key} 02`),
      ({ message }: StatusError) => /the map has the key "k+" twice/.test(message) && message.length < 250,
    );
  });

  test('the deepest item is read', () => {
    const max = limits.depthMax;
    assert.doesNotThrow(() => read(`${'81'.repeat(max)}00`));
    assert.doesNotThrow(() => read(`${'d9d9f7a14161'.repeat(max)}00`));
  });
});

const leaf = struct('test.v1.Leaf', 'A leaf.', { data: opt(1, bytes(), 'Bytes.'), text: opt(2, string(), 'Text.') });
const anyName: StructSchema = {
  ...struct('test.v1.Open', 'Fields of any name.', { one: opt(1, string(), 'Text.') }),
  additional: bytes(),
};
const tree: StructSchema = struct('test.v1.Tree', 'A tree.', {
  kind: opt(0, string(), 'Kind.'),
  leaf: opt(1, leaf, 'One.'),
  leaves: opt(2, list(leaf), 'Many.'),
  data: opt(3, map(bytes()), 'Bytes by name.'),
  next: opt(4, () => tree, 'The next.'),
  any: opt(5, anyValue(), 'Anything.'),
  open: opt(6, anyName, 'More.'),
});

describe('bytes', () => {
  test('are read from byte strings in tags 21 to 23 where the schema has bytes, and from base64', () => {
    const parse = (item: string): unknown => parseCbor(hex(item), { schema: tree }).value;
    for (const [item, base64, text] of [
      ['d6 43 fbff01', '+/8B', '+/8B'],
      ['d5 43 fbff01', '+/8B', '-_8B'],
      ['d7 43 fbff01', '+/8B', 'fbff01'],
      ['d5 5f 41fb 42ff01 ff', '+/8B', '-_8B'],
      ['d9d9f7 d7 43 fbff01', '+/8B', 'fbff01'],
      ['44 2b2f3842', '+/8B', '+/8B'],
      ['64 2b2f3842', '+/8B', '+/8B'],
    ] as const) {
      for (const [before, of] of [
        ['a1 4464617461 a1 416b', (value: string) => ({ data: { k: value } })],
        ['a1 446c656166 a1 4464617461', (value: string) => ({ leaf: { data: value } })],
        ['a1 466c6561766573 82 a0 a1 4464617461', (value: string) => ({ leaves: [{}, { data: value }] })],
        ['a1 446e657874 a1 4464617461 a1 416b', (value: string) => ({ next: { data: { k: value } } })],
        ['a1 446f70656e a1 496f74686572206f6e65', (value: string) => ({ open: { 'other one': value } })],
      ] as const)
        assert.deepEqual(parse(`${before} ${item}`), of(base64), `${before} ${item}`);
      for (const [before, of] of [
        ['a1 446c656166 a1 4474657874', (value: string) => ({ leaf: { text: value } })],
        ['a1 43616e79 a1 4464617461', (value: string) => ({ any: { data: value } })],
        ['a1 456f74686572', (value: string) => ({ other: value })],
        ['81', (value: string) => [value]],
      ] as const)
        assert.deepEqual(parse(`${before} ${item}`), of(text), `${before} ${item}`);
      assert.deepEqual(parse(`a1 4464617461 a1 ${item} ${item}`), { data: { [text]: base64 } }, 'a key is a text');
    }
    const both = 'a2 4464617461 81 d742fbff 446c656166 d742fbff';
    assert.deepEqual(parse(both), { data: ['fbff'], leaf: 'fbff' }, 'values of other types stay as they are');
    assert.deepEqual(parse('a1 4464617461 a1 495f5f70726f746f5f5f d741fb'), {
      data: Object.fromEntries([['__proto__', '+w==']]),
    });
  });

  test('are byte strings in tag 22 where the schema has bytes', () => {
    const rows: readonly (readonly [value: object, item: string])[] = [
      [{ leaf: { data: 'aGk=', text: 'aGk=' } }, 'a1 446c656166 a2 4464617461 d6426869 4474657874 4461476b3d'],
      [{ leaves: [{ data: '' }] }, 'a1 466c6561766573 81 a1 4464617461 d640'],
      [{ data: { k: 'aGk=' } }, 'a1 4464617461 a1 416b d6426869'],
      [{ next: { data: { k: 'aA==' } } }, 'a1 446e657874 a1 4464617461 a1 416b d64168'],
      [{ open: { k: 'aA==', one: 'aA==' } }, 'a1 446f70656e a2 416b d64168 436f6e65 4461413d3d'],
      [{ any: { data: 'aA==' } }, 'a1 43616e79 a1 4464617461 4461413d3d'],
      [{ other: 'aA==' }, 'a1 456f74686572 4461413d3d'],
      [{ data: { k: null } }, 'a1 4464617461 a1 416b f6'],
    ];
    for (const [value, item] of rows) {
      assert.equal(written(value, tree), item.replaceAll(' ', ''));
      assert.deepEqual(read(item), value);
    }
  });
});

describe('deterministic encoding', () => {
  test('fields are in the order of their encoded names', () => {
    const names = [
      'b',
      'a',
      'bb',
      'aa',
      'z'.repeat(23),
      'a'.repeat(24),
      '\u00fc',
      'zz',
      'a'.repeat(300),
      '\uffff',
      '\u{10000}',
    ];
    const encoded = written(Object.fromEntries(names.map((name) => [name, 0])));
    const expected = names.map((name) => `${written(name)}00`).sort();
    assert.equal(encoded, `ab${expected.join('')}`);
  });

  test('numbers beyond int64 are floats', () => {
    assert.equal(written(2n ** 64n), 'fa5f800000');
    assert.equal(written(2n ** 63n), 'fa5f000000');
    assert.equal(written(-(2n ** 63n) - 1n), 'fadf000000');
    assert.equal(written(1e21), 'fb444b1ae4d6e2ef50');
    assert.equal(written(-0), '00');
  });

  test('an integer is the same item whatever its type', () => {
    for (const number of [0, -1, 23, 24, -257, 2 ** 40, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])
      assert.equal(written(BigInt(number)), written(number));
  });

  test('two writers at once share nothing', () => {
    const [first, second] = [new CborWriter(), new CborWriter()];
    first.text('a');
    second.text('bb');
    first.text('c');
    assert.deepEqual([first.finish(), second.finish()], [hex('41614163'), hex('426262')]);
  });

  test('undefined fields are omitted; names that become equal are one', () => {
    assert.equal(written({ a: undefined, b: 1 }), 'a1416201');
    assert.equal(written({ '\ud800': 1, '\ud801': 2 }), 'a143efbfbd02');
  });
});

test('the items of a list are read one by one, as they are sent', () => {
  let taken = 0;
  const items = function* (): Generator<string, void> {
    for (const item of ['a', 'b']) {
      taken++;
      yield item;
    }
  };
  const shape = { head: { kind: 'L', metadata: {} }, field: 'items', items: items(), count: () => 2 };
  const pieces: Uint8Array[] = [];
  const takenBefore: number[] = [];
  for (const piece of encodeCborList(shape, (item) => encodeElement(item))) {
    assert.ok(piece instanceof Uint8Array);
    pieces.push(piece);
    takenBefore.push(taken);
  }
  assert.deepEqual(takenBefore, [0, 1, 2, 2]);
  assert.deepEqual(Buffer.concat(pieces), encodeCbor({ ...shape.head, items: ['a', 'b'] }));
});

test('a kept name is not found by bytes that are its characters', () => {
  const names = new FieldNames();
  // Some of these share a place in the table with their characters.
  for (let first = 0x80; first <= 0xff; first++) {
    for (let second = 0x80; second <= 0xff; second++) {
      const name = String.fromCharCode(first, second);
      const [utf8, latin1] = [Buffer.from(name), Buffer.from(name, 'latin1')];
      names.keep(utf8, 0, utf8.length, name);
      assert.equal(names.find(latin1, 0, latin1.length), undefined, name);
    }
  }
});

test('names that were read before do not stand for other bytes', () => {
  // The UTF-8 of the second name are the character codes of the first.
  for (const name of ['\u00c3\u00a9', '\u00e9', '\u00c3\u00a9', 'ab', 'ba', 'ab', '', 'a']) {
    assert.deepEqual(read(`a1${written(name)}01`), { [name]: 1 });
  }
});

const wholeNumber = fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(plain));
const key = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('__proto__', 'constructor', 'metadata'),
);
const jsonValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    wholeNumber,
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => value + 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(key, tie('value'), { noNullPrototype: true }),
  ),
})).value;

/** The form in which integers are parsed. */
function plain(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

test('any JSON value is read as it was written, and written in one way only', () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const encoded = encodeCbor(value);
      const { value: decoded } = parseCbor(encoded);
      assert.deepEqual(decoded, value);
      assert.deepEqual(encodeCbor(decoded), encoded);
      assert.deepEqual(encodeCbor(reversed(decoded)), encoded);
    }),
    { numRuns: 1_000 },
  );
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, reversed(each)])
      .reverse(),
  );
}
