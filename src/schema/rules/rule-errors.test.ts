import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { errorText, objectMeta, path, validateMetadata, withSpec } from '../structural/structural-fixture.ts';
import { readStructuralSchema } from '../structural/structural-schema.ts';
import { ruleErrors } from './rule-errors.ts';

/** Rules that a definition is refused for. Paths and messages are those of kube-apiserver 1.32. */

const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const listOf = (items: object, more: object = {}) => ({ type: 'array', items, ...more });
const mapOf = (additionalProperties: object, more: object = {}) => ({ type: 'object', additionalProperties, ...more });
const ruled = (schema: object, ...rules: readonly object[]) => ({ ...schema, 'x-kubernetes-validations': rules });
const mapList = (items: object) =>
  listOf(items, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] });

/** Errors of a schema of `spec`; paths are relative to it. */
async function errorsOf(spec: object): Promise<readonly string[]> {
  const json = withSpec(spec);
  const options = { path, objectMeta, validateMetadata };
  const { errors } = readStructuralSchema(json, options);
  const ofRules = await ruleErrors(json, options);
  return [...errors, ...ofRules].map((error) => errorText(error).replaceAll(`${path}.properties[spec]`, '~'));
}

const at = '~.x-kubernetes-validations[0]';
const shape = object({ a: text, n: integer, m: mapOf(text), l: listOf(text) });

describe('what a rule says', () => {
  const rows: Readonly<Record<string, readonly [rule: object, ...errors: string[]]>> = {
    'nothing wrong': [
      {
        rule: "self.a == 'x'",
        message: 'no',
        messageExpression: "'a' + self.a",
        reason: 'FieldValueForbidden',
        fieldPath: '.a',
      },
    ],
    'no rule': [{ rule: ' ' }, `${at}.rule: Required value: rule is not specified`],
    'an empty message': [
      { rule: 'true', message: ' ' },
      `${at}.message: Invalid value: " ": message must be non-empty if specified`,
    ],
    'a message of two lines': [
      { rule: 'true', message: 'a\nb' },
      `${at}.message: Invalid value: "a\\nb": message must not contain line breaks`,
    ],
    'a rule of two lines without a message': [
      { rule: 'true\n&& true' },
      `${at}.message: Required value: message must be specified if rule contains line breaks`,
    ],
    'a rule of two lines with a message': [{ rule: 'true\n&& true', message: 'no' }],
    'an empty messageExpression': [
      { rule: 'true', messageExpression: ' ' },
      `${at}.messageExpression: Required value: messageExpression must be non-empty if specified`,
    ],
    'a reason that does not exist': [
      { rule: 'true', reason: 'Other' },
      `${at}.reason: Unsupported value: "Other": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
    'a fieldPath that leads nowhere': [
      { rule: 'true', fieldPath: '.z' },
      `${at}.fieldPath: Invalid value: ".z": fieldPath must be a valid path`,
    ],
    'a fieldPath without a dot': [
      { rule: 'true', fieldPath: 'a' },
      `${at}.fieldPath: Invalid value: "a": fieldPath must be a valid path`,
    ],
    'a fieldPath into a list': [
      { rule: 'true', fieldPath: '.l[0]' },
      `${at}.fieldPath: Invalid value: ".l[0]": fieldPath must be a valid path`,
    ],
    'a fieldPath of a key': [{ rule: 'true', fieldPath: ".m['any key']" }],
    'a fieldPath of blanks': [
      { rule: 'true', fieldPath: ' ' },
      `${at}.fieldPath: Invalid value: " ": fieldPath must be non-empty if specified`,
      `${at}.fieldPath: Invalid value: " ": fieldPath must be a valid path`,
    ],
    'a fieldPath of two lines': [
      { rule: 'true', fieldPath: '.a\n' },
      `${at}.fieldPath: Invalid value: ".a\\n": fieldPath must not contain line breaks`,
      `${at}.fieldPath: Invalid value: ".a\\n": fieldPath must be a valid path`,
    ],
  };
  for (const [name, [rule, ...errors]] of Object.entries(rows)) {
    test(name, async () => assert.deepEqual(await errorsOf(ruled(shape, rule)), errors));
  }
});

describe('expressions', () => {
  const shown = ({ rule = '', messageExpression = '' }, optionalOldSelf = 'nil') =>
    `apiextensions.ValidationRule{Rule:${JSON.stringify(rule)}, Message:"", MessageExpression:${JSON.stringify(messageExpression)}, Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:"", OptionalOldSelf:(*bool)(${optionalOldSelf})}`;
  const failed = (rule: object, what: string, line: string, column: number) =>
    `Invalid value: ${shown(rule)}: compilation failed: ERROR: <input>:1:${column}: ${what}\n | ${line}\n | ${'.'.repeat(column - 1)}^`;
  const rows: Readonly<Record<string, readonly [rule: object, field: string, error: string]>> = {
    'an unknown field': [
      { rule: 'self.z == 1' },
      'rule',
      failed({ rule: 'self.z == 1' }, "undefined field 'z'", 'self.z == 1', 5),
    ],
    'an unknown name': [
      { rule: 'other == 1' },
      'rule',
      failed({ rule: 'other == 1' }, "undeclared reference to 'other' (in container '')", 'other == 1', 1),
    ],
    'a wrong type': [
      { rule: 'self.a == 1' },
      'rule',
      failed(
        { rule: 'self.a == 1' },
        "found no matching overload for '_==_' applied to '(string, int)'",
        'self.a == 1',
        8,
      ),
    ],
    'a result that is no bool': [
      { rule: 'self.a' },
      'rule',
      `Invalid value: ${shown({ rule: 'self.a' })}: cel expression must evaluate to a bool`,
    ],
    'a message that is no string': [
      { rule: 'true', messageExpression: 'self.n' },
      'messageExpression',
      `Invalid value: ${shown({ rule: 'true', messageExpression: 'self.n' })}: messageExpression must evaluate to a string`,
    ],
    'a constant without a value': [
      { rule: 'self.a == "b" && int("x") == 1' },
      'rule',
      `Invalid value: ${shown({ rule: 'self.a == "b" && int("x") == 1' })}: program instantiation failed: type conversion error from 'string' to 'int'`,
    ],
    'a result that is no bool, of a constant without a value': [
      { rule: 'int("x")' },
      'rule',
      `Invalid value: ${shown({ rule: 'int("x")' })}: cel expression must evaluate to a bool`,
    ],
    'a message with a wrong pattern': [
      { rule: 'true', messageExpression: 'self.a.find("(")' },
      'messageExpression',
      `Invalid value: ${shown({ rule: 'true', messageExpression: 'self.a.find("(")' })}: messageExpression instantiation failed: error parsing regexp: missing closing ): \`(\``,
    ],
    'optionalOldSelf without oldSelf': [
      { rule: 'true', optionalOldSelf: true },
      'optionalOldSelf',
      'Invalid value: true: may not be set if oldSelf is not used in rule',
    ],
    'oldSelf that is optional, and is not used so': [
      { rule: 'oldSelf.a == self.a && oldSelf', optionalOldSelf: true },
      'rule',
      `Invalid value: ${shown({ rule: 'oldSelf.a == self.a && oldSelf' }, '0xc000000000')}: compilation failed`,
    ],
  };
  for (const [name, [rule, field, error]] of Object.entries(rows)) {
    test(name, async () => {
      const [found = ''] = await errorsOf(ruled(shape, rule));
      assert.ok(found.startsWith(`${at}.${field}: ${error}`), found);
    });
  }

  test('syntax', async () => {
    const [error = ''] = await errorsOf(ruled(shape, { rule: 'self.a ==' }));
    assert.match(error, /\.rule: Invalid value: .*: compilation failed: ERROR: <input>:1:10: Syntax error: /);
  });

  test('of a value without a type', async () => {
    const unknown = ruled({ 'x-kubernetes-preserve-unknown-fields': true }, { rule: 'true' });
    assert.deepEqual(await errorsOf(object({ u: unknown })), [
      '~.properties[u].x-kubernetes-validations: Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations',
    ]);
  });
});

describe('oldSelf', () => {
  const frozen = ruled(text, { rule: 'self == oldSelf' });
  const refused = (within: string, rest: string) =>
    `${within}${rest}.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${within}`;
  const rows: Readonly<Record<string, readonly [schema: object, ...errors: string[]]>> = {
    'in a field': [object({ a: frozen })],
    'in a map': [mapOf(frozen, { maxProperties: 2 })],
    'in an atomic map': [object({ a: frozen }, { 'x-kubernetes-map-type': 'atomic' })],
    'in a list map': [mapList(object({ k: text, v: frozen }, { required: ['k'] }))],
    'in a list': [listOf(frozen), refused('~', '.items')],
    'in a set': [listOf(frozen, { 'x-kubernetes-list-type': 'set' }), refused('~', '.items')],
    'deep in a list': [
      object({ l: listOf(object({ m: mapList(object({ k: text, v: frozen }, { required: ['k'] })) })) }),
      refused('~.properties[l]', '.items.properties[m].items.properties[v]'),
    ],
    'of a list': [ruled(listOf(text, { maxItems: 5 }), { rule: 'self == oldSelf' })],
  };
  for (const [name, [schema, ...errors]] of Object.entries(rows)) {
    test(name, async () => {
      // The unlimited lists cost too much as well.
      const found = (await errorsOf(schema)).filter((error) => !error.includes('Forbidden'));
      assert.deepEqual(found, errors);
    });
  }
});

describe('cost', () => {
  const hint =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
  const all = { rule: 'self.all(x, self.all(y, x == y))' };
  const linear = { rule: "self.all(x, x.contains('a'))" };
  const rows: Readonly<Record<string, readonly [schema: object, ...errors: string[]]>> = {
    'a loop in a loop, without limits': [
      ruled(listOf(integer), all),
      `${at}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${hint}`,
      `${at}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `${path}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${hint}`,
    ],
    'with limits': [ruled(listOf(integer, { maxItems: 100 }), all)],
    'a little too much': [
      ruled(listOf(integer, { maxItems: 1_500 }), all),
      `${at}.rule: Forbidden: estimated rule cost exceeds budget by factor of 1.125750x ${hint}`,
    ],
    'twice too much': [
      ruled(listOf(integer, { maxItems: 2_000 }), all),
      `${at}.rule: Forbidden: estimated rule cost exceeds budget by factor of 2.0x ${hint}`,
    ],
    'a rule of items, without limits': [
      listOf(ruled(listOf(text, { maxItems: 10 }), linear)),
      `~.items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${hint}`,
      `~.items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `${path}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${hint}`,
    ],
    'a rule of items, with limits': [
      listOf(ruled(listOf({ ...text, maxLength: 10 }, { maxItems: 10 }), linear), { maxItems: 10 }),
    ],
    'a rule of items, as many as fit into a request': [
      listOf(ruled(integer, { rule: Array(8).fill('self == 1').join(' && ') })),
      `~.items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.258291x ${hint}`,
    ],
    'a rule of values of a map, with limits': [
      mapOf(ruled({ ...text, maxLength: 10 }, { rule: "self.contains('a')" }), { maxProperties: 10 }),
    ],
    'a message': [
      ruled(listOf(text), { rule: 'true', messageExpression: "self.join(',')" }),
      `${at}.messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x ${hint}`,
      `${at}.messageExpression: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `${path}: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${hint}`,
    ],
  };
  for (const [name, [schema, ...errors]] of Object.entries(rows)) {
    test(name, async () => assert.deepEqual(await errorsOf(schema), errors));
  }

  test('of many rules that are cheap enough by themselves', async () => {
    const costly = ruled(listOf(integer, { maxItems: 1_400 }), all);
    const names = Array.from({ length: 11 }, (_, index) => `f${index}`);
    const errors = await errorsOf(object(Object.fromEntries(names.map((name) => [name, costly]))));
    assert.equal(errors.length, 5);
    assert.match(errors[4] ?? '', /rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1\.\d{6}x/);
  });
});

describe('defaults', () => {
  const failed = (rule: string): string => `failed rule: ${rule}`;
  const positive = 'self > 0';
  const rows: Readonly<Record<string, readonly [schema: object, ...errors: string[]]>> = {
    'that satisfy their rules': [ruled({ ...integer, default: 1 }, { rule: positive })],
    'that break one': [
      ruled({ ...integer, default: 0 }, { rule: positive }),
      `~.default: Invalid value: "integer": ${failed(positive)}`,
    ],
    'that break one of their parts': [
      object({ a: ruled(integer, { rule: positive }) }, { default: { a: -1 } }),
      `~.default.a: Invalid value: "integer": ${failed(positive)}`,
    ],
    'that break one of an item': [
      listOf(ruled(integer, { rule: positive }), { maxItems: 3, default: [1, 0] }),
      `~.default[1]: Invalid value: "integer": ${failed(positive)}`,
    ],
    'that break one of a value': [
      mapOf(ruled(integer, { rule: positive }), { maxProperties: 3, default: { k: 0 } }),
      `~.default[k]: Invalid value: "integer": ${failed(positive)}`,
    ],
    'with a reason, a message and a path': [
      ruled(object({ a: integer }, { default: { a: 2 } }), {
        rule: 'self.a < 2',
        messageExpression: "'a is %d'.format([self.a])",
        fieldPath: '.a',
        reason: 'FieldValueForbidden',
      }),
      '~.default.a: Forbidden: a is 2',
    ],
    'of a property and of an item': [
      object({
        a: ruled({ ...integer, default: 0 }, { rule: positive }),
        b: listOf(ruled({ ...integer, default: -1 }, { rule: positive }), { maxItems: 3 }),
      }),
      `~.properties[a].default: Invalid value: "integer": ${failed(positive)}`,
      `~.properties[b].items.default: Invalid value: "integer": ${failed(positive)}`,
    ],
    'are no parts of what is around them': [
      ruled(object({ a: { ...integer, default: 1 } }), { rule: '!has(self.a) || self.a == 2' }),
    ],
    'have no defaults of their own': [
      ruled(object({ a: { ...integer, default: 1 } }, { default: {} }), { rule: '!has(self.a)' }),
    ],
    'replace themselves': [ruled({ ...text, default: 'a' }, { rule: "self == oldSelf && self == 'a'" })],
    'replace themselves, which is not allowed': [
      ruled({ ...text, default: 'a' }, { rule: 'self != oldSelf' }),
      `~.default: Invalid value: "string": ${failed('self != oldSelf')}`,
    ],
    'replace nothing as well': [
      ruled({ ...text, default: 'a' }, { rule: 'oldSelf.hasValue()', optionalOldSelf: true }),
      `~.default: Invalid value: "string": ${failed('oldSelf.hasValue()')}`,
    ],
    'are reported once': [
      ruled({ ...text, default: 'a' }, { rule: "self == 'b' && oldSelf.orValue('a') == 'a'", optionalOldSelf: true }),
      `~.default: Invalid value: "string": ${failed("self == 'b' && oldSelf.orValue('a') == 'a'")}`,
    ],
    'of a wrong type are reported beside others': [
      object({
        a: ruled({ ...integer, default: 'x' }, { rule: positive }),
        b: ruled({ ...integer, default: 0 }, { rule: positive }),
      }),
      '~.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
      `~.properties[b].default: Invalid value: "integer": ${failed(positive)}`,
    ],
    'that are wrong hide what is wrong with rules': [
      object({ a: ruled({ ...integer, default: 0 }, { rule: positive }), b: ruled(text, { rule: 'self' }) }),
      `~.properties[a].default: Invalid value: "integer": ${failed(positive)}`,
    ],
    'of a wrong type hide what is wrong with rules': [
      object({ a: { ...integer, default: 'x' }, b: ruled(text, { rule: 'self' }) }),
      '~.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"',
    ],
    'of an embedded object': [
      ruled(
        {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          properties: { a: text },
          default: { apiVersion: 'v1', kind: 'A', metadata: { name: 'n' }, a: 'x' },
        },
        { rule: "self.kind == 'A' && self.metadata.name == 'm'" },
      ),
      `~.default: Invalid value: "object": ${failed("self.kind == 'A' && self.metadata.name == 'm'")}`,
    ],
    'for which the evaluation fails': [
      ruled(mapOf(integer, { default: {}, maxProperties: 3 }), { rule: "self['a'] == 1" }),
      `~.default: Invalid value: "object": no such key: a evaluating rule: self['a'] == 1`,
    ],
  };
  for (const [name, [schema, ...errors]] of Object.entries(rows)) {
    test(name, async () => assert.deepEqual(await errorsOf(schema), errors));
  }

  test('of the object itself', async () => {
    const rule = "has(self.metadata) || self.a == 'b'";
    const initial = { apiVersion: 'v1', kind: 'A', a: 'x' };
    const json = ruled(object({ a: text }, { default: initial }), { rule });
    const found = await ruleErrors(json, { path, objectMeta, validateMetadata });
    assert.deepEqual(found.map(errorText), [`${path}.default: Invalid value: "object": ${failed(rule)}`]);
    const ofLabels = ruled(object({ a: text }, { default: initial }), { rule: 'has(self.metadata.labels)' });
    const [error] = await ruleErrors(ofLabels, { path, objectMeta, validateMetadata });
    assert.match(error?.detail ?? '', /undefined field 'labels'/);
  });

  test('with a rule that does not compile', async () => {
    const [error = '', ...others] = await errorsOf(ruled({ ...text, default: 'a' }, { rule: 'self.none' }));
    assert.match(error, /^~\.default: Invalid value: "string": rule compile error: compilation failed: ERROR: /);
    assert.deepEqual(others, []);
  });

  test('share one budget', async () => {
    const costly = ruled(listOf({ ...integer, default: 1 }, { maxItems: 100, default: Array(100).fill(1) }), {
      rule: 'self.all(a, self.all(b, self.exists(c, a == b && c == 5) || true))',
    });
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    const errors = await errorsOf(object(Object.fromEntries(names.map((name) => [name, costly]))));
    assert.match(errors[0] ?? '', /actual cost limit exceeded|running out of cost budget/);
    assert.equal(errors.length, 1);
  });
});

test('not all errors of a definition with very many are told', async () => {
  const names = Array.from({ length: limits.findingsMax + 50 }, (_, index) => `f${index}`);
  const wrong = ruled(integer, ...Array(3).fill({ rule: 'self' }));
  const errors = await errorsOf(object(Object.fromEntries(names.map((name) => [name, wrong]))));
  assert.equal(errors.length, limits.findingsMax);
});

describe('errors of the schema', () => {
  const wrong = ruled(object({ a: { type: 'strange' } }), { rule: 'self.z' });
  test('of a part or what is in it leave its rules alone', async () => {
    const errors = await errorsOf(object({ w: wrong, v: ruled(integer, { rule: 'self' }) }));
    assert.deepEqual(
      errors.map((error) => error.split(': ', 2)[0]),
      ['~.properties[w].properties[a].type', '~.properties[v].x-kubernetes-validations[0].rule'],
    );
  });

  test('of its structure leave all rules alone', async () => {
    const errors = await errorsOf(object({ w: {}, v: ruled(integer, { rule: 'self' }) }));
    assert.ok(errors.length > 0);
    assert.ok(errors.every((error) => !error.includes('validations')));
  });
});
