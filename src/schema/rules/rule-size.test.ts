import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { estimateCost } from '../../cel/estimate.ts';
import { schemaOf } from '../schema.ts';
import { schemaFrom, withSpec } from '../structural/structural-fixture.ts';
import { ruleEnvironment } from './compile-rule.ts';
import { ruleSizes } from './rule-size.ts';
import { ruleType } from './rule-type.ts';

/** Estimated costs, as kube-apiserver 1.32 has them for the same schemas: its clients declare limits to stay below them. */

/** A schema without limits, or with all of them at `max`. */
type SchemaOf = (max?: number) => object;

const limited = (keyword: string, max: number | undefined) => (max === undefined ? {} : { [keyword]: max });
const typed = (name: string): object => {
  if (name === 'int-or-string') return { 'x-kubernetes-int-or-string': true };
  return ['duration', 'date', 'date-time'].includes(name) ? { type: 'string', format: name } : { type: name };
};
const listOf =
  (items: object): SchemaOf =>
  (max) => ({ type: 'array', items, ...limited('maxItems', max) });
const mapOf =
  (values: object): SchemaOf =>
  (max) => ({ type: 'object', additionalProperties: values, ...limited('maxProperties', max) });
const textOf: SchemaOf = (max) => ({ type: 'string', ...limited('maxLength', max) });
const texts: SchemaOf = (max) => ({ ...listOf(textOf(max))(max) });
const object = (properties: object) => ({ type: 'object', properties });
const pair = {
  type: 'object',
  required: ['required'],
  properties: { required: { type: 'string' }, optional: { type: 'string' } },
};
const enumOf: SchemaOf = (max) => ({ ...textOf(max), enum: ['A', 'B', 'C', 'LongValue'] });

type Row = readonly [schema: SchemaOf, rule: string, unlimited: number | undefined, max: number, limited: number];

/** undefined: more than any limit allows. */
const rows: Readonly<Record<string, Row>> = {
  'numbers: all': [listOf(typed('number')), 'self.all(x, true)', 4718591, 10, 32],
  'strings: all': [listOf(typed('string')), 'self.all(x, true)', 3145727, 20, 62],
  'booleans: all': [listOf(typed('boolean')), 'self.all(x, true)', 1887437, 5, 17],
  'lists: all': [listOf(listOf(typed('number'))()), 'self.all(x, true)', 3145727, 100, 302],
  'objects: all': [listOf(pair), 'self.all(x, true)', 555128, 50, 152],
  'map of numbers: all': [mapOf(typed('number')), 'self.all(x, true)', 1348169, 10, 32],
  'map of numbers: has': [mapOf(typed('number')), 'has(self.x)', 1, 100, 1],
  'map of strings: all': [mapOf(typed('string')), 'self.all(x, true)', 1179647, 3, 11],
  'map of booleans: all': [mapOf(typed('boolean')), 'self.all(x, true)', 943718, 100, 302],
  contains: [textOf, "self.contains('test')", 314574, 10, 5],
  startsWith: [textOf, "self.startsWith('test')", 2, 15, 2],
  endsWith: [textOf, "self.endsWith('test')", 2, 30, 2],
  'joined strings': [textOf, 'size(self + "hello") > size("hello")', 314578, 4, 7],
  'index of numbers': [listOf(typed('number')), 'self[1] == 0.0', 2, 5000, 2],
  'index of strings': [listOf(typed('string')), 'self[1] == self[1]', 314577, 8, 314577],
  'a loop in a loop': [listOf(typed('number')), 'self.all(x, self.all(y, true))', undefined, 10, 352],
  'three loops': [listOf(typed('number')), 'self.all(x, self.all(y, self.all(z, true)))', undefined, 10, 3552],
  matches: [textOf, 'self.matches("x")', 314574, 50, 22],
  'matches, of an empty text': [textOf, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7],
  'matches, of an empty pattern': [textOf, 'self.matches("")', 1, 100, 1],
  'values of a map': [(max) => mapOf(textOf(max))(max), 'self.all(x, x.contains(self[x]))', 2752507, 10, 72],
  'no items': [listOf(typed('number')), 'self[3] == 0.0', 2, 0, 2],
  'no keys': [mapOf(typed('number')), 'self["x"] == 0.0', 2, 0, 2],
  'no characters': [textOf, 'self == "x"', 2, 0, 1],
  'no bytes': [(max) => ({ ...textOf(max), format: 'byte' }), 'self == b"x"', 2, 0, 1],
  'more items than fit': [listOf(typed('number')), 'self.all(x, x == 0.0)', 6291454, 3 * 1024 * 2048, 25165826],
  'nested types': [
    (max) => listOf(mapOf({ ...pair, ...limited('maxProperties', max) })(max))(max),
    'self.all(x, x["y"].required == "z")',
    7340027,
    10,
    72,
  ],
  'nested types, limited inside': [
    (max) => listOf(mapOf(pair)(max))(),
    'self.all(x, x["y"].required == "z")',
    7340027,
    10,
    7340027,
  ],
  'integers or strings: all': [listOf(typed('int-or-string')), 'self.all(x, true)', 4718591, 10, 32],
  'index of integers or strings': [listOf(typed('int-or-string')), 'self[0] == 5', 3, 10, 3],
  'index of booleans': [listOf(typed('boolean')), 'self[0] == false', 2, 25, 2],
  'index of objects': [listOf(pair), 'self[0] == null', 2, 422, 2],
  'index of lists': [listOf(listOf(typed('number'))()), 'self[0][0] == -1.0', 3, 51, 3],
  'maps: all': [listOf(mapOf(typed('number'))()), 'self.all(x, x.y == 25.2)', 6291452, 12, 74],
  'index of maps': [listOf(mapOf(typed('number'))()), 'self[0].x > 2.0', 4, 3000, 4],
  'durations: all': [listOf(typed('duration')), 'self.all(x, true)', 2359295, 5, 17],
  'index of durations': [listOf(typed('duration')), 'self[0].getHours() == 2', 4, 525, 4],
  'dates: all': [listOf(typed('date')), 'self.all(x, true)', 725936, 15, 47],
  'index of dates': [listOf(typed('date')), 'self[2].getDayOfMonth() == 13', 4, 42, 4],
  'date-times: all': [listOf(typed('date-time')), 'self.all(x, true)', 428963, 25, 77],
  'map of integers or strings: all': [mapOf(typed('int-or-string')), 'self.all(x, true)', 1348169, 15, 47],
  'map of objects: all': [mapOf(pair), 'self.all(x, true)', 428963, 20, 62],
  'map of maps: all': [mapOf(mapOf(typed('number'))()), 'self.all(x, true)', 1179647, 10, 32],
  'map of lists: all': [mapOf(listOf(typed('number'))()), 'self.all(x, true)', 1179647, 25, 77],
  'map of durations: all': [mapOf(typed('duration')), 'self.all(x, true)', 1048577, 5, 17],
  'map of dates: all': [mapOf(typed('date')), 'self.all(x, true)', 524288, 10, 32],
  'map of date-times: all': [mapOf(typed('date-time')), 'self.all(x, true)', 349526, 25, 77],
  find: [textOf, "self.find('[0-9]+') == ''", 629147, 10, 11],
  join: [texts, "self.join(' ') == 'aa bb'", 329853068905, 10, 43],
  isSorted: [texts, 'self.isSorted() == true', 329854432052, 10, 52],
  replace: [
    (max) => object({ str: textOf(max), before: textOf(2), after: textOf(4) }),
    "self.str.replace(self.before, self.after) == 'does not matter'",
    629154,
    4,
    12,
  ],
  split: [
    (max) => object({ str: textOf(max), separator: textOf(max) }),
    'self.str.split(self.separator) == []',
    629160,
    10,
    22,
  ],
  lowerAscii: [textOf, "self.lowerAscii() == 'lower!'", 314575, 10, 6],
  size: [mapOf(typed('integer')), 'oldSelf.size() == self.size()', 5, 10, 5],
  'equal timestamps': [mapOf(typed('date-time')), 'self["a"] == self["b"]', 8, 7, 8],
  'equal durations': [mapOf(typed('duration')), 'self["c"] == self["d"]', 8, 42, 8],
  'objects whose required fields have a default: all': [
    listOf({ ...object({ a: { type: 'string', default: 'b' } }), required: ['a'] }),
    'self.all(x, true)',
    3145727,
    10,
    32,
  ],
  'bytes have one byte each': [
    (max) => ({ ...textOf(max), format: 'byte' }),
    'self == b"aaaaaaaaaaaaaaaaaaaa"',
    3,
    10,
    2,
  ],
  'a type': [textOf, 'type(self) == string', 314576, 10, 7],
  'a type with a qualified name': [textOf, 'type(ip(self)) == net.IP', 629149, 10, 11],
  'a format': [textOf, '!format.dns1123Label().validate(self).hasValue()', 10066340, 10, 132],
  'an enum': [enumOf, "self.contains('A')", 2, 1000, 401],
};

function costOf(json: object, rule: string): number {
  const field = schemaFrom(withSpec(json)).fields['spec'];
  assert.ok(field);
  const schema = schemaOf(field);
  const type = ruleType(schema, 'selfType');
  assert.ok(type);
  return allAtOnce(estimateCost(rule, ruleEnvironment(type, { rule }), ruleSizes(schema)));
}

for (const [name, [schema, rule, unlimited, max, withLimits]] of Object.entries(rows)) {
  test(name, () => {
    const most = costOf(schema(), rule);
    if (unlimited === undefined) assert.ok(most > 10_000_000, String(most));
    else assert.equal(most, unlimited);
    assert.equal(costOf(schema(max), rule), withLimits, 'with limits');
  });
}
