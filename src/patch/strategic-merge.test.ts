import { test } from 'node:test';
import { check, named } from './strategic-merge-fixture.ts';

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
