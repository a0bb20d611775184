import { strict as assert } from 'node:assert';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  describePath,
  type FieldPath,
  fieldElement,
  indexElement,
  keyElement,
  PathElementError,
  readElement,
  sortElements,
  valueElement,
} from './field-path.ts';
import {
  difference,
  equalSets,
  type FieldSet,
  fieldSetOf,
  fieldSetOfNames,
  has,
  intersection,
  leavesOf,
  pathsOf,
  recursiveDifference,
  sizeOf,
  union,
} from './field-set.ts';
import { decodeFields, encodeFields } from './fields-v1.ts';

suite('path elements', () => {
  test('are written with sorted keys and canonical values', () => {
    assert.equal(
      keyElement(['name', 'port'], (key) => ({ name: 'x', port: 80 })[key]),
      'k:{"name":"x","port":80}',
    );
    assert.equal(valueElement({ b: 1, a: [true, null] }), 'v:{"a":[true,null],"b":1}');
    assert.equal(valueElement('a<b>&"\\\b\u2028é'), 'v:"a\\u003cb\\u003e\\u0026\\"\\\\\\u0008\\u2028é"');
    assert.equal(valueElement('\\b'), 'v:"\\\\b"');
    assert.equal(valueElement(2n ** 60n), 'v:1152921504606846976');
  });

  for (const [text, element] of [
    ['f:', 'f:'],
    ['f:a:b', 'f:a:b'],
    ['k:{ "port": 80.0, "name": "x" }', 'k:{"name":"x","port":80}'],
    ['k:{"port":1152921504606846977}', 'k:{"port":1152921504606846977}'],
    ['v:"\\u0041<"', 'v:"A\\u003c"'],
    ['v:-0', 'v:0'],
    ['v:1e3', 'v:1000'],
    ['i:+5', 'i:5'],
    ['x:later', undefined],
  ] as const) {
    test(`${text} is read as ${element}`, () => assert.equal(readElement(text), element));
  }

  for (const text of [
    '',
    'f',
    'spec',
    'k:',
    'k:[]',
    'k:{',
    'k:5',
    'v:',
    'v:x',
    'v:1 2',
    'i:',
    'i:x',
    'i:1.5',
    'i:99999999999999999999',
  ]) {
    test(`${JSON.stringify(text)} is refused`, () => assert.throws(() => readElement(text), PathElementError));
  }

  test('are sorted as in kube-apiserver: fields, keys, values, indexes', () => {
    const sorted = [
      'f:',
      'f:B',
      'f:a',
      'f:\uffee',
      'f:\u{1f600}',
      'k:{"a":1}',
      'k:{"a":2,"b":1}',
      'k:{"a":10}',
      'k:{"a":"1"}',
      'k:{"b":0}',
      'v:2',
      'v:10',
      'v:"a"',
      'v:false',
      'v:true',
      'v:[1]',
      'v:{}',
      'v:null',
      'i:2',
      'i:10',
    ] as const;
    assert.deepEqual(sortElements([...sorted].reverse()), sorted);
  });

  test('make paths that people read', () => {
    const path: FieldPath = [
      fieldElement('spec'),
      keyElement(['name', 'port'], (key) => ({ name: 'x', port: 80 })[key]),
      valueElement('v'),
      indexElement(3),
    ];
    assert.equal(describePath(path), '.spec[name="x",port=80][="v"][3]');
    assert.equal(describePath([]), '');
  });
});

suite('FieldsV1', () => {
  test('marks fields that have others below them', () => {
    const set = fieldSetOfNames(['b'], ['a', 'x'], ['a'], ['c', 'y']);
    assert.equal(JSON.stringify(encodeFields(set)), '{"f:a":{".":{},"f:x":{}},"f:b":{},"f:c":{"f:y":{}}}');
    assert.deepEqual(encodeFields(fieldSetOf()), {});
  });

  const texts: readonly [name: string, fields: unknown, paths: readonly string[]][] = [
    ['nothing', {}, []],
    ['null and empty objects are leaves', { 'f:a': null, 'f:b': {} }, ['.a', '.b']],
    ['what stands at . does not count', { 'f:a': { '.': { 'f:x': {} }, 'f:b': {} } }, ['.a', '.a.b']],
    ['. at the top is nothing', { '.': {}, 'f:a': {} }, ['.a']],
    ['unknown kinds are dropped', { 'x:y': { 'f:b': {} }, 'f:a': { 'x:z': {} } }, ['.a']],
    [
      'two forms of an element are one',
      { 'k:{"a":1}': { 'f:x': {} }, 'k:{"a": 1.0}': { 'f:y': {} } },
      ['[a=1].x', '[a=1].y'],
    ],
    ['hostile names are names', JSON.parse('{"f:__proto__":{"f:constructor":{}}}'), ['.__proto__.constructor']],
  ];
  for (const [name, fields, paths] of texts) {
    test(name, () => assert.deepEqual([...pathsOf(decodeFields(fields))].map(describePath), paths));
  }

  for (const [name, fields] of [
    ['a list', []],
    ['text', 'f:a'],
    ['a leaf that is no object', { 'f:a': true }],
    ['a name without a kind', { a: {} }],
    ['a name of its own that is inherited elsewhere', JSON.parse('{"__proto__":{}}')],
    ['too deep', JSON.parse(`${'{"f:a":'.repeat(65)}{}${'}'.repeat(65)}`)],
  ] as const) {
    test(`${name} is refused`, () => assert.throws(() => decodeFields(fields), PathElementError));
  }
});

suite('set algebra, against lists of paths', () => {
  const element = fc.constantFrom(
    fieldElement('a'),
    fieldElement('b'),
    fieldElement('__proto__'),
    keyElement(['n'], () => 'x'),
    valueElement(1),
    indexElement(0),
  );
  const path = fc.array(element, { minLength: 1, maxLength: 4 });
  const paths = fc.array(path, { maxLength: 12 });
  const textsOf = (set: FieldSet): readonly string[] => [...pathsOf(set)].map(describePath).sort();
  const texts = (list: readonly FieldPath[]): readonly string[] => [...new Set(list.map(describePath))].sort();
  const isIn = (list: readonly FieldPath[], one: FieldPath): boolean => texts(list).includes(describePath(one));
  const isBelow = (list: readonly FieldPath[], one: FieldPath): boolean =>
    one.some((_, length) => isIn(list, one.slice(0, length + 1)));

  const check = (
    name: string,
    operation: (a: FieldSet, b: FieldSet) => FieldSet,
    naive: (a: readonly FieldPath[], b: readonly FieldPath[]) => readonly FieldPath[],
  ): void => {
    test(name, () => {
      fc.assert(
        fc.property(paths, paths, (a, b) => {
          const result = operation(fieldSetOf(...a), fieldSetOf(...b));
          assert.deepEqual(textsOf(result), texts(naive(a, b)));
          // No empty nodes are kept: sets with equal members are equal.
          assert.ok(equalSets(result, fieldSetOf(...naive(a, b))));
        }),
      );
    });
  };

  check('union', union, (a, b) => [...a, ...b]);
  check('intersection', intersection, (a, b) => a.filter((one) => isIn(b, one)));
  check('difference', difference, (a, b) => a.filter((one) => !isIn(b, one)));
  check('recursive difference', recursiveDifference, (a, b) => a.filter((one) => !isBelow(b, one)));
  check('leaves', leavesOf, (a) =>
    a.filter(
      (one) =>
        !a.some((other) => other.length > one.length && describePath(other.slice(0, one.length)) === describePath(one)),
    ),
  );

  test('has and size', () => {
    fc.assert(
      fc.property(paths, path, (list, one) => {
        const set = fieldSetOf(...list);
        assert.equal(has(set, one), isIn(list, one));
        assert.equal(sizeOf(set), texts(list).length);
      }),
    );
  });

  test('sets survive a round trip through their text, which does not change', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const set = fieldSetOf(...list);
        const text = JSON.stringify(encodeFields(set));
        const read = decodeFields(JSON.parse(text));
        assert.ok(equalSets(read, set));
        assert.equal(JSON.stringify(encodeFields(read)), text);
      }),
    );
  });
});
