import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { systemRandom } from '../../base/random.ts';
import { selectedFields } from '../../cache/selected-fields-fixture.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { issueSelfSigned } from '../../pki/certificate.ts';
import { create, now, read, row, type Sent, update } from '../strategy-fixture.ts';
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

test('Secret: stringData is merged over data and not stored', () => {
  const { object } = create(kind, { data: { a: 'AA==', b: 'AA==' }, stringData: { b: 'é', c: '' } });
  assert.deepEqual(object['data'], { a: 'AA==', b: base64('é'), c: '' });
  assert.equal('stringData' in object, false);
});

test('Secret: stringData keys may have names of prototype properties', () => {
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

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = pem(privateKey);
const crt = issueSelfSigned(
  { subject: { commonName: 'a' }, publicKey, uses: ['serverAuth'], notBefore: now, notAfter: now + 60_000 },
  privateKey,
  systemRandom,
).toString();
const otherKey = pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);

const warningRows = [
  { why: 'a pair that fits', crt, key, warnings: [] },
  { why: 'a chain', crt: `${crt}${crt}`, key, warnings: [] },
  { why: 'no certificate', crt: 'x', key, warnings: ['tls: failed to find any PEM data in certificate input'] },
  { why: 'no key', crt, key: 'x', warnings: ['tls: failed to find any PEM data in key input'] },
  { why: 'another key', crt, key: otherKey, warnings: ['tls: private key does not match public key'] },
  {
    why: 'a broken certificate',
    crt: '-----BEGIN CERTIFICATE-----',
    key,
    warnings: ['tls: failed to parse the certificate or the private key'],
  },
];

for (const { why, crt, key, warnings } of warningRows) {
  test(`Secret: warns of a key pair: ${why}`, () => {
    const sent = { type: 'orch.io/tls', data: { 'tls.crt': base64(crt), 'tls.key': base64(key) } };
    assert.deepEqual(kind.strategy.warnings?.(read(kind, sent), undefined), warnings);
    assert.deepEqual(kind.strategy.warnings?.(read(kind, { ...sent, type: 'a/b' }), undefined), []);
  });
}

test('Secret: columns and selectable fields', () => {
  const sent = { type: 'a/b', data: { a: '' } };
  assert.deepEqual(row(kind, sent), { Name: 'one', Type: 'a/b', Data: 1, Age: '<unknown>' });
  assert.deepEqual(selectedFields(kind, read(kind, sent)), { type: 'a/b' });
});
