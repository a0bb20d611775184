import assert from 'node:assert/strict';
import { test } from 'node:test';
import { selectedFields } from '../../cache/selected-fields-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { create, read, row, type Sent, update, viewOf } from '../strategy-fixture.ts';
import { namespace } from './namespace.ts';

const kind = namespace(orch);
const unqualified = 'name is neither a standard finalizer name nor is it fully qualified';

test('Namespace: a new one is Active and has the finalizer', () => {
  const { object, errors } = create(kind, {
    status: { phase: 'Terminating', conditions: [{ type: 'a', status: 'True' }] },
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(object['spec'], { finalizers: ['orch'] });
  assert.deepEqual(object['status'], { phase: 'Active' });
});

test('Namespace: finalizers set by the client are kept', () => {
  const sent = { spec: { finalizers: ['x.io/a', 'orch'] } };
  assert.deepEqual(create(kind, sent).object['spec'], sent.spec);
  assert.deepEqual(create(kind, { spec: { finalizers: ['x.io/a'] } }).object['spec'], sent.spec);
});

test('Namespace: finalizers need a domain', () => {
  assert.deepEqual(create(kind, { spec: { finalizers: ['mine'] } }).errors, [
    `spec.finalizers: Invalid value: "mine": ${unqualified}`,
  ]);
});

test('Namespace: an update changes neither finalizers nor status', () => {
  const { object, errors } = update(kind, {}, { spec: { finalizers: [] }, status: { phase: 'Terminating' } });
  assert.deepEqual(errors, []);
  assert.deepEqual([object['spec'], object['status']], [{ finalizers: ['orch'] }, { phase: 'Active' }]);
});

test('Namespace: finalize changes the finalizers only', () => {
  const { object, errors } = update(kind, {}, { spec: {}, status: { phase: 'Terminating' } }, 'finalize');
  assert.deepEqual(errors, []);
  assert.deepEqual([object['spec'], object['status']], [{}, { phase: 'Active' }]);
  assert.deepEqual(update(kind, {}, { spec: { finalizers: ['mine'] } }, 'finalize').errors, [
    `spec.finalizers[0]: Invalid value: "mine": ${unqualified}`,
  ]);
  assert.deepEqual(viewOf(kind, 'finalize').verbs, ['update']);
});

const deleting = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
const active = { status: { phase: 'Active' } };
const terminating = { status: { phase: 'Terminating' } };
const statusRows: { why: string; sent: Sent; errors: string[] }[] = [
  { why: 'active', sent: active, errors: [] },
  { why: 'active unless it says otherwise', sent: { status: { conditions: [] } }, errors: [] },
  { why: 'terminating', sent: { ...deleting, ...terminating }, errors: [] },
  {
    why: 'terminating before its deletion',
    sent: terminating,
    errors: ['status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty'],
  },
  {
    why: 'active in its deletion',
    sent: { ...deleting, ...active },
    errors: ['status.Phase: Invalid value: "Active": may only be \'Terminating\' if `deletionTimestamp` is not empty'],
  },
];

for (const { why, sent, errors } of statusRows) {
  test(`Namespace status: ${why}`, () => {
    const outcome = update(kind, {}, { ...sent, spec: { finalizers: ['x.io/a'] } }, 'status');
    assert.deepEqual(outcome.errors, errors);
    assert.deepEqual(outcome.object['spec'], { finalizers: ['orch'] });
  });
}

test('Namespace: a deletion makes it terminating, and waits for its finalizers', () => {
  const { object } = create(kind, {});
  assert.deepEqual(kind.strategy.finalizers?.(object), ['orch']);
  kind.strategy.prepareForDelete?.(object, {
    dialect: orch,
    user: { username: '', uid: '', groups: [], extra: {} },
    now: 0,
    requested: kind,
  });
  assert.deepEqual(object['status'], { phase: 'Terminating' });
});

test('Namespace: columns and selectable fields', () => {
  assert.deepEqual(row(kind, active), { Name: 'one', Status: 'Active', Age: '<unknown>' });
  assert.deepEqual(selectedFields(kind, read(kind, {})), { 'status.phase': '' });
  assert.deepEqual(selectedFields(kind, read(kind, active)), { 'status.phase': 'Active' });
});
