import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { parseJsonPath } from './json-path.ts';

const object = {
  a: { b: 'x', 'c.d/e': 'y', none: null, list: [1, 2, 3] },
  conditions: [
    { type: 'Ready', status: 'True', at: { n: 1 } },
    { type: 'Other', status: 'False', at: { n: 2 } },
  ],
};

const rows: readonly (readonly [path: string, found: readonly unknown[]])[] = [
  ['.a.b', ['x']],
  ['{.a.b}', ['x']],
  ['$.a.b', ['x']],
  [".a['c.d/e']", ['y']],
  ['.a["c.d/e"]', ['y']],
  ['.a.none', []],
  ['.a.absent.b', []],
  ['.a.b.length', []],
  ['.a.constructor', []],
  ['.a.list[0]', [1]],
  ['.a.list[-1]', [3]],
  ['.a.list[-2]', [2]],
  ['.a.list[9]', []],
  ['.a.list[*]', [1, 2, 3]],
  ['.a.list[1:]', [2, 3]],
  ['.a.list[:2]', [1, 2]],
  ['.a.list[-2:-1]', [2]],
  ['.a.list[0:3:2]', [1, 3]],
  ['.a.list[::2]', [1, 3]],
  ['.a.list[2:1]', []],
  ['.a.list[0,2]', [1, 3]],
  [".a['b','none','c.d/e']", ['x', 'y']],
  [".a['c\\.d/e']", ['y']],
  ['.a[*]', []],
  ['.a[0]', []],
  ['.conditions[0].*', ['Ready', 'True', { n: 1 }]],
  ['..n', [1, 2]],
  ['..at.n', [1, 2]],
  ['.conditions..type', ['Ready', 'Other']],
  ['..list[0]', [1]],
  ['.', []],
  ['.conditions[?(@.at.n>1)].type', ['Other']],
  ['.conditions[?(@.at.n<=1)].type', ['Ready']],
  ['.conditions[?(@.type>="P")].type', ['Ready']],
  ['.conditions[?(@.status>1)].type', []],
  ['.conditions[?(@.at)].at.n', [1, 2]],
  ['.conditions[?(@.absent)].type', []],
  ['.conditions[?(@.status==@.type)].type', []],
  ['.conditions[?(@.type=="a]b")].type', []],
  ['.a.list[?(@>1)]', [2, 3]],
  ['.a.list[?(@ != 2)]', [1, 3]],
  ['.a[?(@.b)]', []],
  ['.conditions[*].status', ['True', 'False']],
  ['.conditions[?(@.type=="Ready")].status', ['True']],
  [".conditions[?(@.type != 'Ready')].status", ['False']],
  ['.conditions[?(@.at.n==2)].type', ['Other']],
  ['.conditions[?(@.absent!="x")].type', []],
];

for (const [path, found] of rows) test(path, () => assert.deepEqual(parseJsonPath(path).find(object), found));

test('a name with escaped dots', () => {
  assert.deepEqual(parseJsonPath('.a.c\\.d\\/e').find(object), ['y']);
});

const wrong = [
  '',
  'a',
  '.a[',
  '.a[]',
  '.a[b]',
  '.a[1:2:0]',
  '.a[?(@.b=~1)]',
  '.a[?(@.b==x)]',
  '.a[?@.b]',
  '$',
  '{}',
  '.a b',
  '.a{',
];
for (const text of wrong) {
  test(`${text} is no path`, () => assert.throws(() => parseJsonPath(text), TypeError));
}

test('a path looks at a bounded number of values', () => {
  const wide = { all: Array.from({ length: limits.jsonPathValuesMax * 2 }, (_, n) => ({ n })) };
  let deep: object = { n: 0 };
  for (let level = 0; level < 60; level++) deep = { a: deep, b: [{ n: level }, deep] };
  const rows: readonly (readonly [path: string, value: unknown])[] = [
    ['.all[*].n', wide],
    ['.all[?(@.n>=0)].n', wide],
    ['..n', wide],
    ['.all[0:,0:,0:].n', wide],
    ['..n', deep],
    ['..a..b..*..n', deep],
  ];
  for (const [path, value] of rows) {
    const found = parseJsonPath(path).find(value).length;
    assert.ok(found <= limits.jsonPathValuesMax, `${path}: ${found}`);
  }
  assert.deepEqual(parseJsonPath('.all[199999].n').find(wide), [199_999]);
  assert.ok(parseJsonPath('.all[*]').find(wide).length > limits.jsonPathValuesMax / 2);
});
