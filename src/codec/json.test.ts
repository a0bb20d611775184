import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../base/limits.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { setOwn } from '../schema/own-property.ts';
import { encodeObject, type ParsedJson, parseJson, parseStored, stringifyJson } from './json.ts';
import { insertResourceVersion } from './object-bytes.ts';

const parse = (text: string): ParsedJson => parseJson(Buffer.from(text));

/** The message of the BadRequest that parsing throws. */
function refusal(bytes: Uint8Array): string {
  try {
    parseJson(bytes);
  } catch (error) {
    assert.ok(error instanceof StatusError);
    assert.equal(error.reason, 'BadRequest');
    return error.message;
  }
  return 'none';
}

test('errors have a position', () => {
  for (const [text, message] of [
    ['', 'line 1 column 1: expected a value, got end of input'],
    ['{"metadata":{"a"', 'line 1 column 17: expected ":" after a field name, got end of input'],
    ['{\n  "a": 1,\n  }', 'line 3 column 3: expected a field name, got "}"'],
    ['{1:2}', 'line 1 column 2: expected a field name or "}", got "1"'],
    ['{"a":1 "b":2}', 'line 1 column 8: expected "," or "}" after a field, got "\\""'],
    ['[1,]', 'line 1 column 4: expected a value, got "]"'],
    ['[1 2]', 'line 1 column 4: expected "," or "]" after an array element, got "2"'],
    ['{} {}', 'line 1 column 4: expected end of input after the value, got "{"'],
    ['{}\0', 'line 1 column 3: expected end of input after the value, got "\\u0000"'],
    ['01', 'line 1 column 2: expected end of input after the value, got "1"'],
    ['nul', 'line 1 column 1: expected a value, got "n"'],
    ['NaN', 'line 1 column 1: expected a value, got "N"'],
    ['"\\x"', 'line 1 column 2: expected an escape sequence such as \\n or \\u0000, got "\\\\"'],
    ['"a\tb"', 'line 1 column 3: expected a string that ends with \'"\' and has no control characters, got "\\t"'],
    ['"abc', "line 1 column 5: expected a string that ends with '\"' and has no control characters, got end of input"],
    ['[1e400]', 'line 1 column 2: expected a number in the range of a 64-bit float'],
    [`[-${'9'.repeat(400)}]`, 'line 1 column 2: expected a number in the range of a 64-bit float'],
    ['\ufeff{}', 'line 1 column 1: expected a value, got "\ufeff"'],
    ['[\u{1f600}]', 'line 1 column 2: expected a value, got "\u{1f600}"'],
  ] as const) {
    assert.equal(refusal(Buffer.from(text)), `error decoding JSON: ${message}`);
  }
});

test('bytes that are not UTF-8 are refused with their place', () => {
  for (const [bytes, column] of [
    [[0x22, 0xff, 0x22], 2],
    [[0x22, 0x61, 0xc3, 0x22], 3],
    [[0x22, 0xed, 0xa0, 0x80, 0x22], 2],
    [[0xc3], 1],
  ] as const) {
    assert.equal(refusal(Uint8Array.from(bytes)), `error decoding JSON: line 1 column ${column}: expected valid UTF-8`);
  }
});

test('half a surrogate pair is replaced, in names and values: UTF-8 has no form for it', () => {
  for (const [text, value] of [
    ['"\\ud800"', '\ufffd'],
    ['"\\uDFFFx"', '\ufffdx'],
    ['"\\udc00\\ud800"', '\ufffd\ufffd'],
    ['"\\ud83d\\ud83d\\ude00\\ude00"', '\ufffd\u{1f600}\ufffd'],
    ['"\\uD83D\\uDE00"', '\u{1f600}'],
    ['"\\ud83d\u{1f600}"', '\ufffd\u{1f600}'],
    ['"\\\\ud800"', '\\ud800'],
    ['"\\\\\\ud800"', '\\\ufffd'],
    ['"\\ud7ff\\ue000"', '\ud7ff\ue000'],
    ['{"\\ud800":["\\udbff"]}', { '\ufffd': ['\ufffd'] }],
    ['{"\\ud800":12345678901234567890}', { '\ufffd': 12345678901234567890n }],
  ] as const) {
    assert.deepEqual(parse(text).value, value, text);
  }
  assert.deepEqual(parse('{"\\ud800":1,"\\ud801":2}').duplicates.length, 1);
});

test('nesting is bounded', () => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  parse(nested(limits.depthMax));
  const message = `error decoding JSON: line 1 column ${limits.depthMax + 1}: expected no more than ${limits.depthMax} levels of nesting`;
  assert.equal(refusal(Buffer.from(nested(limits.depthMax + 1))), message);
  assert.equal(refusal(Buffer.from('['.repeat(1e6))), message);
  parse(JSON.stringify('['.repeat(1000)));
});

test('duplicate fields are reported once each, and the last one wins', () => {
  for (const [text, value, duplicates] of [
    ['{"a":1,"a":2,"a":3}', { a: 3 }, ['a']],
    ['{"a":1,"\\u0061":2}', { a: 2 }, ['a']],
    ['{"metadata":{"labels":{"a":"b","a":"c"}}}', { metadata: { labels: { a: 'c' } } }, ['metadata.labels.a']],
    ['{"a":[{"b":1},{"b":1,"b":{"c":1,"c":2}}]}', { a: [{ b: 1 }, { b: { c: 2 } }] }, ['a[1].b', 'a[1].b.c']],
    ['[[{"a":1,"a":1}]]', [[{ a: 1 }]], ['[0][0].a']],
    ['{"":1,"":2}', { '': 2 }, ['']],
    ['{"a":{"b":1},"b":{"a":":{,"}}', { a: { b: 1 }, b: { a: ':{,' } }, []],
  ] as const) {
    assert.deepEqual(parse(text), { value, duplicates });
  }
});

test('the number of reported duplicates is bounded', () => {
  const fields = Array.from({ length: 5000 }, (_, index) => `"f${index}":1,"f${index}":2`);
  assert.equal(parse(`{${fields.join(',')}}`).duplicates.length, limits.findingsMax);
});

test('integers keep their value', () => {
  for (const [text, value] of [
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['{"a":[123456789012345678901234567890]}', { a: [123456789012345678901234567890n] }],
    ['1.5', 1.5],
    ['1e3', 1000],
    ['1E-2', 0.01],
    ['0.12345678901234567890', 0.12345678901234568],
    ['"9007199254740993"', '9007199254740993'],
  ] as const) {
    const parsed = parse(text).value;
    assert.deepEqual(parsed, value);
    assert.deepEqual(parse(stringifyJson(parsed)).value, value);
    assert.deepEqual(parseStored(Buffer.from(stringifyJson(parsed))), value);
  }
});

test('__proto__ is a field like any other', () => {
  for (const text of ['{"__proto__":{"a":1}}', '{"__proto__":{"a":9007199254740993}}']) {
    const { value } = parse(text);
    assert.equal(stringifyJson(value), text);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  }
  assert.deepEqual(parse('{"__proto__":1,"__proto__":2}').duplicates, ['__proto__']);
});

/** JSON text with bigints as numbers, for comparison with JSON.parse, which has no bigints. */
const plainText = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));

/** The result of JSON.parse, or undefined if the text is not JSON. */
function engineParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test('names of fields are right whatever was read before (nodejs/node#63785)', () => {
  for (const [first, second] of [
    ['{"h":1,"\\\\":2}', '{"h":1,"\\"":2}'],
    ['{"i":1,"k:{\\\\\\"type\\\\\\":\\\\\\"Rea":2}', '{"i":1,"k:{\\"type\\":\\"Ready\\"}":2}'],
    ['{"j":1,"a\\\\":2}', '{"j":1,"a\\n":2}'],
  ] as const) {
    for (const text of [first, second, first, second]) {
      assert.equal(stringifyJson(parse(text).value), text);
      assert.equal(stringifyJson(parseStored(Buffer.from(text))), text);
    }
  }
});

const holdsInfinity = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(holdsInfinity)
    : typeof value === 'number' && !Number.isFinite(value);

test('agrees with JSON.parse on valid and mutated JSON', () => {
  const changes = fc.array(
    fc.record({ at: fc.nat(200), text: fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '0', 'e', '\n') }),
    { maxLength: 2 },
  );
  fc.assert(
    fc.property(fc.json({ depthSize: 'medium' }), changes, (json, edits) => {
      const text = edits.reduce((all, { at, text: put }) => all.slice(0, at) + put + all.slice(at + 1), json);
      const expected = engineParse(text);
      if (expected === undefined || holdsInfinity(expected)) {
        assert.match(refusal(Buffer.from(text)), /^error decoding JSON: line \d+ column \d+: /);
      } else if (text.includes('\\'))
        parse(text); // JSON.parse may get field names wrong.
      else assert.equal(plainText(parse(text).value), plainText(expected));
    }),
    { numRuns: 500 },
  );
});

/** Objects as lists of fields, so that a field can occur twice. */
interface Written {
  readonly text: string;
  readonly value: unknown;
  readonly duplicates: readonly string[];
}

const names = fc.constantFrom('a', 'b', 'c', '__proto__', '"', '\\');
const { written } = fc.letrec<{ written: Written }>((tie) => ({
  written: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc
      .constantFrom(null, true, 1, 'a:"')
      .map((value): Written => ({ text: JSON.stringify(value), value, duplicates: [] })),
    fc.array(tie('written'), { maxLength: 3 }).map(writeArray),
    fc.array(fc.tuple(names, tie('written')), { maxLength: 4 }).map(writeObject),
  ),
}));

function writeArray(items: readonly Written[]): Written {
  return {
    value: items.map(({ value }) => value),
    text: `[${items.map(({ text }) => text).join(' , ')}]`,
    duplicates: items.flatMap(({ duplicates }, index) => duplicates.map((path) => join(`[${index}]`, path))),
  };
}

function writeObject(fields: readonly (readonly [string, Written])[]): Written {
  const value = {};
  for (const [name, written] of fields) setOwn(value, name, written.value);
  return {
    value,
    text: `{${fields.map(([name, { text }]) => `${JSON.stringify(name)}:${text}`).join(',')}}`,
    duplicates: fields.flatMap(([name, { duplicates }], index) => [
      ...(fields.slice(0, index).some(([before]) => before === name) ? [name] : []),
      ...duplicates.map((path) => join(name, path)),
    ]),
  };
}

const join = (step: string, path: string): string => (path.startsWith('[') ? step + path : `${step}.${path}`);

test('finds all duplicates at any depth', () => {
  fc.assert(
    fc.property(written, ({ text, value, duplicates }) => {
      const parsed = parse(text);
      assert.deepEqual(parsed.value, value);
      assert.deepEqual(new Set(parsed.duplicates), new Set(duplicates));
    }),
    { numRuns: 300 },
  );
});

test('stored objects begin with kind, apiVersion and metadata, and have no resourceVersion', () => {
  const object: ApiObject = {
    data: { big: 9007199254740993n },
    metadata: { resourceVersion: '5', name: 'a' },
    apiVersion: 'v1',
    kind: 'Thing',
  };
  const before = structuredClone(object);
  const stored = encodeObject(object);
  assert.equal(
    stored.toString(),
    '{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a"},"data":{"big":9007199254740993}}',
  );
  assert.deepEqual(object, before);
  assert.deepEqual(parseStored(insertResourceVersion(stored, 5)), object);
  assert.throws(() => encodeObject({ apiVersion: 'v1', kind: 'Thing', metadata: { resourceVersion: '5' } }), TypeError);
});

test('long digits are exact in numbers and unchanged in strings', () => {
  const text =
    '{"version":"1767225600000000","at":1767225600000000,"1234567890123456":[12345678901234567,-9007199254740993]}';
  assert.equal(stringifyJson(parseStored(Buffer.from(text))), text);
});

test('pretty text has a line for each field', () => {
  assert.equal(stringifyJson({ a: [1n] }, { pretty: true }), '{\n  "a": [\n    1\n  ]\n}');
  assert.equal(stringifyJson({ a: [1] }), '{"a":[1]}');
});

test('a cyclic value is rejected', () => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  assert.throws(() => stringifyJson(loop), TypeError);
});

test('the elements of a document are bounded: each costs more in memory than on the wire', () => {
  const many = (count: number) => Buffer.from(`{"a":[${Array.from({ length: count }, () => '1').join(',')}]}`);
  assert.equal((parseJson(many(limits.elementsMax - 2)).value as { a: unknown[] }).a.length, limits.elementsMax - 2);
  assert.throws(() => parseJson(many(limits.elementsMax + 1)), /more than \d+ elements/);
  assert.throws(() => parseJson(Buffer.from(`[${'{},'.repeat(limits.elementsMax)}{}]`)), /more than \d+ elements/);
});

describe('both bounds refuse before anything is parsed', () => {
  const deep = `${'['.repeat(limits.depthMax)}${']'.repeat(limits.depthMax)}`;
  const many = '1,'.repeat(limits.elementsMax + 1);
  const tooDeep = /expected no more than \d+ levels of nesting$/;
  const tooMany = /more than \d+ elements in lists and objects$/;
  for (const [what, text, message] of [
    ['one corner that is too deep, after all else', `{"a":[${'1,'.repeat(100_000)}${deep}]}`, tooDeep],
    ['one after what is not JSON', `{"a":nonsense,"b":${deep}}`, tooDeep],
    ['one after a field that stands twice and a long number', `{"a":1,"a":12345678901234567890,"b":${deep}}`, tooDeep],
    ['too many elements', `[${many}1]`, tooMany],
    ['too many after what is not JSON', `[nonsense,${many}1]`, tooMany],
    ['too many before a corner that is too deep', `[${many}${deep}]`, tooMany],
    ['a corner that is too deep before too many', `[${deep},${many}1]`, tooDeep],
    ['text that only looks deep, in too many', `["${'['.repeat(100)}",${many}1]`, tooMany],
  ] as const) {
    it(what, () => assert.match(refusal(Buffer.from(text)), message));
  }

  it('the place of a corner is told in lines and in UTF-16 code units', () => {
    const before = '{"é":"😀",\n\n  "b":';
    const column = '  "b":'.length + limits.depthMax;
    assert.equal(
      refusal(Buffer.from(`${before}${deep}}`)),
      `error decoding JSON: line 3 column ${column}: expected no more than ${limits.depthMax} levels of nesting`,
    );
  });
});
