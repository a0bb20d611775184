import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { create, read, row, type Sent, update } from '../strategy-harness.ts';
import { secret } from './secret.ts';

const kind = secret(orch);
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const redacted = 'Invalid value: "<secret contents redacted>": must be a JSON object';

const rows: { why: string; sent: Sent; errors: string[] }[] = [
  { why: 'empty', sent: {}, errors: [] },
  { why: 'a type of our own', sent: { type: 'example.com/any', data: { a: 'AA==' } }, errors: [] },
  { why: 'a type named like a part of every object', sent: { type: 'constructor' }, errors: [] },
  { why: 'a bootstrap token without its keys', sent: { type: 'bootstrap.orch.io/token' }, errors: [] },
  {
    why: 'a key that leaves the directory',
    sent: { data: { '..': '' } },
    errors: [`data[..]: Invalid value: "..": must not be '..'`],
  },
  { why: 'the limit', sent: { data: { a: Buffer.alloc(1024 * 1024).toString('base64') } }, errors: [] },
  {
    why: 'one byte past the limit',
    sent: { data: { a: Buffer.alloc(1024 * 1024 + 1).toString('base64') } },
    errors: ['data: Too long: may not be more than 1048576 bytes'],
  },
  {
    why: 'a token',
    sent: { type: 'orch.io/service-account-token', metadata: { annotations: { 'orch.io/service-account.name': 'a' } } },
    errors: [],
  },
  {
    why: 'a token of nobody',
    sent: { type: 'orch.io/service-account-token' },
    errors: ['metadata.annotations[orch.io/service-account.name]: Required value'],
  },
  { why: 'a type of the other dialect', sent: { type: 'kubernetes.io/tls' }, errors: [] },
  {
    why: 'registry configuration',
    sent: { type: 'orch.io/dockerconfigjson', data: { '.dockerconfigjson': base64('{"auths":{}}') } },
    errors: [],
  },
  {
    why: 'no registry configuration',
    sent: { type: 'orch.io/dockerconfigjson' },
    errors: ['data[.dockerconfigjson]: Required value'],
  },
  {
    why: 'broken registry configuration',
    sent: { type: 'orch.io/dockerconfigjson', data: { '.dockerconfigjson': base64('{"a":s3cret') } },
    errors: [`data[.dockerconfigjson]: ${redacted}`],
  },
  {
    why: 'a list as older registry configuration',
    sent: { type: 'orch.io/dockercfg', data: { '.dockercfg': base64('[]') } },
    errors: [`data[.dockercfg]: ${redacted}`],
  },
  { why: 'a user name alone', sent: { type: 'orch.io/basic-auth', data: { username: '' } }, errors: [] },
  {
    why: 'neither name nor password',
    sent: { type: 'orch.io/basic-auth' },
    errors: ['data[username]: Required value', 'data[password]: Required value'],
  },
  { why: 'a password as text', sent: { type: 'orch.io/basic-auth', stringData: { password: 'x' } }, errors: [] },
  {
    why: 'an empty key',
    sent: { type: 'orch.io/ssh-auth', data: { 'ssh-privatekey': '' } },
    errors: ['data[ssh-privatekey]: Required value'],
  },
  { why: 'a key', sent: { type: 'orch.io/ssh-auth', data: { 'ssh-privatekey': 'AA==' } }, errors: [] },
  { why: 'a key pair', sent: { type: 'orch.io/tls', data: { 'tls.crt': '', 'tls.key': '' } }, errors: [] },
  {
    why: 'half a key pair',
    sent: { type: 'orch.io/tls', data: { 'tls.crt': 'AA==' } },
    errors: ['data[tls.key]: Required value'],
  },
];

for (const { why, sent, errors } of rows) {
  test(`Secret: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

test('Secret: types follow the dialect', () => {
  const sent = { type: 'kubernetes.io/service-account-token' };
  assert.deepEqual(create(secret(kubernetes), sent).errors, [
    'metadata.annotations[kubernetes.io/service-account.name]: Required value',
  ]);
});

test('Secret: text is put over the data and not kept', () => {
  const { object } = create(kind, { data: { a: 'AA==', b: 'AA==' }, stringData: { b: 'é', c: '' } });
  assert.deepEqual(object['data'], { a: 'AA==', b: base64('é'), c: '' });
  assert.equal('stringData' in object, false);
});

test('Secret: text under the name of a prototype is data like any other', () => {
  const { object } = create(kind, { stringData: JSON.parse('{"__proto__": "x"}') });
  assert.equal(JSON.stringify(object['data']), `{"__proto__":"${base64('x')}"}`);
});

const updateRows: { why: string; old: Sent; sent: Sent; errors: string[] }[] = [
  { why: 'data', old: { type: 'a/b', data: { a: 'AA==' } }, sent: { type: 'a/b', data: { a: 'AQ==' } }, errors: [] },
  {
    why: 'type',
    old: { type: 'a/b' },
    sent: { type: 'c/d' },
    errors: ['type: Invalid value: "c/d": field is immutable'],
  },
  {
    why: 'same text',
    old: { immutable: true, data: { a: base64('x') } },
    sent: { immutable: true, stringData: { a: 'x' } },
    errors: [],
  },
  {
    why: 'an immutable one',
    old: { immutable: true, data: { a: 'AA==' } },
    sent: { stringData: { a: 'x' } },
    errors: [
      'immutable: Forbidden: field is immutable when `immutable` is set',
      'data: Forbidden: field is immutable when `immutable` is set',
    ],
  },
  {
    why: 'a key taken away',
    old: { type: 'orch.io/tls', data: { 'tls.crt': '', 'tls.key': '' } },
    sent: { type: 'orch.io/tls', data: { 'tls.crt': '' } },
    errors: ['data[tls.key]: Required value'],
  },
];

for (const { why, old, sent, errors } of updateRows) {
  test(`Secret update: ${why}`, () => assert.deepEqual(update(kind, old, sent).errors, errors));
}

const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const warningRows = [
  { crt: 'x', key, warning: 'tls: failed to find any PEM data in certificate input' },
  { crt: '-----BEGIN CERTIFICATE-----', key: 'x', warning: 'tls: failed to find any PEM data in key input' },
  { crt: '-----BEGIN CERTIFICATE-----', key, warning: 'tls: failed to parse the certificate or the private key' },
];

for (const { crt, key, warning } of warningRows) {
  test(`Secret: warns of a key pair: ${warning}`, () => {
    const sent = { type: 'orch.io/tls', data: { 'tls.crt': base64(crt), 'tls.key': base64(key) } };
    assert.deepEqual(kind.strategy.warnings?.(read(kind, sent), undefined), [warning]);
    assert.deepEqual(kind.strategy.warnings?.(read(kind, { ...sent, type: 'a/b' }), undefined), []);
  });
}

test('Secret: columns and selectable fields', () => {
  const sent = { type: 'a/b', data: { a: '' } };
  assert.deepEqual(row(kind, sent), { Name: 'one', Type: 'a/b', Data: 1, Age: '<unknown>' });
  assert.equal(kind.selectableFields['type']?.(read(kind, sent)), 'a/b');
});
