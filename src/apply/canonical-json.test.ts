import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareText } from './canonical-json.ts';

test('texts are in the order of their UTF-8 bytes', () => {
  // Few characters, so that texts share prefixes; includes single and paired surrogates, and characters above them.
  const character = fc.constantFrom(
    'a',
    'b',
    'é',
    '\ud7ff',
    '\ud800',
    '\udc00',
    '\udfff',
    '\ue000',
    '\uffff',
    '😀',
    '😁',
  );
  const text = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(''));
  fc.assert(
    fc.property(text, text, (a, b) => {
      const expected = a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
      assert.equal(compareText(a, b), expected);
    }),
    { numRuns: 5_000 },
  );
});
