import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type FormatCheck,
  isCidr,
  isDataKey,
  isDns1035Label,
  isDnsLabel,
  isDnsSubdomain,
  isIpAddress,
  isLabelValue,
  isPathSegment,
  isQualifiedName,
  isUuid,
} from './formats.ts';

const rows: readonly {
  readonly check: FormatCheck;
  readonly good: readonly string[];
  readonly bad: readonly string[];
}[] = [
  {
    check: isDnsSubdomain,
    good: ['a', '0', 'a-b.c', 'a'.repeat(253), 'system.node-1.example.com'],
    bad: ['', 'A', 'a_b', '-a', 'a-', '.a', 'a.', 'a..b', 'a.-b', 'a\n', 'ä', 'a'.repeat(254)],
  },
  {
    check: isDnsLabel,
    good: ['a', '0a', 'a-b', 'a'.repeat(63)],
    bad: ['', 'a.b', '-', 'a-', 'A', 'a\n', 'a'.repeat(64)],
  },
  { check: isDns1035Label, good: ['a', 'a-1'], bad: ['', '1a', 'a.b', 'a-', 'a\n', 'a'.repeat(64)] },
  {
    check: isQualifiedName,
    good: ['a', 'A_b.c-d', '1', 'example.com/Name', `${'a'.repeat(253)}/${'b'.repeat(63)}`],
    bad: ['', '/', 'a/', '/a', 'a/b/c', 'A/b', '-a', 'a-', 'a b', 'a'.repeat(64), '__proto__'],
  },
  { check: isLabelValue, good: ['', 'a', 'A.b_c-9'], bad: ['-', 'a ', 'a/b', 'a\n', 'a'.repeat(64)] },
  { check: isPathSegment, good: ['a:b', '', '...', 'A b'], bad: ['.', '..', 'a/b', 'a%2fb', 'a\0'] },
  { check: isDataKey, good: ['a.b', '.x', '-', 'KEY_1'], bad: ['', '.', '..', '..a', 'a/b', 'a b', 'a'.repeat(254)] },
  {
    check: isIpAddress,
    good: ['10.0.0.1', '010.001.0.1', '::1', '2001:db8::ffff', '::ffff:1.2.3.4'],
    bad: ['', '1.2.3', '1.2.3.256', '1.2.3.4.5', 'fe80::1%eth0', ':::', 'x', `${'0'.repeat(100)}1.2.3.4`],
  },
  {
    check: isCidr,
    good: ['10.0.0.0/8', '::/0', '10.0.0.0/32', '2001:db8::/128'],
    bad: ['', '10.0.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/', '/8', '10.0.0.0/-1', '10.0.0.0/8/8'],
  },
  {
    check: isUuid,
    good: ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6'],
    bad: ['', 'f81d4fae7dec11d0a76500a0c91e6bf6', 'f81d4fae-7dec-11d0-a765-00a0c91e6bfg'],
  },
];

for (const { check, good, bad } of rows) {
  test(`${check.name} accepts and refuses`, () => {
    for (const value of good) assert.deepEqual(check(value), [], JSON.stringify(value));
    for (const value of bad) assert.notEqual(check(value).length, 0, JSON.stringify(value));
  });
}

test('messages are those of Kubernetes', () => {
  assert.deepEqual(isDnsSubdomain('Bad_Name'), [
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ]);
  assert.deepEqual(isDnsLabel('a.b'), ['must not contain dots']);
  assert.deepEqual(isDnsLabel('A'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
  assert.deepEqual(isQualifiedName('A/'), [
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    'name part must be non-empty',
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ]);
  assert.deepEqual(isLabelValue('a'.repeat(64)), ['must be no more than 63 characters']);
  assert.deepEqual(isPathSegment('..'), ["may not be '..'"]);
});

test('long hostile values are checked quickly', () => {
  const started = performance.now();
  for (const { check } of rows) {
    for (const value of ['a'.repeat(1e5), `${'a-'.repeat(1e5)}!`, '.'.repeat(1e5), '0.'.repeat(1e5)]) check(value);
  }
  assert.ok(performance.now() - started < 2000);
});
