import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Interner } from './intern.ts';

/** Each value is another object, so that it shows whether one is shared. */
const interner = (entriesMax: number) => new Interner(entriesMax, (text) => ({ text }));

test('equal strings share a value', () => {
  const texts = interner(2);
  const [first, second] = [texts.of('a'), texts.of('b')];
  assert.equal(texts.of('a'), first);
  assert.equal(texts.of('b'), second);
  assert.deepEqual(first, { text: 'a' });
});

test('it starts anew when it is full and was of use', () => {
  const texts = interner(2);
  const first = texts.of('a');
  texts.of('b');
  for (let round = 0; round < 2; round++) texts.of('a');
  assert.deepEqual(texts.of('c'), { text: 'c' });
  assert.notEqual(texts.of('a'), first);
  assert.equal(texts.of('a'), texts.of('a'));
});

test('it rests where most strings are different, and then looks again', () => {
  const texts = interner(2);
  for (const text of ['a', 'b', 'c']) assert.deepEqual(texts.of(text), { text });
  for (let rested = 0; rested < 32; rested += 2) assert.notEqual(texts.of('d'), texts.of('d'));
  assert.equal(texts.of('d'), texts.of('d'));
});

test('long strings are not kept', () => {
  const texts = interner(2);
  const long = 'a'.repeat(1_025);
  assert.notEqual(texts.of(long), texts.of(long));
});

test('bytes share a value with equal ones, ASCII or not', () => {
  const texts = interner(100);
  const bytes = Buffer.from('app app web caf\u00e9 caf\u00e9 caf ');
  const part = (start: number, end: number) => texts.ofBytes(bytes, start, end);
  const app = part(0, 3);
  assert.deepEqual(app, { text: 'app' });
  assert.equal(part(4, 7), app);
  assert.deepEqual(part(8, 11), { text: 'web' });
  const accented = part(12, 17);
  assert.deepEqual(accented, { text: 'caf\u00e9' });
  assert.equal(part(18, 23), accented);
  assert.deepEqual(part(24, 27), { text: 'caf' });
  assert.deepEqual(part(0, 0), { text: '' });
});

test('bytes with the hash of others are not taken for them', () => {
  // Found by search.
  const texts = interner(100);
  for (const text of ['14ic', '1a65', '14ic', '1a65'])
    assert.deepEqual(texts.ofBytes(Buffer.from(text), 0, text.length), { text });
});

test('it starts anew when it is full of bytes, and rests', () => {
  const texts = interner(2);
  const of = (text: string) => texts.ofBytes(Buffer.from(text), 0, text.length);
  for (const text of ['a', 'b', 'c']) assert.deepEqual(of(text), { text });
  for (let rested = 0; rested < 32; rested += 2) assert.notEqual(of('d'), of('d'));
  assert.equal(of('d'), of('d'));
  const long = 'a'.repeat(1_025);
  assert.notEqual(of(long), of(long));
});
