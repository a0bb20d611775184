import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../base/limits.ts';
import { matches, parseFieldSelector, parseLabelSelector, requiredValue } from './selectors.ts';

const anything = () => [];
const labels = (text: string) => parseLabelSelector(text, anything, anything);
const selects = (text: string, object: Record<string, string>) =>
  matches(labels(text), (key) => (Object.hasOwn(object, key) ? object[key] : undefined));

const rows: readonly (readonly [selector: string, object: Record<string, string>, expected: boolean])[] = [
  ['', { a: '1' }, true],
  ['a=1', { a: '1' }, true],
  ['a=1', { a: '2' }, false],
  ['a=1', {}, false],
  ['a==1', { a: '1' }, true],
  ['a!=1', { a: '1' }, false],
  ['a!=1', {}, true],
  ['a != 1', { a: '2' }, true],
  ['a=', { a: '' }, true],
  ['a=', { a: '1' }, false],
  ['a', { a: '' }, true],
  ['a', {}, false],
  ['!a', {}, true],
  ['! a', { a: '1' }, false],
  ['a in (1,2)', { a: '2' }, true],
  ['a in (1, 2 )', { a: '3' }, false],
  ['a in (1,)', { a: '' }, true],
  ['a notin (1,2)', { a: '3' }, true],
  ['a notin (1,2)', {}, true],
  ['a notin (1,2)', { a: '1' }, false],
  ['a>5', { a: '6' }, true],
  ['a>5', { a: '5' }, false],
  ['a<5', { a: '4' }, true],
  ['a<5', { a: 'x' }, false],
  ['a=1,b=2', { a: '1', b: '2' }, true],
  ['a=1,b=2', { a: '1' }, false],
  ['x.io/a=1,!x.io/b,c in (d,e),f notin (g)', { 'x.io/a': '1', c: 'd' }, true],
  ['__proto__=1', {}, false],
  ['constructor', {}, false],
];
for (const [selector, object, expected] of rows) {
  test(`label selector ${JSON.stringify(selector)} on ${JSON.stringify(object)} is ${expected}`, () => {
    assert.equal(selects(selector, object), expected);
  });
}

for (const selector of [
  '=1',
  'a=1,',
  ',a',
  'a in 1',
  'a in (1',
  'a in (1 2)',
  'a b',
  '!',
  'a=1=2',
  'a>x',
  'a>',
  '(a)',
  'a in ((1))',
]) {
  test(`label selector ${JSON.stringify(selector)} is refused`, () => {
    assert.throws(() => labels(selector), /unable to parse requirement: |found /);
  });
}

/** What kube-apiserver 1.32 answers. */
const unparsed = 'unable to parse requirement: ';
const messages: readonly (readonly [selector: string, message: string])[] = [
  ['=1', "found '=', expected: !, identifier, or 'end of string'"],
  ['a=1,', "found '', expected: identifier after ','"],
  ['a,,b', "found ',', expected: identifier after ','"],
  ['a in 1', `${unparsed}found '1' expected: '('`],
  ['a notin', `${unparsed}found '' expected: '('`],
  ['a in (1', `${unparsed}found '', expected: ',' or ')'`],
  ['a in ((1))', `${unparsed}found '(', expected: ',', ')' or identifier`],
  ['a b', `${unparsed}found 'b', expected: in, notin, =, ==, !=, gt, lt`],
  ['!', `${unparsed}found '', expected: identifier`],
  ['a=(', `${unparsed}found '(', expected: identifier`],
  ['a=1=2', "found '=', expected: ',' or 'end of string'"],
  ['a>x', `${unparsed}values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`],
  ['bad', `${unparsed}<nil>: Invalid value: "bad": no; not`],
  ['a in (x,bad)', `${unparsed}values[0][a]: Invalid value: "bad": no; not`],
];

for (const [selector, message] of messages) {
  test(`label selector ${JSON.stringify(selector)}: ${message}`, () => {
    const check = (text: string) => (text === 'bad' ? ['no', 'not'] : []);
    assert.throws(() => parseLabelSelector(selector, check, check), { message });
  });
}

for (const [selector, message] of [
  ['x', "invalid selector: 'x'; can't understand 'x'"],
  ['a=b,x', "invalid selector: 'a=b,x'; can't understand 'x'"],
  ['a=b\\', 'invalid field selector: invalid escape sequence: \\'],
  ['a=b\\c', 'invalid field selector: invalid escape sequence: \\c'],
  ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
] as const) {
  test(`field selector ${JSON.stringify(selector)}: ${message}`, () => {
    assert.throws(() => parseFieldSelector(selector), { message });
  });
}

test('label selectors require valid keys and values', () => {
  const bad = (text: string) => () =>
    parseLabelSelector(
      text,
      (key) => (key === 'bad' ? ['no'] : []),
      (value) => (value === 'bad' ? ['no'] : []),
    );
  assert.throws(bad('bad=1'), /no/);
  assert.throws(bad('a in (x,bad)'), /no/);
  assert.doesNotThrow(bad('a=1'));
});

test('selectors are bounded', () => {
  assert.throws(() => labels('a'.repeat(limits.selectorBytesMax + 1)), /longer than/);
  assert.throws(
    () => labels(Array.from({ length: limits.selectorRequirementsMax + 1 }, () => 'a').join(',')),
    /more than/,
  );
  assert.throws(() => parseFieldSelector('a'.repeat(limits.selectorBytesMax + 1)), /longer than/);
});

test('the parsers reject any invalid text with a BadRequest', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 40 }), (text) => {
      for (const parse of [labels, parseFieldSelector]) {
        try {
          parse(text);
        } catch (error) {
          assert.equal((error as { code?: number }).code, 400);
        }
      }
    }),
    { numRuns: 500 },
  );
});

test('set-based selectors agree with set membership', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd');
  fc.assert(
    fc.property(
      word,
      fc.uniqueArray(word, { minLength: 1 }),
      fc.option(word, { nil: undefined }),
      (key, values, actual) => {
        const object: Record<string, string> = actual === undefined ? {} : { [key]: actual };
        assert.equal(selects(`${key} in (${values})`, object), actual !== undefined && values.includes(actual));
        assert.equal(selects(`${key} notin (${values})`, object), actual === undefined || !values.includes(actual));
      },
    ),
  );
});

const fields = (text: string, object: Record<string, string>) =>
  matches(parseFieldSelector(text), (key) => object[key] ?? '');

test('field selectors', () => {
  assert.equal(fields('metadata.name=a', { 'metadata.name': 'a' }), true);
  assert.equal(fields('metadata.name==a', { 'metadata.name': 'b' }), false);
  assert.equal(fields('metadata.name!=a', { 'metadata.name': 'b' }), true);
  assert.equal(fields('a=1,b!=2', { a: '1', b: '3' }), true);
  assert.equal(fields('a=', {}), true);
  assert.equal(fields('a=x\\,y\\=z\\\\', { a: 'x,y=z\\' }), true);
  assert.equal(fields('', {}), true);
  for (const text of ['a', 'a>1', 'a=b=c', 'a=\\x'])
    assert.throws(() => parseFieldSelector(text), /invalid (?:field )?selector/);
});

test('the required value of a selector', () => {
  assert.equal(requiredValue(parseFieldSelector('metadata.name=a,b=c'), 'metadata.name'), 'a');
  assert.equal(requiredValue(parseFieldSelector('metadata.name!=a'), 'metadata.name'), undefined);
});
