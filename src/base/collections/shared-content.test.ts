import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { identityOf, SharedContent } from './shared-content.ts';

const check = (): boolean => true;
const same: readonly (readonly [what: string, make: () => object])[] = [
  ['data', () => ({ a: [1, { b: 'c' }], d: null, e: true })],
  ['the same function', () => ({ check })],
  ['no number', () => ({ a: Number.POSITIVE_INFINITY })],
  ['without a prototype', () => Object.assign(Object.create(null), { a: 1 })],
];
const different: readonly (readonly [what: string, first: object, second: object])[] = [
  ['another value', { a: 1 }, { a: 2 }],
  ['another type', { a: 1 }, { a: '1' }],
  ['another order of fields', { a: 1, b: 2 }, { b: 2, a: 1 }],
  ['another function', { check: () => 1 }, { check: () => 1 }],
  ['a text like a function', { check }, { check: `o${identityOf(check)}` }],
  ['a text like that text', { a: 'o1' }, { a: '"o1' }],
  ['infinity and null', { a: Number.POSITIVE_INFINITY }, { a: null }],
  ['a large number and its text', { a: 1n }, { a: 'n1' }],
  ['other patterns', { a: /a/ }, { a: /b/ }],
  ['a date and its text', { a: new Date(0) }, { a: new Date(0).toISOString() }],
];

describe('equal content is one object', () => {
  for (const [what, make] of same) {
    test(what, () => {
      const shared = new SharedContent<object>();
      const first = make();
      assert.equal(shared.share(first), first);
      assert.equal(shared.share(make()), first);
      assert.equal(shared.share(first), first);
    });
  }
});

describe('different content is another object', () => {
  for (const [what, first, second] of different) {
    test(what, () => {
      const shared = new SharedContent<object>();
      assert.equal(shared.share(first), first);
      assert.equal(shared.share(second), second);
    });
  }
});
