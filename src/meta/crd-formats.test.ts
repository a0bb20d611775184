import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { crdFormats } from './crd-formats.ts';

const rows: Readonly<Record<string, { readonly good: readonly string[]; readonly bad: readonly string[] }>> = {
  bsonobjectid: { good: ['507f1f77bcf86cd799439011'], bad: ['507f1f77bcf86cd79943901', 'x'] },
  uri: { good: ['https://example.com/a?b#c', '/path'], bad: ['example', '', 'a b', 'http://[::1'] },
  email: { good: ['a@example.com', 'A B <a@example.com>', '"a b"@c.d'], bad: ['a', '@b', 'a@', 'a b@c', 'a@b@c, d'] },
  hostname: {
    good: ['a', 'a-', 'a-b', 'a.example.com', 'a-b.example.com', '1.example', '☃.net'],
    bad: ['', '-a', 'foo-bar', '1.2.3.4', 'a.b', 'a.co1', 'a-.bc', 'a..bc', 'a_b', 'x'.repeat(64)],
  },
  ipv4: {
    good: ['10.0.0.1', '010.00.0.01', '::ffff:10.0.0.1'],
    bad: ['10.0.0', '::1', '256.0.0.1', `${'0'.repeat(1_024)}1.0.0.1`],
  },
  ipv6: { good: ['::1', '2001:db8::'], bad: ['10.0.0.1', 'fe80::1%eth0', ':'] },
  cidr: { good: ['10.0.0.0/8', '2001:db8::/32'], bad: ['10.0.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/08'] },
  mac: {
    good: ['01:23:45:67:89:ab', '0123456789ab', '0123.4567.89ab', '01-23-45-67-89-AB'],
    bad: ['01:23:45:67:89', '01:23-45:67:89:ab'],
  },
  uuid: { good: ['F81D4FAE-7dec-11d0-a765-00a0c91e6bf6', 'f81d4fae7dec11d0a76500a0c91e6bf6'], bad: ['f81d4fae'] },
  uuid3: { good: ['f81d4fae-7dec-31d0-a765-00a0c91e6bf6'], bad: ['f81d4fae-7dec-41d0-a765-00a0c91e6bf6'] },
  uuid4: { good: ['f81d4fae-7dec-41d0-a765-00a0c91e6bf6'], bad: ['f81d4fae-7dec-41d0-7765-00a0c91e6bf6'] },
  uuid5: { good: ['f81d4fae-7dec-51d0-b765-00a0c91e6bf6'], bad: ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6'] },
  isbn: { good: ['0321751043', '978-0321751041'], bad: ['0321751044'] },
  isbn10: { good: ['0-321-75104-3'], bad: ['978-0321751041'] },
  isbn13: { good: ['978-0321751041'], bad: ['978-0321751042'] },
  creditcard: { good: ['4111 1111 1111 1111'], bad: ['4111111111111112', '1234'] },
  ssn: { good: ['123-45-6789', '123456789'], bad: ['123-456-789'] },
  hexcolor: { good: ['#fff', 'A0b1C2'], bad: ['#ffff', 'red'] },
  rgbcolor: { good: ['rgb(255, 0,12)'], bad: ['rgb(256,0,0)', 'rgb(1,2)'] },
  byte: { good: ['YQ==', 'YWJj'], bad: ['YQ', 'a b=', ''] },
  password: { good: ['', 'anything'], bad: [] },
  date: { good: ['2024-02-29'], bad: ['2023-02-29', '2024-1-1', '2024-01-01T00:00:00Z'] },
  duration: {
    good: ['1h30m', '-1.5s', '0', '22 ns', '3 days', 'P1D', '1 Week', 'every 2 hours', '1 nanos'],
    bad: ['1', 'h', '1 fortnight', '1mo', '12345678901234567890 s', '', '1s'.repeat(600)],
  },
  datetime: { good: ['2024-01-02T03:04:05.678+02:00', '2024-01-02t03:04:05z'], bad: ['2024-01-02', 'x'] },
};

for (const [name, { good, bad }] of Object.entries(rows)) {
  test(name, () => {
    const check = crdFormats.get(name);
    assert.ok(check);
    for (const value of good) assert.ok(check(value), `${value} is one`);
    for (const value of bad) assert.ok(!check(value), `${value} is none`);
  });
}

test('the table has all of them', () => {
  assert.deepEqual([...crdFormats.keys()].sort(), Object.keys(rows).sort());
});

/** What expressions that can match a text in several ways take quadratic time for. */
const units = [
  'a1 ',
  '1',
  '0',
  ' ',
  '\t',
  '.',
  '1.',
  'a.',
  '-',
  'a-',
  ':',
  'ab:',
  '/',
  '"',
  '<',
  '(',
  '%',
  'é',
  '1h',
  '9.9s',
  'A',
  '=',
];
const longLength = 300_000;
/** A thousand times what a linear check takes. */
const deadlineMs = 10_000;

for (const [name, check] of crdFormats) {
  test(`checking a long text takes linear time: ${name}`, () => {
    for (const unit of units) {
      for (const end of ['', '!']) {
        const text = unit.repeat(longLength / unit.length) + end;
        // Whatever the result is: the deadline also ends what hangs within an expression.
        runInNewContext('check(text)', { check, text }, { timeout: deadlineMs });
      }
    }
  });
}
