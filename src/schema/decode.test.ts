import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../base/limits.ts';
import { decode } from './decode.ts';
import {
  always,
  anyObject,
  anyValue,
  bool,
  bytes,
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
  type StructSchema,
  string,
  struct,
  time,
} from './schema.ts';
import { presentValuesOf } from './values-fixture.ts';

const leaf = struct('test.v1.Leaf', 'A part.', {
  name: req(1, string(), 'Its name.'),
  port: ptr(2, int32(), 'Its port.'),
});

const node: StructSchema = struct('test.v1.Node', 'Holds itself.', {
  name: opt(1, string(), 'Its name.'),
  children: opt(2, () => list(node), 'More of its kind.'),
  left: opt(3, () => node, 'One more.'),
});

const thing = struct('test.v1.Thing', 'Has a field of each type.', {
  text: opt(1, string(), 'A text.'),
  count: opt(2, int32(), 'A number.'),
  total: opt(3, int64(), 'A great number.'),
  ratio: opt(4, number(), 'A fraction.'),
  on: opt(5, bool(), 'A switch.'),
  off: ptr(6, bool(), 'A switch that can be off.'),
  data: opt(7, map(bytes()), 'Bytes.'),
  when: opt(8, time(), 'A time.'),
  exact: opt(9, microTime(), 'A fine time.'),
  amount: opt(10, quantity(), 'A quantity.'),
  port: opt(11, intOrString(), 'A port.'),
  labels: opt(12, map(string()), 'Labels.'),
  parts: opt(13, list(leaf), 'Parts.'),
  words: opt(14, list(string()), 'Words.'),
  part: opt(15, leaf, 'A part.'),
  always: always(16, leaf, 'A part that is always there.'),
  raw: opt(17, anyObject(), 'Any object.'),
  value: opt(18, anyValue(), 'Any value.'),
  byName: opt(19, map(leaf), 'Parts by name.'),
});

const bare = { always: {} };

test('values of each type', () => {
  for (const [value, decoded] of [
    [{}, bare],
    [{ text: 'a' }, { text: 'a', ...bare }],
    [{ count: -0 }, bare],
    [{ count: 1.0 }, { count: 1, ...bare }],
    [{ count: -(2 ** 31) }, { count: -(2 ** 31), ...bare }],
    [{ total: 2n ** 63n - 1n }, { total: 2n ** 63n - 1n, ...bare }],
    [{ total: 12n }, { total: 12, ...bare }],
    [{ total: 2 ** 60 }, { total: 2n ** 60n, ...bare }],
    [{ ratio: 0.5 }, { ratio: 0.5, ...bare }],
    [{ ratio: 2n ** 60n }, { ratio: 2 ** 60, ...bare }],
    [{ data: { a: 'aGk=', b: '' } }, { data: { a: 'aGk=', b: '' }, ...bare }],
    [{ data: { a: 'aG\r\nk=\n', b: null } }, { data: { a: 'aGk=', b: '' }, ...bare }],
    [{ data: { a: 'aGl=' } }, { data: { a: 'aGk=' }, ...bare }],
    [{ when: '2006-01-02T15:04:05+01:00' }, { when: '2006-01-02T14:04:05Z', ...bare }],
    [{ exact: '2006-01-02T16:04:05.500000+01:00' }, { exact: '2006-01-02T15:04:05.500000Z', ...bare }],
    [{ amount: '0.5' }, { amount: '500m', ...bare }],
    [{ amount: 1024 }, { amount: '1024', ...bare }],
    [{ port: 80 }, { port: 80, ...bare }],
    [{ port: 'http' }, { port: 'http', ...bare }],
    [{ port: 0 }, { port: 0, ...bare }],
    [{ raw: { a: [1, null, 2n ** 70n] } }, { raw: { a: [1, null, 2n ** 70n] }, ...bare }],
    [{ value: [] }, { value: [], ...bare }],
  ] as const) {
    assert.deepEqual(decode(thing, value), { value: decoded, unknown: [], errors: [] });
  }
});

test('presence drops zero values of implicit fields only, and null is absent', () => {
  const zeros = { text: '', count: 0, on: false, off: false, labels: {}, words: [], data: {}, parts: [], ratio: 0 };
  assert.deepEqual(decode(thing, zeros).value, { off: false, ...bare });
  assert.deepEqual(decode(thing, { text: null, part: null, always: null, off: null, value: null }).value, bare);
  assert.deepEqual(decode(thing, { part: {} }).value, { part: {}, ...bare });
});

test('null elements are zero values', () => {
  assert.deepEqual(decode(thing, { labels: { a: null }, words: [null, 'b'], parts: [null] }).value, {
    labels: { a: '' },
    words: ['', 'b'],
    parts: [{}],
    ...bare,
  });
});

test('`always` fields are present at any depth, with their zero value', () => {
  const inner = struct('test.v1.Inner', 'Inner.', {
    type: always(1, string(), 'Type.'),
    when: always(2, time(), 'When.'),
    count: always(3, int32(), 'Count.'),
    on: always(4, bool(), 'On.'),
  });
  const outer = struct('test.v1.Outer', 'Outer.', { inner: always(1, inner, 'Inner.') });
  const empty = { inner: { type: '', when: null, count: 0, on: false } };
  assert.deepEqual(decode(outer, {}).value, empty);
  assert.deepEqual(decode(outer, { inner: { when: null } }).value, empty);
  assert.deepEqual(decode(outer, empty), { value: empty, unknown: [], errors: [] });
});

test('type errors have the path, the expected and the actual type', () => {
  for (const [value, path, expected, got] of [
    [[], '', 'object', 'array'],
    [null, '', 'object', 'null'],
    ['x', '', 'object', 'string'],
    [{ text: 1 }, 'text', 'string', 'number'],
    [{ text: {} }, 'text', 'string', 'object'],
    [{ count: '1' }, 'count', 'integer', 'string'],
    [{ count: 1.5 }, 'count', 'integer', '1.5'],
    [{ count: 2 ** 31 }, 'count', 'integer in the range of int32', '2147483648'],
    [{ total: 2n ** 63n }, 'total', 'integer in the range of int64', '9223372036854775808'],
    [{ ratio: 'x' }, 'ratio', 'number', 'string'],
    [{ on: 'true' }, 'on', 'boolean', 'string'],
    [{ data: [] }, 'data', 'object', 'array'],
    [{ data: { a: 'no base64!' } }, 'data.a', 'base64 string', 'string that is not base64'],
    [{ data: { a: 'aGk' } }, 'data.a', 'base64 string', 'string that is not base64'],
    [{ data: { a: 'aG_-' } }, 'data.a', 'base64 string', 'string that is not base64'],
    [{ when: 'now' }, 'when', 'RFC 3339 time (e.g. "2006-01-02T15:04:05Z")', '"now"'],
    [{ when: 5 }, 'when', 'RFC 3339 time (e.g. "2006-01-02T15:04:05Z")', 'number'],
    [{ amount: '1x' }, 'amount', 'quantity (e.g. "500m", "2Gi")', '"1x"'],
    [{ amount: true }, 'amount', 'quantity', 'boolean'],
    [{ port: 1.5 }, 'port', 'integer', '1.5'],
    [{ port: [] }, 'port', 'integer or string', 'array'],
    [{ labels: { a: 1 } }, 'labels.a', 'string', 'number'],
    [{ words: 'a' }, 'words', 'array', 'string'],
    [{ words: ['a', true] }, 'words[1]', 'string', 'boolean'],
    [{ parts: [{}, { name: 3 }] }, 'parts[1].name', 'string', 'number'],
    [{ byName: { 'a.b': { port: 'x' } } }, 'byName.a.b.port', 'integer', 'string'],
    [{ raw: [] }, 'raw', 'object', 'array'],
    [{ raw: 5n }, 'raw', 'object', 'number'],
  ] as const) {
    assert.deepEqual(decode(thing, value).errors, [{ path, expected, got }]);
  }
});

test('long values are truncated in errors', () => {
  const [error] = decode(thing, { when: 'x'.repeat(1000) }).errors;
  assert.ok(error && error.got.length < 100);
});

test('unknown fields are pruned and reported in input order; names are case-sensitive', () => {
  const value = {
    Text: 'a',
    parts: [{ name: 'a', Port: 1, x: 1 }],
    zzz: { deep: 1 },
    labels: { any: 'thing' },
    part: { port: 1, more: [] },
    aaa: null,
    raw: { any: { thing: 1 } },
  };
  assert.deepEqual(decode(thing, value), {
    value: {
      labels: { any: 'thing' },
      parts: [{ name: 'a' }],
      part: { port: 1 },
      raw: { any: { thing: 1 } },
      ...bare,
    },
    unknown: ['Text', 'parts[0].Port', 'parts[0].x', 'zzz', 'part.more', 'aaa'],
    errors: [],
  });
});

test('fields that are undefined are absent, known or not', () => {
  assert.deepEqual(decode(thing, { text: undefined, other: undefined }), { value: bare, unknown: [], errors: [] });
});

test('struct fields come out in the order of the schema', () => {
  assert.deepEqual(Object.keys(decode(thing, { part: {}, on: true, text: 'a' }).value), [
    'text',
    'on',
    'part',
    'always',
  ]);
});

test('recursive structs', () => {
  const value = { name: 'a', children: [{ left: { name: 'b' } }], left: { children: [{ name: 'c' }] } };
  assert.deepEqual(decode(node, value), { value, unknown: [], errors: [] });
});

test('the number of reported errors is bounded, and the rest counted', () => {
  const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, 1]));
  assert.equal(decode(thing, unknown).unknown.length, limits.findingsMax);
  assert.equal(decode(thing, { words: Array.from({ length: 5000 }, () => 1) }).errors.length, limits.findingsMax);
  const omitted = 5000 - limits.findingsMax;
  assert.equal(decode(thing, unknown).omitted, omitted);
  assert.equal(decode(thing, { words: Array.from({ length: 5000 }, () => 1) }).omitted, omitted);
  const spread = decode(node, { children: Array.from({ length: 5000 }, (_, index) => ({ [`f${index}`]: 1 })) });
  assert.deepEqual([spread.unknown.length, spread.omitted], [limits.findingsMax, omitted]);
  assert.equal(spread.unknown[7], 'children[7].f7');
  const mixed = decode(node, { ...unknown, children: Array.from({ length: 10 }, () => ({ x: 1 })), y: 1 });
  assert.deepEqual([mixed.unknown.length, mixed.omitted], [limits.findingsMax, omitted + 11]);
});

test('fields may have names of prototype properties, and change no prototype', () => {
  const hostile = JSON.parse(`{
    "labels": {"__proto__": "a", "constructor": "b", "toString": "c"},
    "byName": {"__proto__": {"name": "x"}, "prototype": {}},
    "__proto__": {"text": "polluted"}, "constructor": {"prototype": {"polluted": 1}}
  }`);
  const { value, unknown, errors } = decode(thing, hostile);
  assert.deepEqual(errors, []);
  assert.deepEqual(unknown, ['__proto__', 'constructor']);
  assert.equal(JSON.stringify(value.labels), '{"__proto__":"a","constructor":"b","toString":"c"}');
  assert.equal(JSON.stringify(value.byName), '{"__proto__":{"name":"x"},"prototype":{}}');
  for (const object of [value, value.labels, value.byName]) {
    assert.equal(Object.getPrototypeOf(object), Object.prototype);
  }
  assert.equal(value.text, undefined);
  assert.equal((Object.prototype as Record<string, unknown>)['polluted'], undefined);
});

test('a schema may have fields with such names', () => {
  const schema = struct('test.v1.Odd', 'Odd.', {
    constructor: opt(1, string(), 'Odd.'),
    ['__proto__']: opt(2, string(), 'Odder.'),
  });
  assert.deepEqual(decode(schema, {}), { value: {}, unknown: [], errors: [] });
  const { value, unknown } = decode(schema, JSON.parse('{"constructor": "a", "__proto__": "b"}'));
  assert.deepEqual(unknown, []);
  assert.equal(JSON.stringify(value), '{"constructor":"a","__proto__":"b"}');
});

test('the input is not changed, and the result shares no struct, list or map with it', () => {
  const input = { parts: [{ name: 'a', x: 1 }], labels: { a: 'b' }, words: ['a'] };
  const before = structuredClone(input);
  const { value } = decode(thing, input);
  value.parts?.push({ name: 'b' });
  Object.assign(value.labels ?? {}, { c: 'd' });
  value.words?.push('c');
  assert.deepEqual(input, before);
});

test('decoding is idempotent', () => {
  fc.assert(
    fc.property(presentValuesOf(thing, 4), (input) => {
      const once = decode(thing, input);
      assert.deepEqual(once.errors, []);
      assert.deepEqual(decode(thing, once.value), { value: once.value, unknown: [], errors: [] });
    }),
    { numRuns: 100 },
  );
});

test('a value of one of several types is decoded by that one', () => {
  const schema: StructSchema = struct('test.v1.Several', 'A switch, or another one of these, or several.', {
    it: ptr(
      1,
      oneOf(
        { number: 1, schema: bool() },
        { number: 2, schema: () => schema },
        { number: 3, schema: () => list(schema) },
      ),
      'One.',
    ),
    flag: opt(2, bool(), 'A flag.'),
  });
  const rows: readonly (readonly [
    sent: unknown,
    kept: unknown,
    unknown: readonly string[],
    errors: readonly string[],
  ])[] = [
    [true, true, [], []],
    [{ it: false, more: 1 }, { it: false }, ['it.more'], []],
    [[{ it: [{ more: 1 }] }], [{ it: [{}] }], ['it[0].it[0].more'], []],
    ['x', 'x', [], ['it: boolean or object or array, string']],
    [{ flag: 1 }, { flag: 1 }, [], ['it.flag: boolean, number']],
  ];
  for (const [sent, kept, unknown, errors] of rows) {
    const decoded = decode(schema, { it: sent });
    assert.deepEqual(decoded.value, { it: kept });
    assert.deepEqual(decoded.unknown, unknown);
    assert.deepEqual(
      decoded.errors.map(({ path, expected, got }) => `${path}: ${expected}, ${got}`),
      errors,
    );
  }
});
