import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { limits } from './limits.ts';

setFlagsFromString('--allow-natives-syntax');
/** A test of V8's own, whose syntax no source may have. */
const isFast = new Function('object', 'return %HasFastProperties(object)');

test('limits are no dictionary', () => {
  assert.equal(isFast(limits), true);
});
