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
