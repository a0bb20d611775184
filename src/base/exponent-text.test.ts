import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exponentText } from './exponent-text.ts';

for (const [value, text] of [
  [1.5e-7, '1.5e-07'],
  [1e6, '1e+06'],
  [-2e300, '-2e+300'],
] as const) {
  test(`${value} is ${text}`, () => assert.equal(exponentText(value), text));
}
