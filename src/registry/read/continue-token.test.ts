import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { StatusError } from '../../meta/status-error.ts';
import { decodeContinueToken, encodeContinueToken } from './continue-token.ts';

const collection = '/core/configmaps/n/';

describe('a token sent back by a client', () => {
  for (const after of ['a', 'n/a', 'a.b-c', 'ns/event.17f0', 'über/ä']) {
    test(`continues after ${after}`, () => {
      const token = { revision: 42, after };
      const text = encodeContinueToken(token, collection);
      assert.match(text, /^[A-Za-z0-9_-]+$/, 'fits into a query as it is');
      assert.deepEqual(decodeContinueToken(text, collection), token);
    });
  }
});

const forged = (fields: unknown): string => Buffer.from(JSON.stringify(fields)).toString('base64url');
const fields = { v: 1, rv: 42, of: collection, after: 'a' };
const notOurs = /it was not made by this server/;
const noPosition = /it does not name a position in this list/;

/** Invalid tokens, and the error message. */
const rows: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  ['nothing', '', notOurs],
  ['no base64url', 'a b+c/=', notOurs],
  ['no JSON', Buffer.from('{').toString('base64url'), notOurs],
  ['no object', forged('text'), notOurs],
  ['null', forged(null), notOurs],
  ['a list', forged([]), notOurs],
  ['another layout', forged({ ...fields, v: 2 }), notOurs],
  ['a layout that is text', forged({ ...fields, v: '1' }), notOurs],
  ['no version', forged({ ...fields, rv: undefined }), notOurs],
  ['version 0', forged({ ...fields, rv: 0 }), notOurs],
  ['a negative version', forged({ ...fields, rv: -2 }), notOurs],
  ['half a version', forged({ ...fields, rv: 1.5 }), notOurs],
  ['a version beyond all', forged({ ...fields, rv: 2 ** 53 }), notOurs],
  ['a version that is text', forged({ ...fields, rv: '42' }), notOurs],
  ['no position', forged({ ...fields, after: undefined }), notOurs],
  ['an empty position', forged({ ...fields, after: '' }), notOurs],
  ['a position that is none', forged({ ...fields, after: {} }), notOurs],
  ['one of another collection', forged({ ...fields, of: '/core/secrets/n/' }), /it belongs to another list/],
  ['one of all namespaces', forged({ ...fields, of: '/core/configmaps/' }), /it belongs to another list/],
  ['a position that climbs', forged({ ...fields, after: '../secrets' }), noPosition],
  ['a position that climbs at its end', forged({ ...fields, after: 'a/..' }), noPosition],
  ['a position that stays', forged({ ...fields, after: './a' }), noPosition],
  ['a position from the root', forged({ ...fields, after: '/a' }), noPosition],
  ['a position without a name', forged({ ...fields, after: 'a/' }), noPosition],
  ['a position too deep', forged({ ...fields, after: 'a/b/c' }), noPosition],
  ['a position with NUL', forged({ ...fields, after: 'a\0' }), noPosition],
  ['a position that is encoded', forged({ ...fields, after: 'a%2fb' }), noPosition],
  ['far too much', forged({ ...fields, after: 'a'.repeat(limits.continueTokenBytesMax) }), notOurs],
];

test('a token may continue at the newest version', () => {
  const token = { revision: 'newest', after: 'a' } as const;
  assert.deepEqual(decodeContinueToken(encodeContinueToken(token, collection), collection), token);
});

describe('an invalid token is a 400', () => {
  for (const [what, text, message] of rows) {
    test(what, () => {
      assert.throws(
        () => decodeContinueToken(text, collection),
        (error) => error instanceof StatusError && error.code === 400 && message.test(error.message),
      );
    });
  }
});
