import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../base/limits.ts';
import { StatusError } from '../meta/status-error.ts';
import { applyJsonPatch, parseJsonPatch, unknownMembers } from './json-patch.ts';

const patched = (target: unknown, patch: unknown): unknown => applyJsonPatch(target, parseJsonPatch(patch));

/** The error of a patch; fails if it applies. */
function refusal(target: unknown, patch: unknown): StatusError {
  try {
    patched(target, patch);
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    return error;
  }
  return assert.fail('the patch was applied');
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) freeze(each);
    Object.freeze(value);
  }
  return value;
}

const rejected = 'the server rejected our request due to an error in our request: ';

test('RFC 6902 appendix A, and what section 4 says of each operation', () => {
  for (const [target, patch, result] of [
    [{ foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { foo: 'bar', baz: 'qux' }],
    [{ foo: ['bar', 'baz'] }, [{ op: 'add', path: '/foo/1', value: 'qux' }], { foo: ['bar', 'qux', 'baz'] }],
    [{ baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
    [{ foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
    [{ baz: 'qux', foo: 'bar' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo', foo: 'bar' }],
    [
      { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
      [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
      { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
    ],
    [
      { foo: ['all', 'grass', 'cows', 'eat'] },
      [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
      { foo: ['all', 'cows', 'eat', 'grass'] },
    ],
    [
      { baz: 'qux', foo: ['a', 2, 'c'] },
      [
        { op: 'test', path: '/baz', value: 'qux' },
        { op: 'test', path: '/foo/1', value: 2 },
      ],
      { baz: 'qux', foo: ['a', 2, 'c'] },
    ],
    [
      { foo: 'bar' },
      [{ op: 'add', path: '/child', value: { grandchild: {} } }],
      { foo: 'bar', child: { grandchild: {} } },
    ],
    [{ foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux', xyz: 123 }], { foo: 'bar', baz: 'qux' }],
    [{ '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
    [{ foo: ['bar'] }, [{ op: 'add', path: '/foo/-', value: ['abc'] }], { foo: ['bar', ['abc']] }],
    // 4.1: add replaces an existing member, the root too; an index may be the length.
    [{ a: 1 }, [{ op: 'add', path: '/a', value: null }], { a: null }],
    [{ a: 1 }, [{ op: 'add', path: '', value: [2] }], [2]],
    [[1], [{ op: 'add', path: '/1', value: 2 }], [1, 2]],
    [{}, [{ op: 'add', path: '/', value: 1 }], { '': 1 }],
    [{ a: {} }, [{ op: 'add', path: '/a/', value: 1 }], { a: { '': 1 } }],
    [{}, [{ op: 'add', path: '/0', value: 1 }], { 0: 1 }],
    [{}, [{ op: 'add', path: '/-', value: 1 }], { '-': 1 }],
    [{}, [{ op: 'add', path: '/a~1b~0c', value: 1 }], { 'a/b~c': 1 }],
    // 4.3
    [{ a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
    [[1, 2], [{ op: 'replace', path: '/1', value: { b: 2 } }], [1, { b: 2 }]],
    [{ a: null }, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    // 4.4
    [{ a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/a' }], { a: 1 }],
    [{ a: { b: 1 } }, [{ op: 'move', from: '/a', path: '' }], { b: 1 }],
    [{ a: null }, [{ op: 'move', from: '/a', path: '/b' }], { b: null }],
    [{ ab: 1 }, [{ op: 'move', from: '/ab', path: '/abc' }], { abc: 1 }],
    // 4.5
    [{ a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/a/c' }], { a: { b: 1, c: { b: 1 } } }],
    [{ a: [1] }, [{ op: 'copy', from: '', path: '/b' }], { a: [1], b: { a: [1] } }],
    // 4.6
    [{ a: { x: 1, y: [1] } }, [{ op: 'test', path: '/a', value: { y: [1], x: 1 } }], { a: { x: 1, y: [1] } }],
    [{ a: 2n ** 60n }, [{ op: 'test', path: '/a', value: 2 ** 60 }], { a: 2n ** 60n }],
    [{ a: 0 }, [{ op: 'test', path: '/a', value: -0 }], { a: 0 }],
    [{ a: 1 }, [{ op: 'test', path: '', value: { a: 1 } }], { a: 1 }],
    // An absent member of an object is null: clients add the first finalizer of an object so.
    [{}, [{ op: 'test', path: '/a', value: null }], {}],
    [{ a: [null] }, [{ op: 'test', path: '/a/0', value: null }], { a: [null] }],
    [
      { m: { n: 1 } },
      [
        { op: 'test', path: '/m/f', value: null },
        { op: 'add', path: '/m/f', value: [1] },
      ],
      { m: { n: 1, f: [1] } },
    ],
    [{ a: 1 }, [], { a: 1 }],
    // Copies are independent of each other.
    [
      { a: { x: 1 } },
      [
        { op: 'copy', from: '/a', path: '/b' },
        { op: 'replace', path: '/a/x', value: 2 },
        { op: 'copy', from: '/a', path: '/c' },
        { op: 'replace', path: '/c/x', value: 3 },
      ],
      { a: { x: 2 }, b: { x: 1 }, c: { x: 3 } },
    ],
    [
      { a: { b: { c: 1 } } },
      [
        { op: 'replace', path: '/a/b/c', value: 2 },
        { op: 'move', from: '/a/b', path: '/d' },
        { op: 'replace', path: '/d/c', value: 3 },
      ],
      { a: {}, d: { c: 3 } },
    ],
  ] as const) {
    assert.deepEqual(patched(freeze(structuredClone(target)), freeze(patch)), result, JSON.stringify(patch));
  }
});

test('a patch that does not apply is a 422 with the message of kube-apiserver', () => {
  const target = freeze({ foo: 'bar', list: [1, 2], none: null, deep: { a: 1 } });
  for (const [operation, member, message] of [
    [
      { op: 'add', path: '/x/y', value: 1 },
      'path',
      'add operation does not apply: doc is missing path: "/x/y": missing value',
    ],
    [
      { op: 'add', path: '/foo/y', value: 1 },
      'path',
      'add operation does not apply: doc is missing path: "/foo/y": missing value',
    ],
    [
      { op: 'add', path: '/none/y', value: 1 },
      'path',
      'add operation does not apply: doc is missing path: "/none/y": missing value',
    ],
    [
      { op: 'add', path: '/list/3', value: 1 },
      'path',
      "error in add for path: '/list/3': Unable to access invalid index: 3: invalid index referenced",
    ],
    [
      { op: 'add', path: '/list/01', value: 1 },
      'path',
      "error in add for path: '/list/01': value was not a proper array index: '01'",
    ],
    [
      { op: 'add', path: '/list/-1', value: 1 },
      'path',
      "error in add for path: '/list/-1': value was not a proper array index: '-1'",
    ],
    [
      { op: 'add', path: '/list/1e0', value: 1 },
      'path',
      "error in add for path: '/list/1e0': value was not a proper array index: '1e0'",
    ],
    [
      { op: 'add', path: '/list/length', value: 1 },
      'path',
      "error in add for path: '/list/length': value was not a proper array index: 'length'",
    ],
    [
      { op: 'remove', path: '/x' },
      'path',
      "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
    ],
    [
      { op: 'remove', path: '/x/y' },
      'path',
      'remove operation does not apply: doc is missing path: "/x/y": missing value',
    ],
    [
      { op: 'remove', path: '/list/2' },
      'path',
      "error in remove for path: '/list/2': Unable to access invalid index: 2: invalid index referenced",
    ],
    [
      { op: 'remove', path: '/list/-' },
      'path',
      "error in remove for path: '/list/-': value was not a proper array index: '-'",
    ],
    [{ op: 'remove', path: '' }, 'path', 'remove operation does not apply: the whole document cannot be removed'],
    [
      { op: 'replace', path: '/x/y', value: 1 },
      'path',
      'replace operation does not apply: doc is missing path: /x/y: missing value',
    ],
    [
      { op: 'replace', path: '/x', value: 1 },
      'path',
      'replace operation does not apply: doc is missing key: /x: missing value',
    ],
    [
      { op: 'replace', path: '/constructor', value: 1 },
      'path',
      'replace operation does not apply: doc is missing key: /constructor: missing value',
    ],
    [
      { op: 'replace', path: '/list/-', value: 1 },
      'path',
      'replace operation does not apply: doc is missing key: /list/-: missing value',
    ],
    [
      { op: 'move', from: '/x', path: '/y' },
      'from',
      'move operation does not apply: doc is missing from path: /x: missing value',
    ],
    [
      { op: 'move', from: '/foo', path: '/x/y' },
      'path',
      'move operation does not apply: doc is missing destination path: /x/y: missing value',
    ],
    [
      { op: 'move', from: '/deep', path: '/deep/b' },
      'path',
      'move operation does not apply: "/deep" cannot be moved into itself: "/deep/b"',
    ],
    [
      { op: 'move', from: '', path: '/b' },
      'path',
      'move operation does not apply: "" cannot be moved into itself: "/b"',
    ],
    [
      { op: 'move', from: '/foo', path: '/list/9' },
      'path',
      "error in move for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ],
    [
      { op: 'copy', from: '/x/y', path: '/y' },
      'from',
      'copy operation does not apply: doc is missing from path: /x/y: missing value',
    ],
    [
      { op: 'copy', from: '/foo', path: '/x/y' },
      'path',
      'copy operation does not apply: doc is missing destination path: /x/y: missing value',
    ],
    [{ op: 'test', path: '/foo', value: 'baz' }, 'path', 'testing value /foo failed: test failed'],
    [{ op: 'test', path: '/list', value: [1] }, 'path', 'testing value /list failed: test failed'],
    [{ op: 'test', path: '/list', value: { 0: 1, 1: 2 } }, 'path', 'testing value /list failed: test failed'],
    [{ op: 'test', path: '/list/0', value: '1' }, 'path', 'testing value /list/0 failed: test failed'],
    [{ op: 'test', path: '/deep', value: {} }, 'path', 'testing value /deep failed: test failed'],
    [{ op: 'test', path: '/deep', value: { a: 1, b: 2 } }, 'path', 'testing value /deep failed: test failed'],
    [{ op: 'test', path: '/none', value: false }, 'path', 'testing value /none failed: test failed'],
    [
      { op: 'test', path: '/x/y', value: null },
      'path',
      'test operation does not apply: is missing path: /x/y: missing value',
    ],
  ] as const) {
    const error = refusal(target, [{ op: 'test', path: '/foo', value: 'bar' }, operation]);
    const field = `[1].${member}`;
    assert.deepEqual([error.code, error.reason, error.message], [422, 'Invalid', `${rejected}${field}: ${message}`]);
    assert.deepEqual(error.details?.causes, [{ reason: 'FieldValueInvalid', message, field }]);
  }
});

test('a malformed patch is a 400 that names the operation and the member', () => {
  const good = { op: 'add', path: '/a', value: 1 };
  for (const [patch, message] of [
    [{ op: 'add' }, 'expected an array of operations, got object'],
    [null, 'expected an array of operations, got null'],
    ['[]', 'expected an array of operations, got string'],
    [[good, 1], '[1]: expected an object, got number'],
    [[[]], '[0]: expected an object, got array'],
    [[null], '[0]: expected an object, got null'],
    [[{}], '[0].op: Required value'],
    [[{ op: 1 }], '[0].op: Unsupported value: 1: supported values: "add", "copy", "move", "remove", "replace", "test"'],
    [
      [{ op: 'ADD' }],
      '[0].op: Unsupported value: "ADD": supported values: "add", "copy", "move", "remove", "replace", "test"',
    ],
    [[{ op: 'add', path: '/a' }], '[0].value: Required value'],
    [[{ op: 'add', value: 1 }], '[0].path: Required value'],
    [[{ op: 'remove', path: 1 }], '[0].path: expected a string, got number'],
    [[{ op: 'remove', path: null }], '[0].path: expected a string, got null'],
    [[{ op: 'copy', path: '/a' }], '[0].from: Required value'],
    [[{ op: 'move', path: '/a', from: [] }], '[0].from: expected a string, got array'],
    [[{ op: 'remove', path: 'a/b' }], '[0].path: Invalid value: "a/b": must be empty or begin with "/"'],
    [[{ op: 'remove', path: '/a~2' }], '[0].path: Invalid value: "/a~2": "~" must be followed by 0 or 1'],
    [[{ op: 'remove', path: '/a~' }], '[0].path: Invalid value: "/a~": "~" must be followed by 0 or 1'],
  ] as const) {
    const error = refusal({}, patch);
    assert.deepEqual([error.code, error.message], [400, `error decoding patch: ${message}`]);
  }
});

test('operations are counted before anything else is looked at', () => {
  const patch = (count: number): unknown[] => Array.from({ length: count }, () => ({ op: 'test', path: '', value: 1 }));
  assert.equal(patched(1, patch(limits.jsonPatchOperationsMax)), 1);
  const error = refusal(1, [...patch(limits.jsonPatchOperationsMax), 'no operation']);
  assert.equal(error.code, 413);
  assert.equal(
    error.message,
    'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
  );
});

test('copies are bounded in all (CVE-2019-1002100)', () => {
  const target = { a: 'é'.repeat(64 * 1024) };
  const doubling = Array.from({ length: 30 }, (_, index) => ({ op: 'copy', from: '', path: `/x${index}` }));
  const error = refusal(target, doubling);
  assert.equal(error.code, 422);
  assert.match(error.message, /\[4\]\.from: Unable to complete the copy, .* exceeding the limit 3145728$/);
  assert.deepEqual(Object.keys(patched(target, doubling.slice(0, 4)) as object).length, 5);
});

test('nothing nests deeper than a body could', () => {
  const path = '/a'.repeat(limits.depthMax);
  assert.match(refusal({}, [{ op: 'remove', path: `${path}/a` }]).message, /must not have more than 64 steps$/);
  let value: unknown = 0;
  for (let level = 1; level < limits.depthMax; level++) value = { a: value };
  assert.deepEqual(patched({}, [{ op: 'add', path: '/a', value }]), { a: value });
  for (const patch of [
    [{ op: 'add', path: '/a', value: [value] }],
    [{ op: 'replace', path: '/b', value: [value] }],
    [
      { op: 'add', path: '/a', value },
      { op: 'copy', from: '/a', path: '/c/a' },
    ],
    [
      { op: 'add', path: '/a', value },
      { op: 'move', from: '/a', path: '/c/a' },
    ],
  ]) {
    assert.match(refusal({ b: 1, c: {} }, patch).message, /more than 64 levels of nesting/);
  }
  const wrapping = Array.from({ length: 100 }, () => [
    { op: 'add', path: '/b', value: {} },
    { op: 'move', from: '/a', path: '/b/a' },
    { op: 'move', from: '/b', path: '/a' },
  ]).flat();
  assert.match(refusal({ a: {} }, wrapping).message, /more than 64 levels of nesting/);
});

test('small operations on large values do not add up', () => {
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 0]));
  const tests = Array.from({ length: 10_000 }, () => ({ op: 'test', path: '/wide', value: wide }));
  assert.deepEqual(patched({ wide }, tests), { wide }, 'the same object is equal at no cost');
  assert.equal(refusal({ wide: { ...wide } }, tests).code, 413);
  const moves = Array.from({ length: 5_000 }, () => [
    { op: 'move', from: '/wide', path: '/in/wide' },
    { op: 'move', from: '/in/wide', path: '/wide' },
  ]).flat();
  assert.equal(refusal({ wide, in: {} }, moves).code, 413);
  const long = Array.from({ length: 400_000 }, () => 0);
  const inserts = Array.from({ length: 10_000 }, () => ({ op: 'add', path: '/long/0', value: 0 }));
  assert.equal(refusal({ long }, inserts).code, 413);
  assert.equal((patched({ long: [] }, inserts) as { long: unknown[] }).long.length, 10_000);
});

test('long text of a client is cut in messages', () => {
  const long = 'x'.repeat(100_000);
  for (const patch of [
    [{ op: long, path: '' }],
    [{ op: 'remove', path: long }],
    [{ op: 'remove', path: `/${long}` }],
    [{ op: 'add', path: `/list/${long}`, value: 1 }],
    [{ op: 'test', path: `/${long}`, value: 1 }],
    [{ op: 'move', from: '/a', path: `/a/${long}` }],
  ]) {
    assert.ok(refusal({ a: 1, list: [] }, patch).message.length < 1_000);
  }
});

test('what was not touched is shared, what was touched is not', () => {
  const target = { a: { x: [1] }, b: { y: 2 } };
  const value = { v: { w: 1 } };
  const result = patched(target, [
    { op: 'add', path: '/a/x/-', value: 2 },
    { op: 'add', path: '/c', value },
    { op: 'add', path: '/c/z', value: 3 },
  ]) as { a: { x: unknown }; b: unknown; c: { v: unknown } };
  assert.deepEqual(result, { a: { x: [1, 2] }, b: { y: 2 }, c: { v: { w: 1 }, z: 3 } });
  assert.equal(result.b, target.b);
  assert.equal(result.c.v, value.v);
  assert.deepEqual([target, value], [{ a: { x: [1] }, b: { y: 2 } }, { v: { w: 1 } }]);
});

test('names of prototypes are names like any other', () => {
  const target: unknown = JSON.parse('{"a":{"__proto__":{"x":1}}}');
  for (const [patch, text] of [
    [[{ op: 'add', path: '/__proto__', value: { p: 1 } }], '{"a":{"__proto__":{"x":1}},"__proto__":{"p":1}}'],
    [[{ op: 'add', path: '/a/__proto__/p', value: 1 }], '{"a":{"__proto__":{"x":1,"p":1}}}'],
    [[{ op: 'replace', path: '/a/__proto__', value: 1 }], '{"a":{"__proto__":1}}'],
    [[{ op: 'copy', from: '/a', path: '/b' }], '{"a":{"__proto__":{"x":1}},"b":{"__proto__":{"x":1}}}'],
    [[{ op: 'move', from: '/a', path: '/__proto__' }], '{"__proto__":{"__proto__":{"x":1}}}'],
    [[{ op: 'remove', path: '/a/__proto__' }], '{"a":{}}'],
    [[{ op: 'add', path: '/constructor', value: 1 }], '{"a":{"__proto__":{"x":1}},"constructor":1}'],
    [[{ op: 'test', path: '/a', value: JSON.parse('{"__proto__":{"x":1}}') }], '{"a":{"__proto__":{"x":1}}}'],
  ] as const) {
    assert.equal(JSON.stringify(patched(target, patch)), text);
  }
  for (const path of ['/constructor/prototype/p', '/__proto__/p', '/toString/p', '/a/constructor/p']) {
    assert.equal(refusal(target, [{ op: 'add', path, value: 1 }]).code, 422);
  }
  assert.equal(refusal({}, [{ op: 'test', path: '', value: JSON.parse('{"__proto__":{}}') }]).code, 422);
  assert.equal(refusal([], [{ op: 'test', path: '/length', value: 0 }]).code, 422);
  assert.equal(({} as { p?: unknown }).p, undefined);
});

test('unknown members are reported for field validation', () => {
  const patch = [{ op: 'remove', path: '/a', vlaue: 1 }, 1, { op: 'copy', from: '', path: '/b', 'x.y': 1, z: 2 }];
  assert.deepEqual(unknownMembers(patch), ['[0].vlaue', '[2].x.y', '[2].z']);
  const many = Array.from({ length: limits.findingsMax + 1 }, () => ({ x: 1 }));
  assert.equal(unknownMembers(many).length, limits.findingsMax);
});

const token = fc.constantFrom('a', 'b', '__proto__', 'constructor', '0', '1', '-', '', '~0', '~1', '01');
const path = fc.array(token, { maxLength: 4 }).map((tokens) => tokens.map((each) => `/${each}`).join(''));
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, 0, 1, 2n ** 60n, 'x'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__', '0', ''), tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const operation = fc.record({
  op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
  path,
  from: path,
  value,
});

test('random patches apply or are refused, change nothing that was given, and say the same twice', () => {
  let applied = 0;
  fc.assert(
    fc.property(value, fc.array(operation, { maxLength: 4 }), (target, patch) => {
      freeze(target);
      freeze(patch);
      const outcome = (): unknown => {
        try {
          return { value: patched(target, patch) };
        } catch (error) {
          assert.ok(error instanceof StatusError, String(error));
          assert.equal(error.code, 422);
          return { message: error.message };
        }
      };
      const first = outcome() as { value?: unknown };
      assert.deepEqual(outcome(), first);
      if ('value' in first) {
        applied++;
        assert.deepEqual(patched(target, [{ op: 'replace', path: '', value: first.value }]), first.value);
      }
    }),
    { numRuns: 2_000 },
  );
  assert.ok(applied > 200, `${applied} applied`);
  assert.equal(({} as { a?: unknown }).a, undefined);
});

test('add and remove are inverse', () => {
  fc.assert(
    fc.property(value, value, (inner, added) => {
      const target = { list: [inner, inner], map: { k: inner } };
      for (const at of ['/list/1', '/list/-', '/map/new']) {
        const removed = at === '/list/-' ? '/list/2' : at;
        const patch = [
          { op: 'add', path: at, value: added },
          { op: 'test', path: removed, value: added },
          { op: 'remove', path: removed },
        ];
        assert.deepEqual(patched(target, patch), target);
      }
    }),
    { numRuns: 300 },
  );
});
