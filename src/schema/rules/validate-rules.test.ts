import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../base/time/clock.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { errorText, schemaFrom, withSpec } from '../structural/structural-fixture.ts';
import { validate } from '../validate.ts';
import { validateRules } from './validate-rules.ts';

/** Rules of custom resources (KEP-2876), with the messages of kube-apiserver 1.32. */

const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const listOf = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
const mapOf = (additionalProperties: object, more: object = {}) => ({ type: 'object', additionalProperties, ...more });
const set = (items: object) => listOf(items, { 'x-kubernetes-list-type': 'set' });
const keyed = object({ k: text, v: integer }, { required: ['k'] });
const mapList = (items: object, keys: readonly string[] = ['k']) =>
  listOf(items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });
const withRule = (schema: object, rule: string, more: object = {}) => ({
  ...schema,
  'x-kubernetes-validations': [{ rule, ...more }],
});

async function errorsOf(json: unknown, value: unknown, old?: unknown): Promise<readonly string[]> {
  const schema = schemaFrom(json);
  const errors = validate(schema, value, '', { old });
  const clock = systemClock;
  const options = { old, errors, clock, onRatcheted: () => {} };
  const broken: readonly FieldError[] = await validateRules(schema, value, options);
  return [...errors, ...broken].map(errorText);
}

const specErrors = (spec: unknown, value: unknown, old?: unknown): Promise<readonly string[]> =>
  errorsOf(withSpec(spec), { spec: value }, old === undefined ? undefined : { spec: old });

describe('values as rules see them', () => {
  interface Row {
    readonly schema: object;
    readonly value: unknown;
    readonly holds?: readonly string[];
    readonly broken?: readonly string[];
  }

  const rows: Readonly<Record<string, Row>> = {
    scalars: {
      schema: object({ s: text, i: integer, n: { type: 'number' }, b: { type: 'boolean' } }),
      value: { s: 'a', i: 9007199254740993n, n: 2, b: true },
      holds: [
        "self.s == 'a' && self.s.startsWith('a')",
        'self.i == 9007199254740993 && type(self.i) == int',
        'self.n == 2.0 && type(self.n) == double',
        'self.b',
      ],
      broken: ['!self.b', "self.s != 'a'"],
    },
    'absent fields': {
      schema: object({ a: text, o: object({ x: text }) }),
      value: { o: {} },
      holds: ['!has(self.a)', 'has(self.o) && !has(self.o.x)', "self.?a.orValue('none') == 'none'"],
    },
    'names that are escaped': {
      schema: object({
        'a-b': integer,
        'a.b': integer,
        'a/b': integer,
        a__b: integer,
        namespace: integer,
        if: integer,
        self: integer,
        int: integer,
      }),
      value: { 'a-b': 1, 'a.b': 2, 'a/b': 3, a__b: 4, namespace: 5, if: 6, self: 7, int: 8 },
      holds: [
        'self.a__dash__b == 1 && self.a__dot__b == 2 && self.a__slash__b == 3 && self.a__underscores__b == 4',
        'self.__namespace__ == 5 && self.__if__ == 6 && self.self == 7 && self.int == 8',
        'has(self.a__dash__b)',
      ],
    },
    'properties like those of objects': {
      schema: object({ constructor: integer, toString: integer, __proto: integer }),
      value: { constructor: 1 },
      holds: ['self.constructor == 1', '!has(self.toString)'],
    },
    'a time in small letters': {
      schema: object({ t: { type: 'string', format: 'date-time' } }),
      value: { t: '2024-02-29T12:00:00z' },
      holds: ["self.t == timestamp('2024-02-29T12:00:00Z')"],
    },
    'strings by format': {
      schema: object({
        t: { type: 'string', format: 'date-time' },
        d: { type: 'string', format: 'date' },
        p: { type: 'string', format: 'duration' },
        q: { type: 'string', format: 'duration' },
        b: { type: 'string', format: 'byte' },
        u: { type: 'string', format: 'uri' },
      }),
      value: {
        t: '2024-02-29T12:00:00Z',
        d: '2024-02-29',
        p: '1h30m',
        q: '3 days',
        b: 'aGVsbG8=',
        u: 'https://example.com',
      },
      holds: [
        "self.t == timestamp('2024-02-29T12:00:00Z') && self.t.getHours() == 12",
        "self.d == timestamp('2024-02-29T00:00:00Z') && self.d < self.t",
        "self.p == duration('90m') && self.p.getMinutes() == 90",
        "self.q == duration('72h')",
        "self.b == b'hello' && string(self.b) == 'hello'",
        "self.u.startsWith('https')",
      ],
    },
    'an integer or a string': {
      schema: object({
        i: { 'x-kubernetes-int-or-string': true },
        s: { 'x-kubernetes-int-or-string': true },
      }),
      value: { i: 5, s: '50%' },
      holds: [
        'type(self.i) == int ? self.i < 10 : true',
        "type(self.s) == string && self.s.endsWith('%')",
        'self.i == 5',
      ],
    },
    'null where it is allowed': {
      schema: object({ o: object({ x: text }, { nullable: true }), l: listOf({ ...text, nullable: true }) }),
      value: { o: null, l: ['a', null] },
      holds: ['has(self.o) && self.o == null', 'size(self.l) == 2'],
    },
    maps: {
      schema: object({ m: mapOf(integer), e: mapOf(text) }),
      value: { m: { a: 1, 'b-c': 2 }, e: {} },
      holds: [
        "self.m['b-c'] == 2 && self.m.a == 1",
        "'a' in self.m && !('z' in self.m)",
        'self.m.all(k, self.m[k] > 0)',
        "self.m == {'b-c': 2, 'a': 1}",
        'size(self.e) == 0',
      ],
    },
    lists: {
      schema: object({ l: listOf(integer), s: listOf(text) }),
      value: { l: [1, 2, 3], s: ['b', 'a'] },
      holds: [
        'self.l[0] == 1 && self.l.sum() == 6 && self.l.max() == 3 && self.l.isSorted()',
        "self.l == [1, 2, 3] && self.l != [3, 2, 1] && self.s + ['c'] == ['b', 'a', 'c']",
        "self.s.indexOf('a') == 1 && !self.s.isSorted()",
        'self.l.exists_one(x, x == 2) && self.l.map(x, x * 2) == [2, 4, 6]',
      ],
      broken: ['self.l == [1, 2]'],
    },
    sets: {
      schema: object({ s: set(text), n: set(integer), o: set(text) }),
      value: { s: ['b', 'a'], n: [2, 1], o: ['a', 'b'] },
      holds: [
        "self.s == ['a', 'b'] && self.s == self.o && self.n == [1, 2]",
        "self.s + ['a', 'c'] == ['a', 'b', 'c'] && size(self.s + self.o) == 2",
        "sets.contains(self.s, ['a'])",
      ],
      broken: ["self.s == ['a', 'c']", "self.s == ['a', 'b', 'c']"],
    },
    'lists that are maps': {
      schema: object({ a: mapList(keyed), b: mapList(keyed) }),
      value: {
        a: [
          { k: 'x', v: 1 },
          { k: 'y', v: 2 },
        ],
        b: [{ k: 'y', v: 3 }],
      },
      holds: [
        "self.a.all(e, e.v > 0) && self.a.exists(e, e.k == 'y')",
        'self.a + self.a == self.a && size(self.a + self.a) == 2',
        "self.a.filter(e, e.k == 'y') == [self.a[1]]",
        'self.a == self.a',
      ],
    },
    'maps of values of any type': {
      schema: object({ l: listOf({ type: 'object', additionalProperties: true }) }),
      value: { l: [{ a: 1 }, { a: 2 }, { a: 1 }] },
      holds: ['self.l[0] == self.l[2] && self.l[0] != self.l[1]'],
    },
    'objects with unknown fields': {
      schema: object({
        p: object({ a: integer }, { 'x-kubernetes-preserve-unknown-fields': true }),
        q: object({ a: integer }, { 'x-kubernetes-preserve-unknown-fields': true }),
        l: listOf(object({ a: integer }, { 'x-kubernetes-preserve-unknown-fields': true })),
      }),
      value: {
        p: { a: 1, b: 2 },
        l: [
          { a: 1, b: 2 },
          { a: 1, b: 3 },
          { a: 1, b: 2 },
        ],
      },
      holds: ['self.p.a == 1', 'self.l[0] != self.l[1] && self.l[0] == self.l[2]'],
    },
    'an embedded object': {
      schema: object({
        e: object({ spec: object({ x: integer }) }, { 'x-kubernetes-embedded-resource': true }),
      }),
      value: {
        e: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'n', labels: { a: 'b' } }, spec: { x: 1 } },
      },
      holds: ["self.e.apiVersion == 'v1' && self.e.kind == 'Pod' && self.e.metadata.name == 'n' && self.e.spec.x == 1"],
    },
    libraries: {
      schema: object({ s: text, c: text, u: text }),
      value: { s: '10.0.0.1', c: '10.0.0.0/8', u: 'https://example.com:80/a?b=c' },
      holds: [
        'isIP(self.s) && cidr(self.c).containsIP(self.s) && ip(self.s).family() == 4',
        "isURL(self.u) && url(self.u).getHost() == 'example.com:80'",
        "self.s.find('[0-9]+') == '10' && self.s.split('.').size() == 4",
        "'%s-%d'.format([self.c, 1]) == '10.0.0.0/8-1'",
        "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('1k') == quantity('1000')",
        "quantity('50Mi').isGreaterThan(quantity('50M')) && quantity('50M').isLessThan(quantity('100M'))",
        "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20000).asApproximateFloat() == 30000.0",
        "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
        "quantity('50000000G').isInteger() && quantity('50k').asInteger() == 50000 && !quantity('1m').isInteger()",
        "isQuantity('1.3Gi') && !isQuantity('200K') && !isQuantity('Three') && sign(quantity('-1')) == -1",
      ],
    },
  };
  for (const [name, { schema, value, holds = [], broken = [] }] of Object.entries(rows)) {
    for (const rule of holds) {
      test(`${name}: ${rule}`, async () => assert.deepEqual(await specErrors(withRule(schema, rule), value), []));
    }
    for (const rule of broken) {
      test(`${name}: not ${rule}`, async () => {
        assert.deepEqual(await specErrors(withRule(schema, rule), value), [
          `spec: Invalid value: "object": failed rule: ${rule}`,
        ]);
      });
    }
  }
});

describe('messages', () => {
  const schema = object({ a: object({ b: integer }), m: mapOf(integer), s: text });
  const value = { a: { b: 1 }, m: { k: 2 }, s: 'x' };
  const rows: Readonly<Record<string, readonly [rule: object, error: string]>> = {
    'the rule': [{ rule: ' self.a.b > 1 ' }, 'spec: Invalid value: "object": failed rule: self.a.b > 1'],
    'a message': [{ rule: 'false', message: ' too small ' }, 'spec: Invalid value: "object": too small'],
    'an expression': [
      { rule: 'false', message: 'plain', messageExpression: "'b is ' + string(self.a.b)" },
      'spec: Invalid value: "object": b is 1',
    ],
    'an expression that fails': [
      { rule: 'false', message: 'plain', messageExpression: "string(self.m['none'])" },
      'spec: Invalid value: "object": plain',
    ],
    'an empty result': [
      { rule: 'false', messageExpression: "' '" },
      'spec: Invalid value: "object": failed rule: false',
    ],
    'a result of two lines': [
      { rule: 'false', messageExpression: "'a\\nb'" },
      'spec: Invalid value: "object": failed rule: false',
    ],
    'a result that is too long': [
      { rule: 'false', messageExpression: `'${'x'.repeat(5121)}'` },
      'spec: Invalid value: "object": failed rule: false',
    ],
    'an expression of another type': [
      { rule: 'false', messageExpression: '1' },
      'spec: Invalid value: "object": failed rule: false',
    ],
    'a forbidden value': [{ rule: 'false', reason: 'FieldValueForbidden' }, 'spec: Forbidden: failed rule: false'],
    'a required value': [{ rule: 'false', reason: 'FieldValueRequired' }, 'spec: Required value: failed rule: false'],
    'a duplicate': [{ rule: 'false', reason: 'FieldValueDuplicate' }, 'spec: Duplicate value: "object"'],
    'an invalid value': [
      { rule: 'false', reason: 'FieldValueInvalid' },
      'spec: Invalid value: "object": failed rule: false',
    ],
    'the path of a field': [
      { rule: 'false', fieldPath: '.a.b', reason: 'FieldValueForbidden' },
      'spec.a.b: Forbidden: failed rule: false',
    ],
    'the path of a key': [
      { rule: 'false', fieldPath: ".m['k-1']" },
      'spec.m[k-1]: Invalid value: "object": failed rule: false',
    ],
    'a missing key': [
      { rule: "self.m['none'] == 1" },
      'spec: Invalid value: "object": no such key: none evaluating rule: self.m[\'none\'] == 1',
    ],
    'an index out of range': [
      { rule: "self.s.split(',')[1] == 'x'", message: 'two parts' },
      'spec: Invalid value: "object": index out of bounds: 1 evaluating rule: two parts',
    ],
    'a division by zero': [
      { rule: '1 / (self.a.b - 1) == 0' },
      'spec: Invalid value: "object": division by zero evaluating rule: 1 / (self.a.b - 1) == 0',
    ],
  };
  for (const [name, [rule, error]] of Object.entries(rows)) {
    test(name, async () => {
      const ruled = { ...schema, 'x-kubernetes-validations': [rule] };
      assert.deepEqual(await specErrors(ruled, value), [error]);
    });
  }

  test('of an integer or string that is the other', async () => {
    const ruled = withRule(object({ i: { 'x-kubernetes-int-or-string': true } }), 'self.i > 1');
    const [error = ''] = await specErrors(ruled, { i: 'a' });
    assert.match(
      error,
      /^spec: Invalid value: "object": 'no such overload.*': call arguments did not match a supported operator, function or macro signature for rule: self\.i > 1$/,
    );
  });
});

describe('places', () => {
  const short = withRule(text, 'self.size() < 2');
  const failed = (path: string) => `${path}: Invalid value: "string": failed rule: self.size() < 2`;
  const rows: Readonly<Record<string, readonly [schema: object, value: unknown, errors: readonly string[]]>> = {
    'a field': [object({ a: short }), { a: 'xx' }, [failed('spec.a')]],
    'an absent field': [object({ a: short }), {}, []],
    null: [object({ a: { ...short, nullable: true } }), { a: null }, []],
    'an item': [object({ l: listOf(short) }), { l: ['a', 'bb', 'cc'] }, [failed('spec.l[1]'), failed('spec.l[2]')]],
    'a value of a map': [object({ m: mapOf(short) }), { m: { k: 'xx' } }, [failed('spec.m[k]')]],
    'nested parts': [
      object({ l: listOf(mapOf(object({ 'x-y': short }))) }),
      { l: [{ k: { 'x-y': 'xx' } }] },
      [failed('spec.l[0][k].x-y')],
    ],
    'a field whose name cannot be escaped': [object({ 'a b': short }), { 'a b': 'xx' }, [failed('spec.a b')]],
    'an embedded object': [
      object({ e: object({ a: short }, { 'x-kubernetes-embedded-resource': true }) }),
      { e: { apiVersion: 'v1', kind: 'X', a: 'xx' } },
      [failed('spec.e.a')],
    ],
    'parts before and after a whole': [
      withRule(object({ a: short, b: short }), 'self.a == self.b'),
      { a: 'xx', b: 'y' },
      ['spec: Invalid value: "object": failed rule: self.a == self.b', failed('spec.a')],
    ],
  };
  for (const [name, [schema, value, errors]] of Object.entries(rows)) {
    test(name, async () => assert.deepEqual(await specErrors(schema, value), errors));
  }
});

describe('objects that are wrong otherwise', () => {
  const note =
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  const ruled = withRule(
    object(
      {
        n: integer,
        s: { type: 'string', maxLength: 1, enum: ['a', 'bb'] },
        l: listOf(text, { maxItems: 1 }),
        p: { type: 'string', pattern: '^a$' },
      },
      { required: ['n'] },
    ),
    'false',
  );
  const rows: Readonly<Record<string, readonly [value: object, skipped: boolean]>> = {
    'a type': [{ n: 'x' }, true],
    'a required field': [{}, true],
    'a length': [{ n: 1, s: 'bb' }, true],
    'an enum': [{ n: 1, s: 'c' }, true],
    'a number of items': [{ n: 1, l: ['a', 'b'] }, true],
    'a pattern': [{ n: 1, p: 'b' }, false],
    nothing: [{ n: 1 }, false],
  };
  for (const [name, [value, skipped]] of Object.entries(rows)) {
    test(name, async () => {
      const errors = await specErrors(ruled, value);
      assert.equal(errors.at(-1), skipped ? note : 'spec: Invalid value: "object": failed rule: false');
    });
  }

  test('without rules there is no note', async () => {
    assert.deepEqual(await specErrors(object({ n: integer }), { n: 'x' }), [
      'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
    ]);
  });
});

describe('updates', () => {
  const mapped = mapList(object({ k: text, v: withRule(integer, 'self >= oldSelf') }, { required: ['k'] }));
  const frozen = withRule(text, 'self == oldSelf', { message: 'immutable' });
  const optional = (rule: string) => withRule(text, rule, { optionalOldSelf: true });
  const odd = withRule(integer, 'self % 2 == 1');
  const isOdd = 'failed rule: self % 2 == 1';

  interface Row {
    readonly schema: object;
    readonly old?: unknown;
    readonly value: unknown;
    /** Fields in error. */
    readonly errors: readonly string[];
  }

  const rows: Readonly<Record<string, Row>> = {
    'a transition rule of a new object': { schema: object({ s: frozen }), value: { s: 'a' }, errors: [] },
    'a transition rule that holds': { schema: object({ s: frozen }), old: { s: 'a' }, value: { s: 'a' }, errors: [] },
    'a transition rule that is broken': {
      schema: object({ s: frozen }),
      old: { s: 'a' },
      value: { s: 'b' },
      errors: ['spec.s: Invalid value: "string": immutable'],
    },
    'a value that is set': { schema: object({ s: frozen }), old: {}, value: { s: 'b' }, errors: [] },
    'a value that was null': {
      schema: object({ s: { ...frozen, nullable: true } }),
      old: { s: null },
      value: { s: 'b' },
      errors: [],
    },
    'a value that is removed': { schema: object({ s: frozen }), old: { s: 'a' }, value: {}, errors: [] },
    'a rule of the object around a value that is removed': {
      schema: withRule(object({ s: text }), '!has(oldSelf.s) || has(self.s)'),
      old: { s: 'a' },
      value: {},
      errors: ['spec: Invalid value: "object": failed rule: !has(oldSelf.s) || has(self.s)'],
    },
    'keys of a map': {
      schema: mapOf(frozen),
      old: { a: '1', b: '2' },
      value: { a: '1', b: '3', c: '4' },
      errors: ['spec[b]: Invalid value: "string": immutable'],
    },
    'items of a list map, moved': {
      schema: mapped,
      old: [
        { k: 'a', v: 5 },
        { k: 'b', v: 1 },
      ],
      value: [
        { k: 'b', v: 0 },
        { k: 'a', v: 5 },
        { k: 'c', v: -1 },
      ],
      errors: ['spec[0].v: Invalid value: "integer": failed rule: self >= oldSelf'],
    },
    'items of a list of another type': { schema: listOf(frozen), old: ['a'], value: ['b'], errors: [] },
    'the whole of such a list': {
      schema: withRule(listOf(text), 'oldSelf.all(x, x in self)'),
      old: ['a', 'b'],
      value: ['b', 'c'],
      errors: ['spec: Invalid value: "array": failed rule: oldSelf.all(x, x in self)'],
    },
    'an unchanged value that is wrong': {
      schema: object({ n: odd, m: integer }),
      old: { n: 2 },
      value: { n: 2, m: 1 },
      errors: [],
    },
    'a changed value that is wrong': {
      schema: object({ n: odd }),
      old: { n: 2 },
      value: { n: 4 },
      errors: [`spec.n: Invalid value: "integer": ${isOdd}`],
    },
    'a wrong item beside an unchanged one': {
      schema: mapList(object({ k: text, v: odd }, { required: ['k'] })),
      old: [{ k: 'a', v: 2 }],
      value: [
        { k: 'a', v: 2 },
        { k: 'b', v: 4 },
      ],
      errors: [`spec[1].v: Invalid value: "integer": ${isOdd}`],
    },
    'an item of a list that is atomic': {
      schema: listOf(odd),
      old: [2],
      value: [2, 1],
      errors: [`spec[0]: Invalid value: "integer": ${isOdd}`],
    },
    'an unchanged list that is atomic': {
      schema: object({ l: listOf(odd), n: integer }),
      old: { l: [2] },
      value: { l: [2], n: 1 },
      errors: [],
    },
    'a transition rule of an unchanged value': {
      schema: object({ n: withRule(integer, 'self > oldSelf'), m: integer }),
      old: { n: 2 },
      value: { n: 2, m: 1 },
      errors: ['spec.n: Invalid value: "integer": failed rule: self > oldSelf'],
    },
    'an unchanged value of the wrong type': {
      schema: object({ n: odd, m: integer }),
      old: { n: 'x' },
      value: { n: 'x', m: 1 },
      errors: ['spec.n: Invalid value: "integer": invalid data, expected an int evaluating rule: self % 2 == 1'],
    },
    'optionalOldSelf on create': {
      schema: object({ s: optional('oldSelf.hasValue()') }),
      value: { s: 'a' },
      errors: ['spec.s: Invalid value: "string": failed rule: oldSelf.hasValue()'],
    },
    'optionalOldSelf on update': {
      schema: object({ s: optional("oldSelf.orValue('') == 'a'") }),
      old: { s: 'a' },
      value: { s: 'b' },
      errors: [],
    },
    'optionalOldSelf where nothing corresponds': {
      schema: listOf(optional('!oldSelf.hasValue()')),
      old: ['a'],
      value: ['a', 'b'],
      errors: [],
    },
  };
  for (const [name, { schema, old, value, errors }] of Object.entries(rows)) {
    test(name, async () => assert.deepEqual(await specErrors(schema, value, old), errors));
  }

  test('an error that is passed over is told', async () => {
    const schema = schemaFrom(withSpec(object({ n: odd })));
    const [told, old]: [string[], unknown] = [[], { spec: { n: 2 } }];
    const onRatcheted = (error: FieldError) => told.push(errorText(error));
    const options = { old, errors: [], onRatcheted, clock: systemClock };
    assert.deepEqual(await validateRules(schema, { spec: { n: 2 } }, options), []);
    assert.deepEqual(told, [`spec.n: Invalid value: "integer": ${isOdd}`]);
  });
});

describe('cost', () => {
  const numbers = Array.from({ length: 1_000 }, (_, index) => index);
  const quadratic = 'self.all(x, self.all(y, x + y >= 0))';

  test('of one expression', async () => {
    assert.deepEqual(await specErrors(withRule(listOf(integer), quadratic), numbers), [
      `spec: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${quadratic}`,
    ]);
  });

  test('of all expressions of an object', async () => {
    const linear = withRule(listOf(integer), 'self.all(x, x >= 0)');
    const errors = await specErrors(
      listOf(linear),
      Array.from({ length: 3_000 }, () => numbers),
    );
    assert.equal(errors.length, 1);
    assert.match(
      errors[0] ?? '',
      /^spec\[\d+\]: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run$/,
    );
  });

  test('of the expression of a message', async () => {
    const schema = withRule(listOf(integer), 'false', { messageExpression: `string(${quadratic})` });
    const [error = ''] = await specErrors(schema, numbers);
    assert.match(
      error,
      /no further validation rules will be run due to call cost exceeds limit for messageExpression: "string/,
    );
  });

  test('of one long expression is paid in slices', async () => {
    const schema = schemaFrom(withSpec(withRule(listOf(integer), `!self.exists(x, self.exists(y, x + y < 0))`)));
    await validateRules(schema, { spec: [] }, { errors: [], clock: systemClock });
    const value = { spec: numbers.slice(0, 250) };
    const result = validateRules(schema, value, { errors: [], clock: systemClock });
    assert.ok(result instanceof Promise);
    assert.deepEqual(await result, []);
  });

  test('of a long evaluation is paid in slices', async () => {
    const linear = withRule(listOf(integer), 'self.all(x, x >= 0)');
    const schema = schemaFrom(withSpec(listOf(linear)));
    await validateRules(schema, { spec: [] }, { errors: [], clock: systemClock });
    const value = { spec: Array.from({ length: 300 }, () => numbers) };
    const result = validateRules(schema, value, { errors: [], clock: systemClock });
    assert.ok(result instanceof Promise);
    assert.deepEqual(await result, []);
  });
});
