import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../base/limits.ts';
import { compile } from './compile.ts';
import { CelCompileError } from './error.ts';
import { publishedError } from './published-error.ts';
import { type CelType, dynType, intType, listType, mapType, stringType, structType, timestampType } from './type.ts';

const item = structType('Item', { a: stringType });
const spec = structType('Object.spec', {
  replicas: intType,
  port: dynType,
  time: timestampType,
  list: listType(item),
  map: mapType(stringType, item),
});
const environment: Readonly<Record<string, CelType>> = { object: structType('Object', { spec }) };

const shown = (source: string): string => {
  try {
    compile(source, environment);
    return '';
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return publishedError(error, source);
  }
};

/** Errors by their columns, all of them in the first line, as kube-apiserver 1.32 gives them for the same types. */
const rows: readonly (readonly [source: string, ...errors: (readonly [column: number, reason: string])[]])[] = [
  ['object.spec.replicas && true', [12, "expected type 'bool' but found 'int'"]],
  ["object.nope && 'a'", [7, "undefined field 'nope'"], [16, "expected type 'bool' but found 'string'"]],
  ['object.x || object.spec.y || true', [7, "undefined field 'x'"], [24, "undefined field 'y'"]],
  ['object.spec.list.all(x, x.a)', [26, "expected type 'bool' but found 'string'"]],
  ['object.spec.list.exists_one(x, 1)', [28, "found no matching overload for '_?_:_' applied to '(int, int, int)'"]],
  [
    'object.spec.list.filter(x, 1).size() > 1',
    [24, "found no matching overload for '_?_:_' applied to '(int, list(Item), list(Item))'"],
  ],
  [
    'object.spec.list.map(x, 1, x.a).size() > 0',
    [21, "found no matching overload for '_?_:_' applied to '(int, list(string), list(string))'"],
  ],
  [
    'object.spec.list.all(x, x.a == 1 && x.b)',
    [29, "found no matching overload for '_==_' applied to '(string, int)'"],
    [38, "undefined field 'b'"],
  ],
  [
    'object.all(x, x == y)',
    [1, "expression of type 'Object' cannot be range of a comprehension (must be list, map, or dynamic)"],
    [20, "undeclared reference to 'y' (in container '')"],
  ],
  ['object.spec.list[object.nope].b == 1', [24, "undefined field 'nope'"], [30, "undefined field 'b'"]],
  ['foo(object.nope)', [4, "undeclared reference to 'foo' (in container '')"], [11, "undefined field 'nope'"]],
  [
    'object.nope.foo(bar)',
    [7, "undefined field 'nope'"],
    [16, "undeclared reference to 'foo' (in container '')"],
    [17, "undeclared reference to 'bar' (in container '')"],
  ],
  [
    'sets.contains(object.nope, 5)',
    [14, "found no matching overload for 'sets.contains' applied to '(!error!, int)'"],
    [21, "undefined field 'nope'"],
  ],
  [
    "object.spec.replicas + 'a' + object.nope",
    [22, "found no matching overload for '_+_' applied to '(int, string)'"],
    [36, "undefined field 'nope'"],
  ],
  ["object.spec.replicas ? 'a' : 1", [22, "found no matching overload for '_?_:_' applied to '(int, string, int)'"]],
  ["true ? 'a' : object.spec.replicas", [6, "found no matching overload for '_?_:_' applied to '(bool, string, int)'"]],
  ['true ? object.nope : 1', [14, "undefined field 'nope'"]],
  ["object.spec.replicas in ['a']", [22, "found no matching overload for '@in' applied to '(int, list(string))'"]],
  ['has(object.nope)', [4, "undefined field 'nope'"]],
  ['has(object.spec.replicas.a)', [4, "type 'int' does not support field selection"]],
  ['[?object.spec.replicas] == []', [14, "expected type 'optional_type(int)' but found 'int'"]],
  [
    'object.spec.list.optMap(x, x)',
    [24, "found no matching overload for 'hasValue' applied to 'list(Item).()'"],
    [24, "found no matching overload for 'value' applied to 'list(Item).()'"],
  ],
  // What is of the right type is looked at if all types are right.
  [
    "{'a': 1, 2: 'b'} == {}",
    [10, "expected type 'string' but found 'int'"],
    [13, "expected type 'int' but found 'string'"],
  ],
  ["[1, 'a', object.nope] == [2]", [16, "undefined field 'nope'"]],
  ["timestamp('x') == timestamp('y')", [11, 'invalid timestamp argument'], [29, 'invalid timestamp argument']],
  ["duration('x') == object.nope", [24, "undefined field 'nope'"]],
  ["'a'.matches('[')", [13, 'invalid matches argument']],
  [
    "'%d'.format(['a'])",
    [14, 'error during formatting: decimal clause can only be used on integers, was given string'],
  ],
  ["'%d %d'.format([1])", [15, 'index 1 out of range']],
  ['1e400 > 1.0', [1, 'invalid double literal']],
  ['1.0 > - 1e400', [7, 'invalid double literal']],
  ['1.0 > 1.0e999999999', [7, 'invalid double literal']],
  ['18446744073709551616u == 1u', [1, 'invalid uint literal']],
  ['9223372036854775808 == 1', [1, 'invalid int literal']],
  ['"%".format([]) == ""', [11, 'unexpected end of string']],
];

describe('errors of expressions, as published', () => {
  for (const [source, ...errors] of rows) {
    test(source, () => {
      const wanted = errors.map(
        ([column, reason]) => `ERROR: <input>:1:${column}: ${reason}\n | ${source}\n | ${'.'.repeat(column - 1)}^`,
      );
      assert.equal(shown(source), wanted.join('\n'));
    });
  }

  test('what is too small is zero', () => assert.equal(compile('1e-400 == 0.0', {}).evaluate({}), true));

  const layouts: readonly (readonly [what: string, source: string, shown: string])[] = [
    [
      'lines and tabs',
      'object.spec\n\t== object.nope',
      "ERROR: <input>:2:11: undefined field 'nope'\n |  == object.nope\n | ..........^",
    ],
    [
      'wide characters',
      "'é' == object.nope",
      "ERROR: <input>:1:14: undefined field 'nope'\n | 'é' == object.nope\n | .．...........^",
    ],
    [
      'characters of two code units',
      "'𝒳' == object.nope",
      "ERROR: <input>:1:14: undefined field 'nope'\n | '𝒳' == object.nope\n | .．...........^",
    ],
    [
      'a long line',
      `object.nope == '${'x'.repeat(limits.celErrorLineBytesMax)}'`,
      "ERROR: <input>:1:7: undefined field 'nope'",
    ],
  ];
  for (const [what, source, text] of layouts) test(what, () => assert.equal(shown(source), text));

  test('more errors than are shown are counted', () => {
    const many = Array.from({ length: limits.celErrorsMax + 30 }, () => 'object.y').join(' ||\n');
    const text = shown(many);
    assert.equal(text.split('ERROR').length - 1, limits.celErrorsMax);
    assert.match(text, /\n30 more errors were truncated$/);
    const long = Array.from({ length: 90 }, () => 'object.y').join('||');
    assert.ok(shown(`${long}||'${'x'.repeat(10_000)}'==object.y`).length < 2 * limits.celErrorTextMax);
  });
});
