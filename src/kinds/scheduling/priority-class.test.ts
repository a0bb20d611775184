import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { priorityClass } from './priority-class.ts';

const kind = priorityClass(orch);
const reserved =
  "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error:";

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'no value is 0', sent: {}, errors: [] },
  { why: 'the highest value of users', sent: { value: 1_000_000_000 }, errors: [] },
  { why: 'a negative value', sent: { value: -2_147_483_648 }, errors: [] },
  {
    why: 'a value of the system',
    sent: { value: 1_000_000_001 },
    errors: ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
  },
  { why: 'no preemption', sent: { value: 1, preemptionPolicy: 'Never' }, errors: [] },
  {
    why: 'an unknown policy',
    sent: { value: 1, preemptionPolicy: 'x' },
    errors: ['preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"'],
  },
  { why: 'an empty policy', sent: { value: 1, preemptionPolicy: '' }, errors: ['preemptionPolicy: Required value'] },
  {
    why: 'a class of the system',
    sent: { metadata: { name: 'system-node-critical' }, value: 2_000_001_000 },
    errors: [],
  },
  {
    why: 'with another value',
    sent: { metadata: { name: 'system-node-critical' }, value: 7 },
    errors: [`${reserved} value of system-node-critical PriorityClass must be 2000001000`],
  },
  {
    why: 'as the default',
    sent: { metadata: { name: 'system-cluster-critical' }, value: 2_000_000_000, globalDefault: true },
    errors: [`${reserved} globalDefault of system-cluster-critical PriorityClass must be false`],
  },
  {
    why: 'a name like those of the system',
    sent: { metadata: { name: 'system-mine' }, value: 7 },
    errors: [`${reserved} system-mine is not a known system priority class`],
  },
];

for (const { why, sent, errors } of rows) {
  test(`PriorityClass: ${why}`, () => assert.deepEqual(create(kind, sent).errors, errors));
}

const changes: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'nothing', sent: { value: 7 }, errors: [] },
  { why: 'what may change', sent: { value: 7, globalDefault: true, description: 'x' }, errors: [] },
  { why: 'the value', sent: { value: 8 }, errors: ['value: Forbidden: may not be changed in an update.'] },
  {
    why: 'the value, to one of the system',
    sent: { value: 2_000_000_000 },
    errors: ['value: Forbidden: may not be changed in an update.'],
  },
  {
    why: 'the policy',
    sent: { value: 7, preemptionPolicy: 'Never' },
    errors: ['preemptionPolicy: Invalid value: "Never": field is immutable'],
  },
  {
    why: 'the policy, to none that is known',
    sent: { value: 7, preemptionPolicy: 'x' },
    errors: ['preemptionPolicy: Invalid value: "x": field is immutable'],
  },
];

for (const { why, sent, errors } of changes) {
  test(`PriorityClass: an update changes ${why}`, () =>
    assert.deepEqual(update(kind, { value: 7 }, sent).errors, errors));
}

test('PriorityClass: the generation stays 1', () => {
  const { object } = create(kind, { metadata: { generation: 9 }, value: 7 });
  assert.equal(object.metadata.generation, 1);
  assert.equal(kind.generation, false);
});

test('PriorityClass: columns', () => {
  const shown = {
    Name: 'one',
    Value: 0,
    'Global-Default': false,
    Age: '<unknown>',
    PreemptionPolicy: 'PreemptLowerPriority',
  };
  assert.deepEqual(row(kind, {}), shown);
  assert.deepEqual(row(kind, { value: 7, globalDefault: true, preemptionPolicy: 'Never' }), {
    ...shown,
    Value: 7,
    'Global-Default': true,
    PreemptionPolicy: 'Never',
  });
});
