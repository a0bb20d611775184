import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compile } from '../compile.ts';
import { dynType } from '../type.ts';

/** `format` of strings, as the string extension of kube-apiserver 1.32 has it (version 2, of cel-go 0.22). */

describe('texts', () => {
  const rows: readonly (readonly [expression: string, text: string])[] = [
    ["'%d%%'.format([7])", '7%'],
    ["'%%'.format([])", '%'],
    ["'%s %s'.format(['a', 'b'])", 'a b'],
    ["'%d %d'.format([-1, 2u])", '-1 2'],
    ["'%.1f %.1f %.2f'.format([2.25, -0.75, 1.005])", '2.2 -0.8 1.00'],
    ["'%.0f'.format([2.5])", '2'],
    ["'%.0f'.format([3.5])", '4'],
    ["'%f'.format([1234567.5])", '1,234,567.500000'],
    ["'%f'.format([-999.0])", '-999.000000'],
    ["'%f %f'.format(['NaN', '-Infinity'])", 'NaN -∞'],
    ["'%.2e'.format([1234.5])", '1.23\u202f×\u202f10⁰³'],
    ["'%e'.format([0.00001])", '1.000000\u202f×\u202f10⁻⁰⁵'],
    ["'%.0f'.format([1e22])", '10,000,000,000,000,000,000,000'],
    ["'%b %b'.format([5, false])", '101 0'],
    ["'%o'.format([8])", '10'],
    ["'%x %X %x'.format([255, 'no', b'z'])", 'ff 6E6F 7a'],
    ["'%s'.format([1.5])", '1.5'],
    ["'%s'.format([null])", 'null'],
    ["'%s'.format([duration('90s')])", '90s'],
    ["'%s'.format([timestamp('2024-05-01T00:00:00Z')])", '2024-05-01T00:00:00Z'],
    ["'%s'.format([type(1)])", 'int'],
    ["'%s'.format([b'raw'])", 'raw'],
    // Within lists and maps, values are written as expressions have them.
    ["'%s'.format([['a', 'say \"b\"']])", '["a", "say \\"b\\""]'],
    ["'%s'.format([[1, 2.5, null, true]])", '[1, 2.500000, null, true]'],
    [
      "'%s'.format([[b'raw', duration('1m'), timestamp('2024-05-01T00:00:00Z')]])",
      '[b"raw", duration("60s"), timestamp("2024-05-01T00:00:00Z")]',
    ],
    ["'%s'.format([[double('Infinity'), double('NaN')]])", '["+Inf", "NaN"]'],
    ["'%s'.format([{'b': [1], 'a': {}}])", '{"a":{}, "b":[1]}'],
    ["'%s'.format([{}])", '{}'],
    ["'%s'.format([[]])", '[]'],
  ];
  for (const [expression, text] of rows) {
    test(expression, () => assert.equal(compile(expression, {}).evaluate({}), text));
  }
});

describe('problems', () => {
  const precision = 'could not parse formatting clause: error while parsing precision';
  const strings =
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps';
  /** What is literal is looked at when the expression is compiled; what is not, when it is evaluated. */
  const rows: readonly (readonly [template: string, values: string, problem: string])[] = [
    ['%s %s', "['a']", 'index 1 out of range'],
    ['%', "['a']", 'unexpected end of string'],
    ['a%', '[]', 'unexpected end of string'],
    ['%5', '[1]', 'could not parse formatting clause: unrecognized formatting clause "5"'],
    ['%.', '[1.0]', `${precision}: could not find end of precision specifier`],
    ['%.3', '[1.0]', `${precision}: could not find end of precision specifier`],
    [
      '%.f',
      '[1.0]',
      `${precision}: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax`,
    ],
    ['%a', '[1]', 'could not parse formatting clause: unrecognized formatting clause "a"'],
    ['%5d', '[1]', 'could not parse formatting clause: unrecognized formatting clause "5"'],
    ['%E', '[1.0]', 'could not parse formatting clause: unrecognized formatting clause "E"'],
    ['%d', "['a']", 'error during formatting: decimal clause can only be used on integers, was given string'],
    ['%d', '[1.0]', 'error during formatting: decimal clause can only be used on integers, was given double'],
    [
      '%d',
      "[duration('1s')]",
      'error during formatting: decimal clause can only be used on integers, was given google.protobuf.Duration',
    ],
    ['%f', '[1]', 'error during formatting: fixed-point clause can only be used on doubles, was given int'],
    ['%e', '[null]', 'error during formatting: scientific clause can only be used on doubles, was given null_type'],
    ['%b', "['a']", 'error during formatting: only integers and bools can be formatted as binary, was given string'],
    ['%o', '[true]', 'error during formatting: octal clause can only be used on integers, was given bool'],
    [
      '%x',
      '[0.5]',
      'error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double',
    ],
    ['%s', "[quantity('1')]", `error during formatting: ${strings}, was given kubernetes.Quantity`],
    ['%.101f', '[1.0]', 'format: precision above 100'],
  ];
  for (const [template, values, problem] of rows) {
    const shown = { message: new RegExp(`${problem.replaceAll(/[()[\]{}.*+?^$|\\]/g, '\\$&')}$`) };
    test(`'${template}'.format(${values})`, () => {
      assert.throws(() => compile(`'${template}'.format(${values})`, {}), { name: 'CelCompileError', ...shown });
      const later = compile(`dyn('${template}').format(dyn(${values}))`, {});
      assert.throws(() => later.evaluate({}), { name: 'CelEvaluationError', ...shown });
    });
  }

  test('too many values', () => {
    const problem = /too many arguments supplied to string\.format \(expected 1, got 2\)$/;
    assert.throws(() => compile("'%s'.format(['a', 'b'])", {}), { name: 'CelCompileError', message: problem });
    assert.equal(compile("'%s'.format(dyn(['a', 'b']))", {}).evaluate({}), 'a');
  });

  test('values of unknown types are looked at when they are there', () => {
    const program = compile("'%d'.format([x])", { x: dynType });
    assert.equal(program.evaluate({ x: 1 }), '1');
    assert.throws(() => program.evaluate({ x: 'a' }), { name: 'CelEvaluationError' });
  });
});
