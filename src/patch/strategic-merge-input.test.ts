import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { StatusError } from '../meta/status-error.ts';
import { mergePatch } from './merge-patch.ts';
import { type Json, merged, named, refusal } from './strategic-merge-fixture.ts';

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
  // A directive inherited from a prototype is ignored.
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

test('the cost is that of the lists, and bounded if a patch repeats one element', () => {
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

test('an order beside elements that are no objects', () => {
  for (const element of [null, 1, 'a', true, ['a']]) {
    const error = refusal({}, { '$setElementOrder/parts': [], parts: [element] });
    assert.equal(error.code, 400, JSON.stringify(element));
  }
});

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
