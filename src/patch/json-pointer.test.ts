import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrayIndex, leadsInto, parsePointer } from './json-pointer.ts';

const tokens = (text: string): readonly string[] => {
  const pointer = parsePointer(text, 8);
  return 'problem' in pointer ? [`problem: ${pointer.problem}`] : pointer.tokens;
};

test('RFC 6901 section 5', () => {
  for (const [text, expected] of [
    ['', []],
    ['/foo', ['foo']],
    ['/foo/0', ['foo', '0']],
    ['/', ['']],
    ['/a~1b', ['a/b']],
    ['/c%d', ['c%d']],
    ['/k"l', ['k"l']],
    ['/ ', [' ']],
    ['/m~0n', ['m~n']],
    ['/~01', ['~1']],
    ['/~10', ['/0']],
    ['//a/', ['', 'a', '']],
  ] as const) {
    assert.deepEqual(tokens(text), expected);
  }
});

test('invalid pointers', () => {
  assert.deepEqual(tokens('a'), ['problem: must be empty or begin with "/"']);
  assert.deepEqual(tokens('#/a'), ['problem: must be empty or begin with "/"']);
  assert.deepEqual(tokens('/~'), ['problem: "~" must be followed by 0 or 1']);
  assert.deepEqual(tokens('/a'.repeat(8)).length, 8);
  assert.deepEqual(tokens('/a'.repeat(9)), ['problem: must not have more than 8 steps']);
});

test('array positions have no other form', () => {
  for (const text of ['0', '7', '10', '999999999999999']) assert.equal(arrayIndex(text), Number(text));
  for (const text of ['', '-', '00', '01', '-1', '+1', '1.0', '1e0', ' 1', '1 ', '٣', '9'.repeat(16)]) {
    assert.equal(arrayIndex(text), undefined, text);
  }
});

test('a pointer leads into another by whole steps', () => {
  const pointer = (text: string) => {
    const parsed = parsePointer(text, 8);
    assert.ok(!('problem' in parsed));
    return parsed;
  };
  assert.ok(leadsInto(pointer('/a'), pointer('/a/b')));
  assert.ok(leadsInto(pointer(''), pointer('/a')));
  assert.ok(!leadsInto(pointer('/a'), pointer('/a')));
  assert.ok(!leadsInto(pointer('/a'), pointer('/ab/c')));
  assert.ok(!leadsInto(pointer('/a/b'), pointer('/a')));
});
