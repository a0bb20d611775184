import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, update } from '../strategy-fixture.ts';
import { configMap } from './config-map.ts';

const kind = configMap(orch);
const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const MiB = 1024 * 1024;
const base64 = (bytes: number): string => Buffer.alloc(bytes).toString('base64');

const rows = [
  { why: 'empty', sent: {}, errors: [] },
  { why: 'data', sent: { data: { 'a.b': 'x', _c: '' }, binaryData: { d: 'AA==' } }, errors: [] },
  { why: 'a bad key', sent: { data: { 'a/b': '' } }, errors: [`data[a/b]: Invalid value: "a/b": ${keyRule}`] },
  { why: 'no key', sent: { binaryData: { '': '' } }, errors: [`binaryData[]: Invalid value: "": ${keyRule}`] },
  {
    why: 'a way out',
    sent: { data: { '..x': '' } },
    errors: [`data[..x]: Invalid value: "..x": must not start with '..'`],
  },
  {
    why: 'a key in both',
    sent: { data: { a: 'x' }, binaryData: { a: 'AA==' } },
    errors: ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
  },
  {
    why: 'several mistakes',
    sent: { data: { a: 'x', 'b/c': '' }, binaryData: { '': '', a: 'AA==' } },
    errors: [
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
      `data[b/c]: Invalid value: "b/c": ${keyRule}`,
      `binaryData[]: Invalid value: "": ${keyRule}`,
    ],
  },
  { why: 'the limit', sent: { data: { a: 'x'.repeat(MiB - 3) }, binaryData: { b: base64(3) } }, errors: [] },
  {
    why: 'one byte past the limit',
    sent: { data: { a: 'x'.repeat(MiB - 3) }, binaryData: { b: base64(4) } },
    errors: ['[]: Too long: may not be more than 1048576 bytes'],
  },
];

for (const { why, sent, errors } of rows) {
  test(`ConfigMap: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

const frozen = { immutable: true, data: { a: 'x' }, binaryData: { b: 'AA==' } };
const forbidden = (field: string) => `${field}: Forbidden: field is immutable when \`immutable\` is set`;

const updateRows = [
  { why: 'made immutable', old: { data: { a: 'x' } }, sent: { immutable: true, data: { a: 'y' } }, errors: [] },
  { why: 'labels of an immutable one', old: frozen, sent: { ...frozen, metadata: { labels: { a: 'b' } } }, errors: [] },
  {
    why: 'order of keys',
    old: { ...frozen, data: { a: 'x', c: 'y' } },
    sent: { ...frozen, data: { c: 'y', a: 'x' } },
    errors: [],
  },
  { why: 'made mutable', old: frozen, sent: { ...frozen, immutable: false }, errors: [forbidden('immutable')] },
  {
    why: 'everything of an immutable one',
    old: frozen,
    sent: { data: { a: 'y' } },
    errors: [forbidden('immutable'), forbidden('data'), forbidden('binaryData')],
  },
];

for (const { why, old, sent, errors } of updateRows) {
  test(`ConfigMap update: ${why}`, () => assert.deepEqual(update(kind, old, sent).errors, errors));
}

test('ConfigMap: data keys may have names of prototype properties', () => {
  const data = JSON.parse('{"__proto__": "x", "constructor": "y"}');
  assert.equal(row(kind, { data })['Data'], 2);
  assert.deepEqual(create(kind, { data }).errors, []);
});

test('ConfigMap: columns', () => {
  const sent = { metadata: { creationTimestamp: '2026-01-05T00:00:00Z' }, data: { a: '' }, binaryData: { b: '' } };
  assert.deepEqual(row(kind, sent), { Name: 'one', Data: 2, Age: '5d' });
});
