import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { lease } from './lease.ts';

const kind = lease(orch);

const rows: { why: string; spec: Sent; errors: string[] }[] = [
  { why: 'empty', spec: {}, errors: [] },
  {
    why: 'held',
    spec: {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      leaseTransitions: 0,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
    errors: [],
  },
  {
    why: 'no duration',
    spec: { leaseDurationSeconds: 0 },
    errors: ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
  },
  {
    why: 'fewer than no transitions',
    spec: { leaseTransitions: -1 },
    errors: ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
  },
  { why: 'a known strategy', spec: { strategy: 'OldestEmulationVersion', preferredHolder: 'a' }, errors: [] },
  { why: 'a strategy of our own', spec: { strategy: 'x.io/Mine' }, errors: [] },
  {
    why: 'an unknown strategy',
    spec: { strategy: 'Mine' },
    errors: ['spec.strategy.strategy: Unsupported value: "Mine": supported values: "OldestEmulationVersion"'],
  },
  {
    why: 'a strategy of nobody',
    spec: { strategy: '/Mine' },
    errors: ['spec.strategy.strategy: Invalid value: "/Mine": prefix part must be non-empty'],
  },
  {
    why: 'a preferred holder without a strategy',
    spec: { preferredHolder: 'a' },
    errors: ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined'],
  },
];

for (const { why, spec, errors } of rows) {
  test(`Lease: ${why}`, () => {
    assert.deepEqual(create(kind, { spec }).errors, errors);
    assert.deepEqual(update(kind, {}, { spec }).errors, errors);
  });
}

test('Lease: times have microseconds, and explicit zero values are kept', () => {
  const { object } = create(kind, {
    spec: { holderIdentity: '', leaseTransitions: 0, renewTime: '2026-01-01T01:00:00.500000+01:00' },
  });
  assert.deepEqual(object['spec'], {
    holderIdentity: '',
    leaseTransitions: 0,
    renewTime: '2026-01-01T00:00:00.500000Z',
  });
});

test('Lease: its group follows the dialect', () => {
  assert.equal(kind.group, 'coordination.orch.io');
  assert.equal(lease(kubernetes).group, 'coordination.k8s.io');
});

test('Lease: columns', () => {
  assert.deepEqual(row(kind, { spec: { holderIdentity: 'a' } }), { Name: 'one', Holder: 'a', Age: '<unknown>' });
  assert.equal(row(kind, {})['Holder'], '');
});
