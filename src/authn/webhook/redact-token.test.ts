import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redactToken } from './redact-token.ts';

describe('redacting a token from a text', () => {
  const token = 'the-header.eyJzdWIiOiJqYW5lIn0.the-signature';
  for (const [text, expected] of [
    ['no such claims: eyJzdWIiOiJqYW5lIn0, but a.b is fine', 'no such claims: [token], but a.b is fine'],
    ['begins with the-header.eyJzd, ends with JqYW5lIn0.the-signature!', 'begins with [token], ends with [token]!'],
    ['signature', '[token]'],
    ['the-sig', 'the-sig'],
    [`${token}${token}`, '[token][token]'],
    ['\u{1f600} the-header. the-header.the-header.', '\u{1f600} [token] [token][token]'],
    ['', ''],
  ] as const) {
    it(JSON.stringify(text), () => assert.equal(redactToken(text, token), expected));
  }

  it('a short token', () => assert.equal(redactToken('is a1 known? a2 is', 'a1'), 'is [token] known? a2 is'));

  it('no token', () => assert.equal(redactToken('all of it', ''), 'all of it'));

  it('takes linear time', () => {
    const long = 'ab'.repeat(32 * 1024);
    assert.equal(redactToken('ab'.repeat(512), long), '[token]');
    assert.equal(redactToken('a'.repeat(1_024), long), 'a'.repeat(1_024));
  });
});
