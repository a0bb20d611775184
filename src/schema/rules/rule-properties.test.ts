import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../base/time/clock.ts';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { CelBudget } from '../../cel/budget.ts';
import type { CelValueProgram } from '../../cel/compile.ts';
import { CelEvaluationError } from '../../cel/error.ts';
import { estimateCost, type SizeOf } from '../../cel/estimate.ts';
import type { CelValue } from '../../cel/value.ts';
import { schemaOf } from '../schema.ts';
import { objectMeta, path, schemaFrom, validateMetadata, withSpec } from '../structural/structural-fixture.ts';
import { validate } from '../validate.ts';
import { compileRule, ruleEnvironment } from './compile-rule.ts';
import { ruleErrors } from './rule-errors.ts';
import { ruleSizes } from './rule-size.ts';
import { ruleType } from './rule-type.ts';
import { convertOf } from './rule-value.ts';
import { validateRules } from './validate-rules.ts';

/** Random schemas in which everything has a limit, with values and rules that are made by their types. */

interface Shape {
  readonly json: object;
  readonly value: fc.Arbitrary<unknown>;
  /** An expression that is a bool, of a value called `self`. `depth` counts the variables around it. */
  readonly rule: (self: string, depth: number) => fc.Arbitrary<string>;
  /** Elements of a list of them can be ordered and found. */
  readonly scalar?: boolean;
}

const oneOf =
  (...rules: readonly ((self: string) => string)[]) =>
  (self: string): fc.Arbitrary<string> =>
    fc.constantFrom(...rules.map((rule) => rule(self)));

const texts = ['', 'a', 'b', 'web-1', '10.0.0.1', '1Gi', 'https://a.b', 'Ünï', '😀', 'a,b,c'];

const text: Shape = {
  json: { type: 'string', maxLength: 12 },
  value: fc.oneof(fc.constantFrom(...texts), fc.string({ maxLength: 12, unit: 'grapheme-ascii' })),
  scalar: true,
  rule: oneOf(
    (s) => `${s} == 'a'`,
    (s) => `${s} != ${s}`,
    (s) => `${s} < 'b'`,
    (s) => `${s}.startsWith('a') || ${s}.endsWith(${s})`,
    (s) => `${s}.contains('b')`,
    (s) => `size(${s}) < 3 || ${s}.size() == 5`,
    (s) => `${s} in ['a', 'b', 'a longer text than the others']`,
    (s) => `${s}.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,
    (s) => `${s}.find('[0-9]+') != '' || ${s}.findAll('a').size() > 0`,
    (s) => `${s}.lowerAscii() == ${s}.upperAscii()`,
    (s) => `!format.dns1123Label().validate(${s}).hasValue()`,
    (s) => `format.named('qualifiedName').value().validate(${s}).orValue([]).size() == 0`,
    (s) => `isIP(${s}) && ip(${s}).family() == 4`,
    (s) => `isCIDR(${s}) || cidr('10.0.0.0/8').containsIP(${s})`,
    (s) => `isQuantity(${s}) ? quantity(${s}).isGreaterThan(quantity('1Mi')) : false`,
    (s) => `isURL(${s}) && url(${s}).getHost() != ''`,
    (s) => `${s}.split(',').size() > 1`,
    (s) => `${s}.replace('a', 'bb') != ${s}`,
    (s) => `${s} + 'x' != ${s}`,
    (s) => `${s}.charAt(0) == 'a'`,
    (s) => `${s}.substring(1).trim() == ''`,
    (s) => `${s}.indexOf('b') >= 0 || ${s}.lastIndexOf('b') >= 0`,
    (s) => `int(${s}) > 3`,
    (s) => `'%s: %d'.format([${s}, size(${s})]) != ''`,
    (s) => `bytes(${s}).size() > 2`,
    (s) => `${s}.map(x, true).size() == 0 || true`.replace(`${s}.map(x, true)`, `[${s}].map(x, x)`),
  ),
};

const integer: Shape = {
  json: { type: 'integer' },
  value: fc.integer({ min: -5, max: 20 }),
  scalar: true,
  rule: oneOf(
    (s) => `${s} > 3`,
    (s) => `${s} + 1 != 4 && -${s} < 7`,
    (s) => `${s} % 2 == 0 || ${s} / 2 == 1`,
    (s) => `double(${s}) < 1.5`,
    (s) => `${s} < 1.5 || ${s} >= 2u`,
    (s) => `string(${s}) == '3'`,
    (s) => `${s} in [1, 2, 3]`,
    (s) => `10 / ${s} == 2`,
    (s) => `[${s}, 1].max() == ${s}`,
  ),
};

const number: Shape = {
  json: { type: 'number' },
  value: fc.double({ min: -10, max: 10, noNaN: true }),
  rule: oneOf(
    (s) => `${s} > 1.5`,
    (s) => `${s} * 2.0 == ${s}`,
    (s) => `int(${s}) == 1`,
  ),
};

const bool: Shape = {
  json: { type: 'boolean' },
  value: fc.boolean(),
  rule: oneOf(
    (s) => s,
    (s) => `!${s}`,
    (s) => `${s} == true`,
  ),
};

const integerOrText: Shape = {
  json: { 'x-kubernetes-int-or-string': true, maxLength: 8 },
  value: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constantFrom('a', '50%')),
  rule: oneOf(
    (s) => `type(${s}) == int ? ${s} < 5 : ${s} == 'a'`,
    (s) => `${s} == 3 || ${s} == 'a'`,
    (s) => `${s} + 1 == 2`,
  ),
};

const time: Shape = {
  json: { type: 'string', format: 'date-time' },
  value: fc.constantFrom('2024-02-29T12:00:00Z', '1999-12-31T23:59:59.5+01:00'),
  rule: oneOf(
    (s) => `${s} < timestamp('2020-01-01T00:00:00Z')`,
    (s) => `${s}.getFullYear() > 2000 || ${s}.getHours('+02:00') == 3`,
    (s) => `${s} + duration('1h') != ${s} && ${s} - ${s} == duration('0s')`,
  ),
};

const span: Shape = {
  json: { type: 'string', format: 'duration' },
  value: fc.constantFrom('1h', '90s', '3 days'),
  rule: oneOf(
    (s) => `${s} > duration('1m')`,
    (s) => `${s}.getMinutes() == 60`,
  ),
};

const bytes: Shape = {
  json: { type: 'string', format: 'byte', maxLength: 16 },
  value: fc.constantFrom('aGVsbG8=', 'YQ=='),
  rule: oneOf(
    (s) => `${s} == b'a'`,
    (s) => `string(${s}) == 'hello' && size(${s}) == 5`,
  ),
};

function listOf(items: Shape, kind: 'atomic' | 'set'): Shape {
  const isSet = kind === 'set';
  return {
    json: { type: 'array', items: items.json, maxItems: 4, ...(isSet && { 'x-kubernetes-list-type': 'set' }) },
    value: isSet ? fc.uniqueArray(items.value, { maxLength: 4 }) : fc.array(items.value, { maxLength: 4 }),
    rule: (s, depth) => {
      const x = `x${depth}`;
      const inner = items.rule(x, depth + 1);
      return fc.oneof(
        fc.constantFrom(
          `size(${s}) < 3`,
          `${s}.map(x, x).size() == ${s}.size()`,
          `${s}.all(i, x, i < 3)`,
          `${s}[?0].optMap(x, true).orValue(false)`,
        ),
        ...['all', 'exists', 'exists_one'].map((macro) => inner.map((rule) => `${s}.${macro}(${x}, ${rule})`)),
        inner.map((rule) => `${s}.filter(${x}, ${rule}).size() <= 2`),
        inner.map((rule) => `${s}.map(${x}, ${rule}).all(y, y)`),
        fc.tuple(inner, inner).map(([a, b]) => `${s}.map(${x}, ${a}, ${b}).exists(y, y)`),
        items.rule(`${s}[1]`, depth),
        ...(items.scalar
          ? [
              fc.constantFrom(
                `${s}.isSorted()`,
                `${s}.min() == ${s}[0]`,
                `${s}.indexOf(${s}[0]) == 0`,
                `${s} == ${s}`,
                `${s}[0] in ${s}`,
              ),
            ]
          : []),
      );
    },
  };
}

function listMapOf(values: Shape): Shape {
  const item = objectOf({ key: text, 'a-value': values }, ['key']);
  return {
    ...listOf(item, 'atomic'),
    json: {
      ...listOf(item, 'atomic').json,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
    },
    value: fc.uniqueArray(item.value as fc.Arbitrary<{ key: string }>, { maxLength: 4, selector: ({ key }) => key }),
  };
}

const mapOf = (values: Shape): Shape => ({
  json: { type: 'object', additionalProperties: values.json, maxProperties: 4 },
  value: fc.dictionary(fc.constantFrom('a', 'b', 'a.b', 'constructor', '__proto__'), values.value, {
    maxKeys: 4,
    noNullPrototype: true,
  }),
  rule: (s, depth) => {
    const k = `k${depth}`;
    return fc.oneof(
      fc.constantFrom(`size(${s}) < 3`, `'a' in ${s}`, `${s}.exists(k, k == 'a')`, `${s}.exists(k, v, k != 'b')`),
      values.rule(`${s}[${k}]`, depth + 1).map((rule) => `${s}.all(${k}, ${rule})`),
      values.rule(`${s}['a']`, depth).map((rule) => `!('a' in ${s}) || (${rule})`),
      values.rule(`${s}['none']`, depth),
    );
  },
});

/** Names in expressions that are others than those of fields. */
const escaped = new Map([
  ['a-value', 'a__dash__value'],
  ['namespace', '__namespace__'],
  ['x.y', 'x__dot__y'],
]);

function objectOf(fields: Readonly<Record<string, Shape>>, required: readonly string[]): Shape {
  const names = Object.keys(fields);
  return {
    json: {
      type: 'object',
      properties: Object.fromEntries(names.map((name) => [name, fields[name]?.json])),
      ...(required.length > 0 && { required }),
    },
    value: fc.record(Object.fromEntries(names.map((name) => [name, fields[name]?.value ?? fc.anything()])), {
      requiredKeys: required as never[],
      noNullPrototype: true,
    }),
    rule: (s, depth) =>
      fc.constantFrom(...names).chain((name) => {
        const shown = escaped.get(name) ?? name;
        const field = `${s}.${shown}`;
        const inner = fields[name]?.rule(field, depth) ?? fc.constant('true');
        return fc.oneof(
          inner.map((rule) => `!has(${field}) || (${rule})`),
          inner.map((rule) => `has(${field}) ? (${rule}) : ${s}.?${shown}.hasValue()`),
          fc.tuple(inner, inner).map(([a, b]) => `!has(${field}) || (${a}) && !(${b})`),
          fc.tuple(inner, inner).map(([a, b]) => `has(${field}) && ((${a}) || (${b}))`),
        );
      }),
  };
}

const { shape: shapeArb } = fc.letrec<{ shape: Shape; leaf: Shape }>((tie) => ({
  leaf: fc.constantFrom(text, integer, number, bool, integerOrText, time, span, bytes),
  shape: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    tie('shape').map((items) => listOf(items, 'atomic')),
    fc.constantFrom(text, integer).map((items) => listOf(items, 'set')),
    tie('shape').map(listMapOf),
    tie('shape').map(mapOf),
    fc
      .dictionary(fc.constantFrom('a', 'b', 'constructor', 'namespace', 'x.y'), tie('shape'), {
        minKeys: 1,
        maxKeys: 3,
      })
      .map((fields) => objectOf(fields, Object.keys(fields).slice(0, 1))),
  ),
}));

interface Sample {
  readonly json: object;
  readonly rule: string;
  readonly value: unknown;
  readonly old: unknown;
}

const sampleArb: fc.Arbitrary<Sample> = shapeArb.chain((shape) =>
  fc.record({
    json: fc.constant(shape.json),
    rule: fc.oneof(
      shape.rule('self', 0),
      fc.tuple(shape.rule('self', 0), shape.rule('oldSelf', 0)).map(([a, b]) => `(${a}) || (${b})`),
    ),
    value: shape.value,
    old: shape.value,
  }),
);

/** What fails for some values. */
const mayFail = /int\(|10 \/|containsIP|substring|\.min\(|\[1\]|\['none'\]|\+ 1 == 2/;

const runs = { numRuns: 400 };

/** The result of an evaluation, or why there is none; and what it cost. */
function outcome(evaluate: (budget: CelBudget) => CelValue): readonly [unknown, number] {
  const budget = new CelBudget();
  const start = budget.left;
  try {
    const result = evaluate(budget);
    return [result, start - budget.left];
  } catch (error) {
    if (!(error instanceof CelEvaluationError)) throw error;
    return [error.message, start - budget.left];
  }
}

function inSteps(program: CelValueProgram, values: Readonly<Record<string, CelValue>>, budget: CelBudget): CelValue {
  const steps = program.evaluateInSteps(values, budget);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

test('rules compile, give a bool or a reason, at once as in steps, and cost no more than estimated', () => {
  fc.assert(
    fc.property(sampleArb, ({ json, rule, value, old }) => {
      const field = schemaFrom(withSpec(json)).fields['spec'];
      assert.ok(field);
      const schema = schemaOf(field);
      const type = ruleType(schema, 'selfType');
      assert.ok(type);
      const environment = ruleEnvironment(type, { rule });
      const compiled = allAtOnce(compileRule({ rule }, environment));
      assert.ok(compiled.type === 'program', compiled.type === 'error' ? compiled.detail : '');
      const convert = convertOf(schema);
      const values = { self: convert(value), oldSelf: convert(old) };
      const [result, cost] = outcome((budget) => compiled.program.evaluateValues(values, budget));
      assert.ok(typeof result === 'boolean' || typeof result === 'string');
      const sliced = outcome((budget) =>
        inSteps(compiled.program, { self: convert(value), oldSelf: convert(old) }, budget),
      );
      assert.deepEqual(sliced, [result, cost]);
      const sizeOf = ruleSizes(schema);
      // The estimate takes comparing two numbers for nothing, as in kube-apiserver.
      const atLeastOne: SizeOf = (at) => {
        const size = sizeOf(at);
        return size && { ...size, max: Math.max(1, size.max) };
      };
      const estimate = allAtOnce(estimateCost(rule, environment, atLeastOne));
      // A failure that other terms make up for is charged at each of them, and not estimated.
      assert.ok(cost <= estimate || mayFail.test(rule), `${rule} cost ${cost}, estimated ${estimate}`);
    }),
    runs,
  );
});

test('definitions with such rules are accepted, and objects have an error for each rule that they break', async () => {
  await fc.assert(
    fc.asyncProperty(sampleArb, async ({ json, rule, value, old }) => {
      const ruled = withSpec({ ...json, 'x-kubernetes-validations': [{ rule }] });
      assert.deepEqual(await ruleErrors(ruled, { path, objectMeta, validateMetadata }), []);
      const schema = schemaFrom(ruled);
      assert.deepEqual(validate(schema, { spec: value }), []);
      const options = { errors: [], clock: systemClock };
      const created = await validateRules(schema, { spec: value }, options);
      const updated = await validateRules(schema, { spec: value }, { ...options, old: { spec: old } });
      assert.ok(created.length <= 1 && updated.length <= 1);
      if (rule.includes('oldSelf')) assert.deepEqual(created, []);
      else assert.deepEqual(updated, created);
      for (const { type, field } of [...created, ...updated]) {
        assert.deepEqual([type, field], ['FieldValueInvalid', 'spec']);
      }
    }),
    runs,
  );
});
