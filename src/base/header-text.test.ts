import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeHeaderText, shownHeaderText } from './header-text.ts';

const wire = (...bytes: readonly number[]): string => Buffer.from(bytes).toString('latin1');

test('the bytes of a header are UTF-8', () => {
  for (const text of ['', 'kubectl/1', 'é', '\u{1f600}x', 'é\u0101']) {
    for (const sent of [text, Buffer.from(text).toString('latin1')]) {
      if (sent === 'é') continue;
      assert.equal(decodeHeaderText(sent), text);
      assert.equal(shownHeaderText(sent), text);
    }
  }
});

test('what is not UTF-8 is refused, or shown as U+FFFD', () => {
  assert.equal(decodeHeaderText(wire(0x61, 0xe9, 0x62)), undefined);
  assert.equal(shownHeaderText(wire(0x61, 0xe9, 0x62)), 'a\ufffdb');
  assert.equal(shownHeaderText(wire(0xc3)), '\ufffd');
});
