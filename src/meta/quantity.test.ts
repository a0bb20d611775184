import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addQuantity,
  canonicalQuantity,
  compareQuantity,
  formatQuantity,
  parseQuantity,
  type Quantity,
  roundUpQuantity,
  subtractQuantity,
} from './quantity.ts';

const quantity = (text: string): Quantity => {
  const parsed = parseQuantity(text);
  assert.ok(parsed, text);
  return parsed;
};

test('canonical forms', () => {
  for (const [text, canonical] of [
    ['0', '0'],
    ['0Ki', '0'],
    ['-0', '0'],
    ['0.000', '0'],
    ['1', '1'],
    ['+1', '1'],
    ['007', '7'],
    ['0.5', '500m'],
    ['.5', '500m'],
    ['5.', '5'],
    ['-0.5', '-500m'],
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1000', '1k'],
    ['1100', '1100'],
    ['1024', '1024'],
    ['1000k', '1M'],
    ['12E', '12E'],
    ['1000E', '1000E'],
    ['1024Mi', '1Gi'],
    ['1000Mi', '1000Mi'],
    ['1.5Gi', '1536Mi'],
    ['0.5Gi', '512Mi'],
    ['1Ki', '1Ki'],
    ['0.5Ki', '512'],
    ['1.001Ki', '1025024m'],
    ['0.1Ki', '102400m'],
    ['100Ei', '9223372036854775807'],
    ['-2Ki', '-2Ki'],
    ['1e3', '1e3'],
    ['1E3', '1e3'],
    ['1500e0', '1500'],
    ['1e4', '10e3'],
    ['1e-1', '100e-3'],
    ['1.5e3', '1500'],
    ['1n', '1n'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1.0000000001', '1000000001n'],
    ['3u', '3u'],
    [' 1 ', '1'],
    [0.5, '500m'],
    [2, '2'],
    [1e21, '1e21'],
    [2n ** 63n, '9223372036854775808'],
  ] as const) {
    assert.equal(canonicalQuantity(text), canonical, String(text));
  }
});

test('invalid quantities are rejected', () => {
  for (const text of [
    '',
    '.',
    '-',
    'm',
    '1 m',
    '1mi',
    '1ki',
    '1K',
    '1e',
    '1e1.5',
    '1ee3',
    '1_000',
    '0x10',
    '--1',
    '1Mi2',
    'NaN',
    '1e999999999',
    '1e-999999999',
    '1'.repeat(200),
  ]) {
    assert.equal(parseQuantity(text), undefined, text);
  }
});

test('arithmetic is exact and keeps the family of the first', () => {
  assert.equal(formatQuantity(addQuantity(quantity('100m'), quantity('1'))), '1100m');
  assert.equal(formatQuantity(addQuantity(quantity('1Gi'), quantity('1Mi'))), '1025Mi');
  assert.equal(formatQuantity(addQuantity(quantity('0'), quantity('1Mi'))), '1Mi');
  assert.equal(formatQuantity(subtractQuantity(quantity('1Gi'), quantity('1Gi'))), '0');
  assert.equal(formatQuantity(subtractQuantity(quantity('1'), quantity('2'))), '-1');
  assert.equal(formatQuantity(roundUpQuantity(quantity('1.0001'), -3)), '1001m');
  assert.equal(formatQuantity(roundUpQuantity(quantity('-1.0001'), -3)), '-1001m');
  assert.equal(formatQuantity(roundUpQuantity(quantity('1m'), -3)), '1m');
  assert.ok(compareQuantity(quantity('1Ki'), quantity('1024')) === 0);
  assert.ok(compareQuantity(quantity('1Ki'), quantity('1k')) > 0);
  assert.ok(compareQuantity(quantity('-1'), quantity('1m')) < 0);
});

const suffixes = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'Ki', 'Mi', 'Gi', 'e3', 'e-3', 'E2', 'e0'];
const texts = fc
  .tuple(fc.constantFrom('', '-', '+'), fc.nat(2 ** 31), fc.option(fc.nat(999)), fc.constantFrom(...suffixes))
  .map(([sign, whole, fraction, suffix]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${suffix}`);

/** The value in units of 10^-12, which is exact for every text above. */
function rational(text: string): bigint {
  const [, sign, whole = '', fraction = '', suffix = ''] = /^([-+]?)(\d*)\.?(\d*)(.*)$/.exec(text) ?? [];
  const powers: Record<string, bigint> = { n: 1n, u: 10n ** 3n, m: 10n ** 6n, '': 10n ** 9n, k: 10n ** 12n };
  const more = { M: 10n ** 15n, G: 10n ** 18n, e3: 10n ** 12n, 'e-3': 10n ** 6n, E2: 10n ** 11n, e0: 10n ** 9n };
  const binary = { Ki: 2n ** 10n * 10n ** 9n, Mi: 2n ** 20n * 10n ** 9n, Gi: 2n ** 30n * 10n ** 9n };
  const unit = { ...powers, ...more, ...binary }[suffix] ?? 0n;
  const value = (BigInt(whole + fraction) * unit * 1000n) / 10n ** BigInt(fraction.length);
  return sign === '-' ? -value : value;
}

test('parsing agrees with naive arithmetic', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const exact = rational(text);
      const nanos = exact / 1000n + (exact % 1000n === 0n ? 0n : exact < 0n ? -1n : 1n);
      assert.equal(quantity(text).nanos, nanos);
    }),
  );
});

test('the canonical form has the same value and is its own canonical form', () => {
  fc.assert(
    fc.property(texts, (text) => {
      const canonical = formatQuantity(quantity(text));
      assert.equal(compareQuantity(quantity(canonical), quantity(text)), 0);
      assert.equal(canonicalQuantity(canonical), canonical);
    }),
  );
});

test('comparison agrees with naive arithmetic', () => {
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      // Values that differ by less than a billionth may be equal after rounding.
      const [left, right] = [rational(a), rational(b)];
      fc.pre(left % 1000n === 0n && right % 1000n === 0n);
      assert.equal(compareQuantity(quantity(a), quantity(b)), left < right ? -1 : left > right ? 1 : 0);
    }),
  );
});
