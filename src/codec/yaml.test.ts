import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import { StatusError } from '../meta/status-error.ts';
import type { ParsedJson } from './json.ts';
import { parseYaml } from './yaml.ts';

const parse = (text: string): ParsedJson => parseYaml(Buffer.from(text));

function refusal(bytes: Uint8Array | string): string {
  try {
    parseYaml(Buffer.from(bytes));
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    assert.equal(error.reason, 'BadRequest');
    return error.message.replace('error decoding YAML: ', '');
  }
  return 'none';
}

test('documents', () => {
  for (const [text, value] of [
    ['', null],
    ['# nothing\n', null],
    ['a: 1\nb:\n- x\n- y: z\n', { a: 1, b: ['x', { y: 'z' }] }],
    ['---\na: 1\n...\n', { a: 1 }],
    ['%YAML 1.1\n---\na: 0644\n', { a: 420 }],
    ['{a: b, "c": [d]}', { a: 'b', c: ['d'] }],
    ['{"a": 1, "b": 9007199254740993}', { a: 1, b: 9007199254740993n }],
    ['a: |\n  x\n  y\nb: >-\n  x\n  y\n', { a: 'x\ny\n', b: 'x y' }],
    ['a:\nb: ~\nc: null\n', { a: null, b: null, c: null }],
    [
      'a: "yes"\nb: \'1\'\nc: !!str 1\nd: !!int "1"\ne: !!float 0.5\nf: !!bool yes\ng: ! 1\n',
      { a: 'yes', b: '1', c: '1', d: 1, e: 0.5, f: true, g: '1' },
    ],
    ['no: 1\n1: 2\n0x10: 3\n"null": 4\n', { no: 1, 1: 2, '0x10': 3, null: 4 }],
    ['a: &x {b: [1]}\nc: *x\n', { a: { b: [1] }, c: { b: [1] } }],
    ['a: &x 1\nb: *x\nc: &x 2\nd: *x\n', { a: 1, b: 1, c: 2, d: 2 }],
    ['a: &x {b: 1, c: 1}\nd:\n  c: 2\n  <<: *x\n  e: 3\n', { a: { b: 1, c: 1 }, d: { c: 2, e: 3, b: 1 } }],
    ['<<: [{a: 1}, {a: 2, b: 2}]\nb: 3\n', { b: 3, a: 1 }],
    ['"<<": 1\n', { '<<': 1 }],
  ] as const) {
    assert.deepEqual(parse(text), { value, duplicates: [] }, text);
  }
});

test('duplicates', () => {
  assert.deepEqual(parse('a: 1\nb: [{c: 1, "c": 2}]\na: 3\n'), {
    value: { a: 3, b: [{ c: 2 }] },
    duplicates: ['b[0].c', 'a'],
  });
  assert.deepEqual(parse('{"a": 1, "a": 2}').duplicates, ['a']);
});

test('errors have a position', () => {
  for (const [text, message] of [
    ['a: b: c', /^line 1 column 4: /],
    ['a: [1', /^line 1 column 6: /],
    ['\ta: 1', /^line 1 column 1: /],
    ['a: 1\n---\nb: 2\n', /^line 2 column 1: expected a single document$/],
    ['a: 1\nb: *nope', /^line 2 column 4: expected an anchor before the alias \*nope$/],
    ['b: *x\na: &x 1', /^line 1 column 4: expected an anchor before the alias \*x$/],
    ['a: .inf', /^line 1 column 4: expected a number in the range of a 64-bit float$/],
    ['a: 1e999', /^line 1 column 4: expected a number in the range of a 64-bit float$/],
    ['? [a]\n: b', /^line 1 column 1: expected keys that are strings$/],
    ['~: a', /^line 1 column 1: expected a key that is a string$/],
    ['a: !!binary aGk=', /: unexpected tag or value of tag:yaml\.org,2002:binary$/],
    ['a: !!int x', /: unexpected tag or value of tag:yaml\.org,2002:int$/],
    ['a: !!set {b}', /: unexpected tag tag:yaml\.org,2002:set$/],
    ['a: !<tag:example.com,2000:x> {}', /: unexpected tag tag:example\.com,2000:x$/],
    ['<<: 1', /: expected "<<" to stand for a map or a list of maps$/],
    [Uint8Array.of(0x61, 0x3a, 0x20, 0xff), /^line 1 column 4: expected valid UTF-8$/],
  ] as const) {
    assert.match(refusal(text), message, String(text));
  }
});

test('errors quote only the beginning of what is wrong', () => {
  const long = '\u{1f600}'.repeat(10_000);
  for (const [what, text] of [
    ['text behind a value', `a: "b"${long}`],
    ['a tag', `a: !<tag:example.com,2000:${'x'.repeat(10_000)}> {}`],
    ['a tag without a value', `a: !${'x'.repeat(10_000)} 1`],
    ['an alias', `a: *${long}`],
    ['an anchor without a value', `- &${long} *a`],
    ['a directive', `%${long}\n---\na: 1`],
    ['text where a key should be', `a: 1\n${long}\nb: 2`],
  ] as const) {
    const message = refusal(text);
    assert.ok(message.length < limits.yamlErrorCharactersMax + 64, `${what}: ${message.length} characters`);
    assert.ok(message.isWellFormed(), what);
  }
});

test('nesting is bounded, however it is written', () => {
  const { depthMax } = limits;
  const message = new RegExp(`expected no more than ${depthMax} levels of nesting$`);
  assert.equal(refusal('['.repeat(depthMax) + ']'.repeat(depthMax)), 'none');
  for (const text of [
    '['.repeat(depthMax + 1) + ']'.repeat(depthMax + 1),
    '['.repeat(1e6),
    '- '.repeat(1e6),
    '? '.repeat(1e5),
    '{a: '.repeat(1e5),
    Array.from({ length: 500 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
    'a: &a [*a]',
    '&a\nb: *a',
  ]) {
    assert.match(refusal(text), message, text.slice(0, 20));
  }
});

test('aliases are bounded in number and in what they repeat (CVE-2019-11253)', () => {
  const laughs = ['a: &a [x,x,x,x,x,x,x,x,x]'];
  for (const [name, before] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg'].map((pair) => [pair[0], pair[1]])) {
    laughs.push(`${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(',')}]`);
  }
  const message = /the document repeats too much by aliases$/;
  assert.match(refusal(laughs.join('\n')), message);
  assert.match(refusal(`a: &a ${'x'.repeat(1e6)}\nb: [*a, *a, *a, *a]`), message);
  assert.match(refusal(`a: &a x\nb: [${'*a,'.repeat(limits.yamlAliasesMax + 1)}]`), message);
  assert.equal(refusal(`a: &a x\nb: [${'*a,'.repeat(limits.yamlAliasesMax)}]`), 'none');
});

test('aliases are copies', () => {
  const { a, b } = parse('a: &x {c: 1}\nb: *x\n').value as Record<string, object>;
  assert.notEqual(a, b);
});

test('the parts of a document are bounded', () => {
  assert.match(refusal('a: b\n'.repeat(limits.yamlTokensMax / 4)), /the document has too many parts$/);
});

test('directives are bounded: the parser takes time in the square of their number', () => {
  const directives = (count: number): string => '%FOO a\n'.repeat(count);
  const max = limits.yamlDirectivesMax;
  assert.match(
    refusal(directives(max + 1)),
    new RegExp(`line ${max + 1} column 1: expected no more than ${max} directives$`),
  );
  assert.match(refusal(`${directives(32_000)}---\na: 1\n`), /directives$/);
  assert.match(refusal('%TAG ! tag:x\n'.repeat(max + 1)), /directives$/);
  assert.deepEqual(parse(`${directives(max)}---\na: 1\n`).value, { a: 1 });
  const content = `a: |\n${'  %FOO a\n'.repeat(max + 1)}`;
  assert.deepEqual(parse(content).value, { a: '%FOO a\n'.repeat(max + 1) }, 'in a scalar they are text');
});

test('what follows a second document is not read', () => {
  const message = /line 2 column 1: expected a single document$/;
  assert.match(refusal(`a: 1\n${'---\n'.repeat(100_000)}`), message);
  assert.match(refusal('a: 1\n---\nb: 1\n---\n"no end'), message);
});

test('escapes that YAML does not have are refused at the first of them', () => {
  const message = /line 1 column 5: expected an escape sequence that YAML has$/;
  for (const wrong of ['\\q', '\\A', '\\x4', '\\xzz', '\\u12', '\\U00110000', '\\UFFFFFFFF']) {
    assert.match(refusal(`a: "${wrong}"`), message, wrong);
  }
  for (const half of ['\\ud800', '\\uDFFF', '\\ud800x', '\\udc00\\ud800', '\\U0000D800', '\\U0000dfff']) {
    assert.match(refusal(`a: "${half}"`), message, half);
  }
  assert.deepEqual(parse('a: "\\uD83D\\ude00\\ud7ff\\ue000"').value, { a: '\u{1f600}\ud7ff\ue000' });
  const started = performance.now();
  assert.match(refusal(`a: "${'\\q'.repeat(1e6)}"`), message);
  assert.ok(performance.now() - started < 1_000, 'an error for each would take seconds');
  const all = '"\\0\\a\\b\\t\\n\\v\\f\\r\\e\\ \\"\\/\\\\\\N\\_\\L\\P\\x41\\u0042\\U0010FFFF\\\n  c"';
  assert.equal(parse(all).value, '\0\x07\b\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029AB\u{10ffff}c');
  assert.deepEqual(parse('a: |\n  "\\q\nb: x"\\q\n').value, { a: '"\\q\n', b: 'x"\\q' });
  assert.equal(parse('--- |\n"\\q"\n').value, '"\\q"\n');
});

test('__proto__ is a field like any other', () => {
  for (const text of ['__proto__: {a: 1}', 'x: &x {__proto__: {a: 1}}\n<<: *x', '{"__proto__": {"a": 1}}']) {
    const { value } = parse(text);
    assert.ok(Object.hasOwn(value as object, '__proto__'), text);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
  }
});
