import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { StatusError } from '../meta/status-error.ts';
import {
  anyValue,
  type Field,
  int32,
  intOrString,
  list,
  map,
  optional,
  type Schema,
  type StructSchema,
  string,
  struct,
} from '../schema/schema.ts';
import { mergePatch } from './merge-patch.ts';
import { strategicMerge } from './strategic-merge.ts';

const field = (schema: Schema | (() => Schema), options: Pick<Field, 'patchStrategy'> = {}): Field =>
  optional(1, schema, '', options);

const port: StructSchema = struct('Port', '', { number: field(int32()), protocol: field(string()) });
const part: StructSchema = struct('Part', '', {
  name: field(string()),
  image: field(string()),
  args: field(list(string())),
  env: field(() => list(part, { patchStrategy: 'merge', patchMergeKey: 'name' })),
  ports: field(list(port, { patchStrategy: 'merge', patchMergeKey: 'number' })),
  attributes: field(map(string())),
});
const schema: StructSchema = struct('Thing', '', {
  title: field(string()),
  count: field(int32()),
  target: field(intOrString()),
  /** Merged, by name. */
  parts: field(list(part, { patchStrategy: 'merge', patchMergeKey: 'name' })),
  /** Merged, by name, and clients send what they retain. */
  volumes: field(list(part, { patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' })),
  /** Merged scalars. */
  marks: field(list(string(), { patchStrategy: 'merge' })),
  numbers: field(list(int32(), { patchStrategy: 'merge' })),
  /** Replaced as a whole. */
  words: field(list(string())),
  rules: field(list(part)),
  labels: field(map(string())),
  groups: field(map(list(string()))),
  byName: field(map(part)),
  nested: field(() => schema),
  strategy: field(part, { patchStrategy: 'retainKeys' }),
  whole: field(part, { patchStrategy: 'replace' }),
  raw: field(anyValue()),
  matrix: field(list(list(string()), { patchStrategy: 'merge' })),
  keyless: field(list(part, { patchStrategy: 'merge' })),
});

type Json = Record<string, unknown>;
const merged = (original: Json, patch: unknown): Json => strategicMerge({ schema, original, patch });

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) freeze(each);
    Object.freeze(value);
  }
  return value;
}

type Case = readonly [rule: string, original: Json, patch: Json, result: Json];

/** Order of list elements counts, that of fields does not. */
function check(cases: readonly Case[]): void {
  for (const [rule, original, patch, result] of cases) {
    assert.deepEqual(merged(freeze(original), freeze(patch)), result, rule);
  }
}

const named = (...names: string[]): Json[] => names.map((name) => ({ name }));

test('objects and scalars', () => {
  check([
    ['an empty patch changes nothing', { title: 'a', parts: named('x') }, {}, { title: 'a', parts: named('x') }],
    ['a scalar is set', { title: 'a' }, { title: 'b' }, { title: 'b' }],
    ['a scalar is added', { title: 'a' }, { count: 1 }, { title: 'a', count: 1 }],
    ['null removes', { title: 'a', count: 1 }, { count: null }, { title: 'a' }],
    ['null of nothing', { title: 'a' }, { count: null }, { title: 'a' }],
    ['null removes a list', { parts: named('x'), words: ['a'] }, { parts: null, words: null }, {}],
    [
      'maps are merged',
      { labels: { a: '1', b: '2' } },
      { labels: { b: '3', c: '4' } },
      { labels: { a: '1', b: '3', c: '4' } },
    ],
    ['null removes from a map', { labels: { a: '1', b: '2' } }, { labels: { a: null } }, { labels: { b: '2' } }],
    ['a map may become empty', { labels: { a: '1' } }, { labels: { a: null } }, { labels: {} }],
    ['nulls in what is new are left out', {}, { labels: { a: null, b: '1' } }, { labels: { b: '1' } }],
    [
      'structs are merged',
      { nested: { title: 'a', count: 1 } },
      { nested: { count: 2 } },
      { nested: { title: 'a', count: 2 } },
    ],
    [
      'structs deep down',
      { nested: { nested: { labels: { a: '1' } } } },
      { nested: { nested: { labels: { b: '2' } } } },
      { nested: { nested: { labels: { a: '1', b: '2' } } } },
    ],
    [
      'values of maps are merged',
      { byName: { x: { image: 'a', args: ['1'] } } },
      { byName: { x: { image: 'b' } } },
      { byName: { x: { image: 'b', args: ['1'] } } },
    ],
    ['lists in maps are replaced', { groups: { a: ['1', '2'] } }, { groups: { a: ['3'] } }, { groups: { a: ['3'] } }],
    ['an object takes the place of a scalar', { labels: 'none' }, { labels: { a: '1' } }, { labels: { a: '1' } }],
    ['a scalar takes the place of an object', { labels: { a: '1' } }, { labels: 'none' }, { labels: 'none' }],
    ['a list takes the place of an object', { raw: { a: 1 } }, { raw: [1] }, { raw: [1] }],
    ['a type may change', { target: 80 }, { target: 'http' }, { target: 'http' }],
    ['great integers keep their value', { count: 1 }, { count: 2n ** 60n }, { count: 2n ** 60n }],
    [
      'raw values are merged as JSON',
      { raw: { a: { b: 1 }, c: [1] } },
      { raw: { a: { d: 2 }, c: [2] } },
      { raw: { a: { b: 1, d: 2 }, c: [2] } },
    ],
    [
      'unknown fields are merged as JSON',
      { odd: { a: 1, l: [1] } },
      { odd: { b: 2, l: [2] } },
      { odd: { a: 1, b: 2, l: [2] } },
    ],
    ['unknown fields are kept for decoding to report', {}, { odd: { $other: 1 } }, { odd: { $other: 1 } }],
    [
      'a struct to be replaced',
      { whole: { name: 'a', image: 'i' } },
      { whole: { name: 'b' } },
      { whole: { name: 'b' } },
    ],
    ['a struct to be replaced, removed', { whole: { name: 'a' } }, { whole: null }, {}],
    ['a struct to be replaced, emptied', { whole: { name: 'a' } }, { whole: { $patch: 'delete' } }, { whole: {} }],
    [
      'a struct to be replaced has no nulls',
      { whole: { name: 'a' } },
      { whole: { name: 'b', image: null } },
      { whole: { name: 'b' } },
    ],
    ['null in the object is nothing', { labels: null }, { labels: { a: '1' } }, { labels: { a: '1' } }],
  ]);
});

test('lists of objects are merged by their key', () => {
  const parts = [
    { name: 'a', image: '1', args: ['x'] },
    { name: 'b', image: '2' },
  ];
  check([
    [
      'an element is changed',
      { parts },
      { parts: [{ name: 'b', image: '3' }] },
      { parts: [parts[0], { name: 'b', image: '3' }] },
    ],
    [
      'a field of an element is removed',
      { parts },
      { parts: [{ name: 'a', args: null }] },
      { parts: [{ name: 'a', image: '1' }, parts[1]] },
    ],
    [
      'a new element comes before the others, where no order is given',
      { parts: named('a', 'b') },
      { parts: named('c') },
      { parts: named('c', 'a', 'b') },
    ],
    [
      'new elements keep the order of the patch',
      { parts: named('a') },
      { parts: named('d', 'c') },
      { parts: named('d', 'c', 'a') },
    ],
    [
      'elements of the patch keep its order',
      { parts: named('a', 'b', 'c') },
      { parts: named('c', 'a') },
      { parts: named('b', 'c', 'a') },
    ],
    [
      'new ones come as early as they can',
      { parts: named('a', 'b', 'c') },
      { parts: named('b', 'x') },
      { parts: named('a', 'b', 'x', 'c') },
    ],
    [
      'the list is new',
      {},
      { parts: [{ name: 'a', image: null, args: ['x'] }] },
      { parts: [{ name: 'a', args: ['x'] }] },
    ],
    ['the list was empty', { parts: [] }, { parts: named('a') }, { parts: named('a') }],
    ['an empty list merges nothing', { parts: named('a') }, { parts: [] }, { parts: named('a') }],
    ['both are empty', { parts: [] }, { parts: [] }, { parts: [] }],
    [
      'lists in elements are merged',
      { parts: [{ name: 'a', env: [{ name: 'x', image: '1' }, { name: 'y' }] }] },
      { parts: [{ name: 'a', env: [{ name: 'y', image: '2' }] }] },
      {
        parts: [
          {
            name: 'a',
            env: [
              { name: 'x', image: '1' },
              { name: 'y', image: '2' },
            ],
          },
        ],
      },
    ],
    [
      'atomic lists in elements are replaced',
      { parts: [{ name: 'a', args: ['x', 'y'] }] },
      { parts: [{ name: 'a', args: ['z'] }] },
      { parts: [{ name: 'a', args: ['z'] }] },
    ],
    [
      'keys may be numbers',
      { parts: [{ name: 'a', ports: [{ number: 80 }] }] },
      { parts: [{ name: 'a', ports: [{ number: 80, protocol: 'TCP' }, { number: 81 }] }] },
      { parts: [{ name: 'a', ports: [{ number: 80, protocol: 'TCP' }, { number: 81 }] }] },
    ],
    [
      '80 is not "80"',
      { parts: [{ name: 'a', ports: [{ number: 80 }] }] },
      { parts: [{ name: 'a', ports: [{ number: '80' }] }] },
      { parts: [{ name: 'a', ports: [{ number: '80' }, { number: 80 }] }] },
    ],
    [
      'of elements that share a key the first is merged',
      {
        parts: [
          { name: 'a', image: '1' },
          { name: 'a', image: '2' },
        ],
      },
      { parts: [{ name: 'a', args: [] }] },
      {
        parts: [
          { name: 'a', image: '1', args: [] },
          { name: 'a', image: '2' },
        ],
      },
    ],
    [
      'they come together',
      { parts: [{ name: 'a', image: '1' }, { name: 'b' }, { name: 'a', image: '2' }] },
      { parts: named('c') },
      { parts: [{ name: 'c' }, { name: 'a', image: '1' }, { name: 'a', image: '2' }, { name: 'b' }] },
    ],
    [
      'the patch may name one twice',
      { parts: named('a') },
      {
        parts: [
          { name: 'a', image: '1' },
          { name: 'a', args: ['x'] },
        ],
      },
      { parts: [{ name: 'a', image: '1', args: ['x'] }] },
    ],
    [
      'even a new one',
      { parts: named('b') },
      {
        parts: [
          { name: 'a', image: '1' },
          { name: 'a', args: ['x'] },
        ],
      },
      { parts: [{ name: 'a', image: '1', args: ['x'] }, { name: 'b' }] },
    ],
    [
      'keys named as prototypes are',
      { parts: named('constructor') },
      { parts: named('__proto__', 'toString') },
      { parts: named('__proto__', 'toString', 'constructor') },
    ],
    [
      'atomic lists of objects are replaced',
      { rules: named('a', 'b') },
      { rules: [{ image: '1' }] },
      { rules: [{ image: '1' }] },
    ],
  ]);
});

test('lists of scalars', () => {
  check([
    ['are joined, the new ones first', { marks: ['a', 'b'] }, { marks: ['c'] }, { marks: ['c', 'a', 'b'] }],
    ['each stands there once', { marks: ['a', 'b'] }, { marks: ['b', 'c', 'c'] }, { marks: ['a', 'b', 'c'] }],
    ['also those that stood twice', { marks: ['a', 'b', 'a'] }, { marks: ['c'] }, { marks: ['c', 'a', 'b'] }],
    ['the order is that of the patch', { marks: ['a', 'b', 'c'] }, { marks: ['c', 'a'] }, { marks: ['b', 'c', 'a'] }],
    ['an empty patch adds nothing', { marks: ['a'] }, { marks: [] }, { marks: ['a'] }],
    ['numbers', { numbers: [1, 2] }, { numbers: [2, 2 ** 31, 3] }, { numbers: [1, 2, 2 ** 31, 3] }],
    ['new', {}, { marks: ['b', 'a'] }, { marks: ['b', 'a'] }],
    ['atomic ones are replaced', { words: ['a', 'b'] }, { words: ['c', 'c'] }, { words: ['c', 'c'] }],
    ['atomic ones are emptied', { words: ['a', 'b'] }, { words: [] }, { words: [] }],
  ]);
});

test('$patch', () => {
  const parts = [
    { name: 'a', image: '1' },
    { name: 'b', image: '2' },
  ];
  check([
    ['replaces an object', { labels: { a: '1' } }, { labels: { $patch: 'replace', b: '2' } }, { labels: { b: '2' } }],
    ['replaces all', { title: 'a', count: 1 }, { $patch: 'replace', count: 2 }, { count: 2 }],
    ['replaces by nothing', { labels: { a: '1' } }, { labels: { $patch: 'replace' } }, { labels: {} }],
    [
      'the replacement has no nulls and directives',
      { nested: { title: 'a' } },
      {
        nested: {
          $patch: 'replace',
          title: null,
          count: 1,
          labels: { $patch: 'delete' },
          '$setElementOrder/marks': [],
        },
      },
      { nested: { count: 1 } },
    ],
    ['empties an object', { labels: { a: '1' } }, { labels: { $patch: 'delete', b: '2' } }, { labels: {} }],
    ['empties all', { title: 'a' }, { $patch: 'delete' }, {}],
    ['deletes nothing', {}, { labels: { $patch: 'delete' } }, {}],
    ['of nothing, what replaces is left out too', {}, { labels: { $patch: 'replace', a: '1' } }, {}],
    ['of nothing, deep down', {}, { nested: { labels: { $patch: 'delete' }, title: 'a' } }, { nested: { title: 'a' } }],
    ['of a scalar, removes it', { title: 'a', raw: 1 }, { raw: { $patch: 'delete' } }, { title: 'a' }],
    ['deletes an element', { parts }, { parts: [{ name: 'a', $patch: 'delete' }] }, { parts: [parts[1]] }],
    [
      'deletes every element with the key',
      { parts: named('a', 'b', 'a') },
      { parts: [{ name: 'a', $patch: 'delete' }] },
      { parts: named('b') },
    ],
    ['deletes the last element', { parts: named('a') }, { parts: [{ name: 'a', $patch: 'delete' }] }, { parts: [] }],
    ['deletes an element that is not there', { parts }, { parts: [{ name: 'c', $patch: 'delete' }] }, { parts }],
    [
      'deletes and adds',
      { parts },
      { parts: [{ name: 'a', $patch: 'delete' }, { name: 'c' }] },
      { parts: [{ name: 'c' }, parts[1]] },
    ],
    [
      'deletes before it adds',
      { parts },
      {
        parts: [
          { name: 'a', args: [] },
          { name: 'a', $patch: 'delete' },
        ],
      },
      { parts: [{ name: 'a', args: [] }, parts[1]] },
    ],
    ['deletes in a new list', {}, { parts: [{ name: 'a', $patch: 'delete' }, { name: 'b' }] }, { parts: named('b') }],
    [
      'replaces a list',
      { parts },
      { parts: [{ name: 'c' }, { $patch: 'replace' }, { name: 'a' }] },
      { parts: named('c', 'a') },
    ],
    ['empties a list', { parts }, { parts: [{ $patch: 'replace' }] }, { parts: [] }],
    [
      'an element that replaces is not one itself',
      { parts },
      { parts: [{ $patch: 'replace', name: 'c' }] },
      { parts: [] },
    ],
    [
      'replaces without nulls',
      { parts },
      { parts: [{ $patch: 'replace' }, { name: 'c', image: null }] },
      { parts: named('c') },
    ],
    [
      'never becomes an element',
      { rules: named('a') },
      { rules: [{ $patch: 'replace' }, { name: 'b' }] },
      { rules: named('b') },
    ],
    [
      'in an element, on its object',
      { parts: [{ name: 'a', attributes: { x: '1' } }] },
      { parts: [{ name: 'a', attributes: { $patch: 'replace', y: '2' } }] },
      { parts: [{ name: 'a', attributes: { y: '2' } }] },
    ],
    [
      'in a new element',
      { parts },
      { parts: [{ name: 'c', env: [{ name: 'x', $patch: 'delete' }], attributes: { $patch: 'delete' } }] },
      { parts: [{ name: 'c', env: [] }, ...parts] },
    ],
  ]);
});

test('$retainKeys', () => {
  check([
    [
      'removes what it does not name',
      { strategy: { name: 'a', image: '1', args: ['x'] } },
      { strategy: { $retainKeys: ['name'], name: 'b' } },
      { strategy: { name: 'b' } },
    ],
    [
      'keeps what it names',
      { strategy: { name: 'a', image: '1', args: ['x'] } },
      { strategy: { $retainKeys: ['name', 'image'], name: 'b' } },
      { strategy: { name: 'b', image: '1' } },
    ],
    [
      'without it fields are merged',
      { strategy: { name: 'a', image: '1' } },
      { strategy: { name: 'b' } },
      { strategy: { name: 'b', image: '1' } },
    ],
    [
      'may set nothing',
      { strategy: { name: 'a', image: '1' } },
      { strategy: { $retainKeys: ['image'] } },
      { strategy: { image: '1' } },
    ],
    ['empty, empties', { strategy: { name: 'a' } }, { strategy: { $retainKeys: [] } }, { strategy: {} }],
    [
      'need not name what is removed',
      { strategy: { name: 'a', image: '1' } },
      { strategy: { $retainKeys: ['name'], image: null } },
      { strategy: { name: 'a' } },
    ],
    [
      'in elements of lists',
      { volumes: [{ name: 'a', image: '1' }, { name: 'b' }] },
      { volumes: [{ name: 'a', args: ['x'], $retainKeys: ['name', 'args'] }] },
      { volumes: [{ name: 'a', args: ['x'] }, { name: 'b' }] },
    ],
    ['of nothing is left out', {}, { strategy: { $retainKeys: ['name'], name: 'a' } }, { strategy: { name: 'a' } }],
    [
      'whatever the strategy of the field',
      { nested: { title: 'a', count: 1 } },
      { nested: { $retainKeys: ['count'] } },
      { nested: { count: 1 } },
    ],
    [
      'lets other directives be',
      { nested: { title: 'a', marks: ['x', 'y'] } },
      {
        nested: {
          $retainKeys: ['marks'],
          '$setElementOrder/marks': ['y', 'x'],
          '$deleteFromPrimitiveList/marks': ['q'],
        },
      },
      { nested: { marks: ['y', 'x'] } },
    ],
    [
      'values that are no names match nothing',
      { labels: { 1: 'a' } },
      { labels: { $retainKeys: [1, null, {}] } },
      { labels: {} },
    ],
  ]);
});

test('$setElementOrder', () => {
  check([
    [
      'orders a list',
      { marks: ['a', 'b', 'c'] },
      { '$setElementOrder/marks': ['c', 'b', 'a'] },
      { marks: ['c', 'b', 'a'] },
    ],
    [
      'orders objects',
      { parts: named('a', 'b', 'c') },
      { '$setElementOrder/parts': named('c', 'b', 'a') },
      { parts: named('c', 'b', 'a') },
    ],
    [
      'says where new elements go',
      { parts: named('a', 'b') },
      { '$setElementOrder/parts': named('a', 'x', 'b'), parts: named('x') },
      { parts: named('a', 'x', 'b') },
    ],
    [
      'says where new scalars go',
      { marks: ['a', 'b'] },
      { '$setElementOrder/marks': ['a', 'x', 'b'], marks: ['x'] },
      { marks: ['a', 'x', 'b'] },
    ],
    [
      'elements of the server keep their place',
      { marks: ['s', 'a', 't', 'b', 'u'] },
      { '$setElementOrder/marks': ['a', 'x', 'b'], marks: ['x'] },
      { marks: ['s', 'a', 'x', 't', 'b', 'u'] },
    ],
    [
      'also where the order turns',
      { marks: ['a', 's', 'b', 't'] },
      { '$setElementOrder/marks': ['b', 'a'] },
      { marks: ['s', 'b', 'a', 't'] },
    ],
    [
      'and for objects',
      { parts: named('s', 'a', 't', 'b') },
      { '$setElementOrder/parts': named('b', 'a') },
      { parts: named('s', 't', 'b', 'a') },
    ],
    ['may name what is not there', { marks: ['a'] }, { '$setElementOrder/marks': ['x', 'a', 'y'] }, { marks: ['a'] }],
    ['of nothing', {}, { '$setElementOrder/marks': ['a'] }, {}],
    ['of an empty list', { marks: [] }, { '$setElementOrder/marks': ['a'] }, { marks: [] }],
    [
      'of a new list',
      {},
      { '$setElementOrder/parts': named('a', 'b'), parts: [{ name: 'a', image: null }, { name: 'b' }] },
      { parts: named('a', 'b') },
    ],
    [
      'with deletions',
      { parts: named('a', 'b', 's') },
      { '$setElementOrder/parts': named('b'), parts: [{ name: 'a', $patch: 'delete' }] },
      { parts: named('b', 's') },
    ],
    [
      'what takes the place of a deleted one goes behind',
      { parts: named('a', 'b', 's') },
      { '$setElementOrder/parts': named('b', 'x'), parts: [{ name: 'x' }, { name: 'a', $patch: 'delete' }] },
      { parts: named('b', 's', 'x') },
    ],
    [
      'only as many as were deleted',
      { parts: named('a', 'b', 's') },
      {
        '$setElementOrder/parts': named('b', 'y', 'x'),
        parts: [{ name: 'y' }, { name: 'x' }, { name: 'a', $patch: 'delete' }],
      },
      { parts: named('b', 's', 'y', 'x') },
    ],
    [
      'with a replacement',
      { parts: named('a', 'b') },
      { '$setElementOrder/parts': named('x', 'b'), parts: [{ name: 'x' }, { name: 'b' }, { $patch: 'replace' }] },
      { parts: named('x', 'b') },
    ],
    [
      'elements that share a key stay together',
      { parts: [{ name: 'a', image: '1' }, { name: 'b' }, { name: 'a', image: '2' }] },
      { '$setElementOrder/parts': named('b', 'a') },
      { parts: [{ name: 'b' }, { name: 'a', image: '1' }, { name: 'a', image: '2' }] },
    ],
    [
      'empty, the order stays and new elements come last',
      { parts: named('b', 'a') },
      { '$setElementOrder/parts': [], parts: named('x', 'a') },
      { parts: named('b', 'a', 'x') },
    ],
    [
      'in elements',
      { parts: [{ name: 'a', env: named('x', 'y') }] },
      { parts: [{ name: 'a', '$setElementOrder/env': named('y', 'x') }] },
      { parts: [{ name: 'a', env: named('y', 'x') }] },
    ],
    [
      'in what is new is left out',
      {},
      { nested: { marks: ['a', 'b'], '$setElementOrder/marks': ['b', 'a'] } },
      { nested: { marks: ['a', 'b'] } },
    ],
    [
      'of an atomic list of scalars',
      { words: ['a', 'b'] },
      { '$setElementOrder/words': ['d', 'c'], words: ['c'] },
      { words: ['c'] },
    ],
    [
      'of a field without a list is left out',
      { odd: [2, 1] },
      { '$setElementOrder/odd': [1, 2], '$setElementOrder/title': [1] },
      { odd: [2, 1] },
    ],
    [
      'of __proto__ is left out',
      { title: 'a' },
      { '$setElementOrder/__proto__': ['a'], '$setElementOrder/constructor': [] },
      { title: 'a' },
    ],
  ]);
});

test('$deleteFromPrimitiveList', () => {
  check([
    ['deletes', { marks: ['a', 'b', 'c'] }, { '$deleteFromPrimitiveList/marks': ['b', 'x'] }, { marks: ['a', 'c'] }],
    ['deletes each', { words: ['a', 'b', 'a'] }, { '$deleteFromPrimitiveList/words': ['a'] }, { words: ['b'] }],
    [
      'deletes and adds',
      { marks: ['a', 'b'] },
      { marks: ['c'], '$deleteFromPrimitiveList/marks': ['a'] },
      { marks: ['c', 'b'] },
    ],
    [
      'deletes what is added too',
      { marks: ['a'] },
      { marks: ['c'], '$deleteFromPrimitiveList/marks': ['c'] },
      { marks: ['a'] },
    ],
    [
      'deletes, adds and orders',
      { marks: ['a', 'b', 's'] },
      { marks: ['c'], '$setElementOrder/marks': ['c', 'b'], '$deleteFromPrimitiveList/marks': ['a'] },
      { marks: ['c', 'b', 's'] },
    ],
    ['deletes all', { marks: ['a'] }, { '$deleteFromPrimitiveList/marks': ['a'] }, { marks: [] }],
    ['of nothing', {}, { '$deleteFromPrimitiveList/marks': ['a'] }, {}],
    ['of an empty list', { marks: [] }, { '$deleteFromPrimitiveList/marks': ['a'] }, { marks: [] }],
    ['of what is no list', { title: 'a' }, { '$deleteFromPrimitiveList/title': ['a'] }, { title: 'a' }],
    [
      'numbers are not their text',
      { numbers: [1, 2] },
      { '$deleteFromPrimitiveList/numbers': ['1', 2] },
      { numbers: [1] },
    ],
    ['of an unknown field', { odd: [1, 2] }, { '$deleteFromPrimitiveList/odd': [1] }, { odd: [2] }],
    [
      'in what is new is left out',
      {},
      { nested: { '$deleteFromPrimitiveList/marks': ['a'], title: 'a' } },
      { nested: { title: 'a' } },
    ],
  ]);
});

/** The error of a patch; fails where it applies. */
function refusal(original: Json, patch: unknown): StatusError {
  try {
    merged(original, patch);
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error;
  }
  return assert.fail(`applied: ${jsonText(patch)}`);
}

test('a patch that is wrong is a 400 with its place', () => {
  const original = { parts: named('a', 'b'), marks: ['a'], labels: { a: '1' }, keyless: [{}], matrix: [] };
  for (const [patch, message] of [
    [[], 'expected an object, got array'],
    [null, 'expected an object, got null'],
    ['{}', 'expected an object, got string'],
    [{ parts: [{ image: '1' }] }, 'parts[0]: map: {"image":"1"} does not contain declared merge key: name'],
    [{ parts: [{ name: null }] }, 'parts[0]: map: {"name":null} does not contain declared merge key: name'],
    [{ parts: [{ name: { a: 1 } }] }, 'parts[0]: map: {"name":{"a":1}} does not contain declared merge key: name'],
    [
      { parts: [{ name: 'a' }, { $patch: 'delete' }] },
      'parts[1]: map: {"$patch":"delete"} does not contain declared merge key: name',
    ],
    [{ parts: ['a'] }, 'parts: list element types are not identical: object, string'],
    [{ parts: [null] }, 'parts: list element types are not identical: object, null'],
    [{ marks: ['b', 1] }, 'marks: list element types are not identical: string, number'],
    [{ marks: [{ a: 1 }] }, 'marks: list element types are not identical: string, object'],
    [{ keyless: [{}] }, 'keyless: cannot merge lists without merge key'],
    [{ $patch: 'merge' }, 'merging lists cannot yet be specified in the patch'],
    [{ parts: [{ name: 'a', $patch: 'merge' }] }, 'parts[0]: merging lists cannot yet be specified in the patch'],
    [{ labels: { $patch: 'remove' } }, 'labels: unknown patch type: "remove" in map: {"$patch":"remove"}'],
    [{ nested: { labels: { $patch: 1 } } }, 'nested.labels: unknown patch type: 1 in map: {"$patch":1}'],
    [{ rules: [{ $patch: null }] }, 'rules[0]: unknown patch type: null in map: {"$patch":null}'],
    [
      { parts: [{ name: 'c', attributes: { $patch: {} } }] },
      'parts[0].attributes: unknown patch type: {} in map: {"$patch":{}}',
    ],
    [{ $retainKeys: 'title' }, 'invalid patch format of retainKeys'],
    [{ labels: { $retainKeys: ['a'], b: '1' } }, 'labels: invalid patch format of retainKeys'],
    [{ parts: [{ $retainKeys: ['image'], name: 'a' }] }, 'parts[0]: invalid patch format of retainKeys'],
    [{ $setElementOrder: [] }, 'invalid patch format of setElementOrder list'],
    [{ '$setElementOrderly/marks': [] }, 'invalid patch format of setElementOrder list'],
    [{ '$setElementOrder/marks': 'a' }, 'invalid patch format of setElementOrder list'],
    [{ '$setElementOrder/marks': [['a']] }, 'marks: invalid patch format of setElementOrder list'],
    [{ '$setElementOrder/parts': ['a'] }, 'parts: invalid patch format of setElementOrder list'],
    [
      { '$setElementOrder/parts': [{ image: 'a' }] },
      'parts: map: {"image":"a"} does not contain declared merge key: name',
    ],
    [{ '$setElementOrder/parts': named('a'), parts: 'a' }, 'parts: expected a list, got string'],
    [{ '$setElementOrder/parts': named('a'), parts: null }, 'parts: expected a list, got null'],
    [
      { '$setElementOrder/parts': named('a'), parts: named('b') },
      'parts: The order in patch list: [{"name":"b"}] doesn\'t match $setElementOrder list: [{"name":"a"}]',
    ],
    [
      { '$setElementOrder/marks': ['a', 'b'], marks: ['b', 'a'] },
      'marks: The order in patch list: ["b","a"] doesn\'t match $setElementOrder list: ["a","b"]',
    ],
    [
      { '$setElementOrder/marks': ['a', 'b'], marks: ['a', 'a'] },
      'marks: The order in patch list: ["a","a"] doesn\'t match $setElementOrder list: ["a","b"]',
    ],
    [{ $deleteFromPrimitiveList: [] }, 'invalid patch format of primitive list'],
    [{ '$deleteFromPrimitiveList/marks': null }, 'invalid patch format of primitive list'],
    [{ '$deleteFromPrimitiveList/marks': [{}] }, 'marks: invalid patch format of primitive list'],
    [{ '$deleteFromPrimitiveList/parts': ['a'] }, 'parts: invalid patch format of primitive list'],
  ] as const) {
    const error = refusal(original, patch);
    assert.deepEqual([error.code, error.message], [400, `error decoding patch: ${message}`]);
  }
});

test('a patch that the object cannot take is a 422', () => {
  const rejected = 'the server rejected our request due to an error in our request: ';
  for (const [original, patch, field, message] of [
    [{ matrix: [['a']] }, { matrix: [['b']] }, 'matrix', 'lists of lists are not supported'],
    [
      { parts: [{ image: '1' }] },
      { parts: named('a') },
      'parts',
      'map: {"image":"1"} does not contain declared merge key: name',
    ],
    [
      { nested: { parts: [{}] } },
      { nested: { '$setElementOrder/parts': named('a') } },
      'nested.parts',
      'map: {} does not contain declared merge key: name',
    ],
    [{ marks: { a: 1 } }, { '$setElementOrder/marks': [] }, 'marks', 'expected a list, got object'],
    [{ rules: named('a') }, { '$setElementOrder/rules': ['a'] }, 'rules', 'expected a list of scalars, got object'],
  ] as const) {
    const error = refusal(original, patch);
    assert.deepEqual([error.code, error.message], [422, `${rejected}${field}: ${message}`]);
    assert.deepEqual(error.details?.causes, [{ reason: 'FieldValueInvalid', message, field }]);
  }
});

test('names of prototypes are names like any other', () => {
  const parse = (text: string): Json => JSON.parse(text) as Json;
  for (const [original, patch, result] of [
    ['{}', '{"__proto__":{"p":1}}', '{"__proto__":{"p":1}}'],
    [
      '{"labels":{"a":"1"}}',
      '{"labels":{"__proto__":{"p":1},"constructor":"c"}}',
      '{"labels":{"a":"1","__proto__":{"p":1},"constructor":"c"}}',
    ],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"p":1}}', '{"__proto__":{"a":1,"p":1}}'],
    ['{"__proto__":{"a":1},"title":"t"}', '{"__proto__":null}', '{"title":"t"}'],
    [
      '{"parts":[{"name":"a"}]}',
      '{"parts":[{"name":"a","__proto__":{"p":1}}]}',
      '{"parts":[{"name":"a","__proto__":{"p":1}}]}',
    ],
    ['{}', '{"constructor":{"prototype":{"p":1}}}', '{"constructor":{"prototype":{"p":1}}}'],
    ['{"labels":{}}', '{"labels":{"$patch":"replace","__proto__":{"p":1}}}', '{"labels":{"__proto__":{"p":1}}}'],
    ['{}', '{"$deleteFromPrimitiveList/__proto__":["a"],"$deleteFromPrimitiveList/constructor":["a"]}', '{}'],
    ['{"labels":{"a":"1"}}', '{"labels":{"$retainKeys":["__proto__","toString"],"toString":null}}', '{"labels":{}}'],
  ] as const) {
    assert.equal(JSON.stringify(merged(parse(original), parse(patch))), result);
  }
  // A directive that only a prototype has is none.
  const polluted: Json = Object.create({ $patch: 'replace', $retainKeys: [] });
  assert.deepEqual(merged({ title: 'a' }, Object.assign(polluted, { count: 1 })), { title: 'a', count: 1 });
  assert.equal(({} as { p?: unknown }).p, undefined);
});

test('what the patch does not touch is shared, and long text is cut in messages', () => {
  const original = { labels: { a: '1' }, nested: { title: 'a', parts: named('x') }, parts: named('a', 'b') };
  const result = merged(original, { labels: { b: '2' }, nested: { count: 1 }, parts: [{ name: 'a', image: '1' }] });
  assert.equal((result['nested'] as typeof original.nested).parts, original.nested.parts);
  assert.equal((result['parts'] as unknown[])[1], original.parts[1]);
  assert.deepEqual(original.labels, { a: '1' });
  const long = 'x'.repeat(100_000);
  for (const patch of [
    { parts: [{ image: long }] },
    { labels: { $patch: long } },
    { '$setElementOrder/marks': ['a'], marks: [long] },
  ]) {
    assert.ok(refusal({ parts: named('a'), labels: {}, marks: [] }, patch).message.length < 1_000);
  }
});

test('the cost is that of the lists, and bounded where a patch names one element again and again', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
  const order = names.toReversed();
  const original = { parts: named(...names), marks: names };
  const patch = {
    parts: order.map((name) => ({ name, image: '1' })),
    marks: order,
    '$setElementOrder/parts': named(...order),
    '$setElementOrder/marks': order,
  };
  const start = performance.now();
  const result = merged(original, patch);
  assert.deepEqual(result['marks'], order);
  assert.deepEqual((result['parts'] as Json[]).at(-1), { name: 'n0', image: '1' });
  assert.ok(performance.now() - start < 2_000, 'no quadratic cost: 20,000 elements would take minutes');
  const again = Array.from({ length: 20_000 }, () => ({ name: 'n0', attributes: { x: '1' } }));
  const attributes = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, '']));
  const error = refusal({ parts: [{ name: 'n0', attributes }] }, { parts: again });
  assert.equal(error.code, 413);
  assert.ok(error.message.includes(String(limits.patchStepsMax)));
});

const plain = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 0, 2n ** 60n, 'x'),
    fc.dictionary(fc.constantFrom('a', 'labels', 'nested', 'strategy', '__proto__', 'constructor'), tie('any'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).any;
const object = fc.dictionary(fc.constantFrom('labels', 'nested', 'raw', 'odd', 'toString'), plain, {
  noNullPrototype: true,
});

test('without lists and directives it is a merge patch', () => {
  fc.assert(
    fc.property(object, object, (original, patch) => {
      assert.deepEqual(merged(original, patch), mergePatch(original, patch));
    }),
    { numRuns: 1_000 },
  );
});

const wild = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 1, 'a', 'b', 'replace', 'delete'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
    fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c') }), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(
    fc.constantFrom(
      ...[
        'parts',
        'marks',
        'words',
        'rules',
        'labels',
        'nested',
        'whole',
        'matrix',
        'name',
        'env',
        '__proto__',
        '$patch',
      ],
      ...['$retainKeys', '$setElementOrder/parts', '$setElementOrder/marks', '$deleteFromPrimitiveList/marks'],
    ),
    tie('any'),
    { maxKeys: 5, noNullPrototype: true },
  ),
}));

test('whatever the patch is, it applies or is refused, says the same twice and changes nothing given', () => {
  let applied = 0;
  fc.assert(
    fc.property(wild.object, wild.object, (original, patch) => {
      const given = jsonText([original, patch]);
      const outcome = (): unknown => {
        try {
          return merged(original as Json, patch);
        } catch (error) {
          assert.ok(error instanceof StatusError, String((error as Error).stack));
          return error.message;
        }
      };
      const first = outcome();
      if (typeof first === 'object') applied++;
      assert.deepEqual(outcome(), first);
      assert.equal(jsonText([original, patch]), given);
    }),
    { numRuns: 3_000 },
  );
  assert.ok(applied > 300, `${applied} applied`);
});
