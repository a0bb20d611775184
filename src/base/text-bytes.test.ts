import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TextBytes } from './text-bytes.ts';

const texts = ['', 'plain ~', 'a"b', 'a\\b', 'a\nb', '\0', '\u007f', 'é', 'Ł', '\u2028😀', '\ud800', 'x'.repeat(300)];

describe('text as bytes', () => {
  for (const room of [0, 3, 10_000]) {
    it(`is the same behind other bytes, with room for ${room}`, () => {
      for (const text of texts) {
        const memory = Buffer.alloc(5 + room, '-');
        const bytes = new TextBytes();
        bytes.begin(memory, 5);
        const isSame = bytes.addJson(text);
        bytes.addBytes(Buffer.from('|'));
        bytes.addText(text);
        bytes.addSixDigits(1_050);
        assert.equal(bytes.copy().toString(), `${JSON.stringify(text).slice(1, -1)}|${text.toWellFormed()}001050`);
        assert.equal(isSame, JSON.stringify(text) === `"${text}"` && /^[\0-~]*$/.test(text), JSON.stringify(text));
        assert.equal(memory.toString('latin1', 0, 5), '-----', 'what stood before stays');
      }
    });
  }

  it('is overwritten where it stands', () => {
    const bytes = new TextBytes();
    bytes.addText('name: one\n');
    assert.equal(bytes.replaceJson(6, 'two'), true);
    for (const text of ['t"o', 'tŁo']) assert.equal(bytes.replaceJson(6, text), false);
    bytes.replaceJson(6, 'two');
    assert.equal(bytes.copy().toString(), 'name: two\n');
  });

  it('has six digits', () => {
    for (const number of [0, 9, 10, 999, 123_456, 999_999]) {
      const bytes = new TextBytes();
      bytes.addSixDigits(number);
      assert.equal(bytes.copy().toString(), String(number).padStart(6, '0'));
    }
  });
});
