import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { Warnings } from './warning.ts';

function headersOf(texts: Iterable<string>): readonly string[] {
  const warnings = new Warnings();
  for (const text of texts) warnings.add(text);
  return warnings.headers();
}

const bytes = (headers: readonly string[]): number => headers.reduce((sum, each) => sum + each.length, 0);
const numbered = (count: number, text: string): string[] => Array.from({ length: count }, (_, n) => `${n} ${text}`);
const notice = /^299 - "there are more or longer warnings: /;

describe('Warning headers', () => {
  it('quote', () => {
    assert.deepEqual(headersOf(['unknown field "spec.a"', 'back\\slash']), [
      '299 - "unknown field \\"spec.a\\""',
      '299 - "back\\\\slash"',
    ]);
  });

  it('cannot start another header', () => {
    assert.deepEqual(headersOf(['a\r\nset-cookie: x\0']), ['299 - "a set-cookie: x"']);
  });

  it('are UTF-8 on the wire', () => {
    const [header = ''] = headersOf(['größer']);
    assert.equal(Buffer.from(header, 'latin1').toString(), '299 - "größer"');
  });

  it('contain each text once, and none for no texts', () => {
    assert.equal(headersOf(['same', 'same', ' same\n']).length, 1);
    assert.deepEqual(headersOf(['', '\0']), []);
    assert.deepEqual(headersOf([]), []);
  });

  it('are complete if they fit', () => {
    for (const texts of [numbered(50, 'x'), ['x'.repeat(4_000)], numbered(10, 'y'.repeat(390))]) {
      const headers = headersOf(texts);
      assert.equal(headers.length, texts.length);
      assert.equal(headers.join().includes(texts.at(-1) ?? ''), true);
    }
  });

  for (const [what, texts, shown] of [
    ['one more than fit', numbered(51, 'x'), 49],
    ['thousands', numbered(5_000, 'x'), 49],
    ['thousands of long ones', numbered(5_000, 'x'.repeat(1_000)), 15],
    ['a few long ones', numbered(3, 'x'.repeat(2_000)), 3],
    ['one that is too long', ['x'.repeat(5_000)], 1],
    ['one of megabytes', ['"'.repeat(3_000_000)], 1],
    ['long ones of four bytes a character', numbered(20, '\u{1f600}'.repeat(500)), 3],
  ] as const) {
    it(`are cut, and say so: ${what}`, () => {
      const headers = headersOf(texts);
      assert.ok(bytes(headers) <= limits.warningBytesMax, String(bytes(headers)));
      assert.ok(headers.length <= limits.warningsMax);
      assert.match(headers.at(-1) ?? '', notice);
      assert.equal(headers.length - 1, shown);
      for (const header of headers.slice(0, -1)) {
        assert.doesNotMatch(header, notice);
        assert.doesNotMatch(Buffer.from(header, 'latin1').toString(), /\ufffd/, 'no character is cut in two');
      }
    });
  }
});
