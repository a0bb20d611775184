import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sameContent } from './same-content.ts';

const rows: readonly (readonly [a: unknown, b: unknown, same: boolean])[] = [
  [undefined, null, true],
  [undefined, [], true],
  [{}, '', true],
  [{ a: [] }, {}, true],
  [{ a: { b: '' } }, undefined, true],
  [[''], [], false],
  [[{}], [], false],
  [[{}], [{ a: null }], true],
  [false, undefined, false],
  [0, undefined, false],
  [0, false, false],
  [1, 1n, false],
  ['1', 1, false],
  [{ a: 1 }, { a: 1, b: null }, true],
  [{ a: 1 }, { a: 1, b: false }, false],
  [{ a: 1 }, { b: 1 }, false],
  [{ 0: 'x' }, ['x'], false],
  [['x', 'y'], ['y', 'x'], false],
  [{ constructor: 'x' }, {}, false],
  [JSON.parse('{"__proto__":{"a":"x"}}'), {}, false],
  [{ a: { b: ['x', { c: true }] } }, { a: { b: ['x', { c: true, d: [] }] } }, true],
];

for (const [a, b, same] of rows) {
  test(`${JSON.stringify(a, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))} and ${JSON.stringify(b, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`, () => {
    assert.equal(sameContent(a, b), same);
    assert.equal(sameContent(b, a), same);
  });
}
