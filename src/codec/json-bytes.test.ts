import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonBytes } from './json-bytes.ts';

test('a value ends where its text does, whatever comes after it and wherever it begins', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', '\\', 'a', '#', ']', '\u00e9', '\u0080') }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.constantFrom(true, null),
      fc.array(tie('value')),
      fc.dictionary(text, tie('value')),
    ),
  }));
  const ends = fc.constantFrom('', ',', '}', ']', ',"', '}}}}', ',"\\"');
  fc.assert(
    fc.property(value, fc.nat(9), ends, (each, before, after) => {
      const json = JSON.stringify(each);
      const bytes = Buffer.from(`${' '.repeat(before)}${json}${after}`);
      assert.equal(new JsonBytes(bytes).skipValue(before), before + Buffer.byteLength(json));
    }),
    { numRuns: 1_000 },
  );
});

test('what is not there, or not ended', () => {
  for (const text of ['', ',', '}', '"', '"a', '"abc', '"abcd', '"abc\\"', '"\\', '[', '["]', '{"a":"}', '1"', 'tr:ue'])
    assert.equal(new JsonBytes(Buffer.from(text)).skipValue(0), -1, text);
  assert.equal(new JsonBytes(Buffer.from('1')).skipValue(1), -1);
});

test('members and bytes', () => {
  const json = new JsonBytes(Buffer.from('"a\\"b":1'));
  assert.equal(json.enterMember(0), 7);
  for (const text of ['"a"', '"a"1', 'a:1', '', '"a'])
    assert.equal(new JsonBytes(Buffer.from(text)).enterMember(0), -1);
  assert.deepEqual([json.at(0), json.at(7), json.at(8)], [0x22, 0x31, -1]);
  assert.ok(json.has(Buffer.from('b":1'), 4));
  assert.ok(!json.has(Buffer.from('b":2'), 4));
  assert.ok(!json.has(Buffer.from('":1,'), 5), 'behind the end');
});

test('only its own part of a larger memory is read', () => {
  const memory = Buffer.from('"outside""inside"]');
  const json = new JsonBytes(memory.subarray(9, 16));
  assert.equal(json.skipValue(0), -1);
  assert.equal(json.at(7), -1);
});
