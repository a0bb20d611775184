import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, read, row, update } from '../strategy-fixture.ts';
import { serviceAccount } from './service-account.ts';

const kind = serviceAccount(orch);

test('ServiceAccount: only the names of secrets are kept', () => {
  const sent = {
    secrets: [{ name: 'a', namespace: 'other', uid: 'u' }, { kind: 'Secret' }],
    imagePullSecrets: [{ name: 'b' }],
    automountServiceAccountToken: false,
  };
  const kept = { secrets: [{ name: 'a' }, {}], imagePullSecrets: [{ name: 'b' }], automountServiceAccountToken: false };
  const { apiVersion, kind: name, metadata, ...created } = create(kind, sent).object;
  assert.deepEqual(created, kept);
  assert.deepEqual(update(kind, {}, sent).object['secrets'], kept.secrets);
  assert.equal('secrets' in create(kind, {}).object, false);
  assert.deepEqual([apiVersion, name, metadata.name], ['v1', 'ServiceAccount', 'one']);
});

test('ServiceAccount: warns once of a deprecated annotation', () => {
  const plain = read(kind, {});
  const annotated = read(kind, { metadata: { annotations: { 'orch.io/enforce-mountable-secrets': 'true' } } });
  const warning =
    'metadata.annotations[orch.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets';
  assert.deepEqual(kind.strategy.warnings?.(annotated, undefined), [warning]);
  assert.deepEqual(kind.strategy.warnings?.(annotated, plain), [warning]);
  assert.deepEqual(kind.strategy.warnings?.(annotated, annotated), []);
  assert.deepEqual(kind.strategy.warnings?.(plain, undefined), []);
});

test('ServiceAccount: PUT creates, and DELETE returns the object', () => {
  assert.deepEqual([kind.createOnUpdate, kind.deleteReturnsObject], [true, true]);
});

test('ServiceAccount: columns', () => {
  const sent = { metadata: { creationTimestamp: '2026-01-09T23:59:00Z' }, secrets: [{ name: 'a' }] };
  assert.deepEqual(row(kind, sent), { Name: 'one', Secrets: 1, Age: '60s' });
});
