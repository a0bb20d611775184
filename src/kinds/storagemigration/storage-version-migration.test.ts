import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { storageVersionMigration } from './storage-version-migration.ts';

const kind = storageVersionMigration(orch);
const resource = { group: 'apps', version: 'v1', resource: 'deployments' };
const valid = { spec: { resource } };
const time = '2026-01-02T03:04:05Z';
const conditions = (...types: readonly string[]) =>
  types.map((type) => ({ type, status: 'True', lastUpdateTime: time, reason: 'R' }));

test('StorageVersionMigration: a resource is required, and stays', () => {
  assert.deepEqual(create(kind, { spec: { resource: {} } }).errors, [
    'spec.resource.resource: Required value: resource is required',
    'spec.resource.version: Required value: version is required',
  ]);
  const other = { group: 'batch', version: 'v2', resource: 'jobs' };
  assert.deepEqual(update(kind, valid, { spec: { resource: other } }).errors, [
    'group: Invalid value: "batch": field is immutable',
    'version: Invalid value: "v2": field is immutable',
    'resource: Invalid value: "jobs": field is immutable',
  ]);
  assert.deepEqual(update(kind, valid, { spec: { resource, continueToken: 'x' } }).errors, []);
});

const version = 'status.resourceVersion: Invalid value';
const states = 'status.conditions: Invalid value: [';

/** Errors are known by their beginning and end. */
const rows: readonly (readonly [why: string, status: Sent, errors: readonly (readonly string[])[], old?: Sent])[] = [
  ['a migration that runs', { resourceVersion: '7', conditions: conditions('Running') }, []],
  [
    'another version',
    { resourceVersion: '8' },
    [[`${version}: "8": resourceVersion cannot be updated`]],
    { resourceVersion: '7' },
  ],
  [
    'a version that is none',
    { resourceVersion: 'x' },
    [[`${version}: "x": failed to parse resource version "x": strconv.ParseInt: parsing "x": invalid syntax`]],
  ],
  [
    'too large a version',
    { resourceVersion: '9223372036854775808' },
    [[`${version}: "9223372036854775808": failed to parse`, ': value out of range']],
  ],
  ['a negative version', { resourceVersion: '-1' }, [[`${version}: -1: must be greater than or equal to 0`]]],
  [
    'success and failure',
    { conditions: conditions('Succeeded', 'Failed') },
    [[states, 'Both success and failed conditions cannot be true at the same time']],
  ],
  [
    'success while it runs',
    { conditions: conditions('Succeeded', 'Running') },
    [[states, 'Running condition cannot be true when success condition is true']],
  ],
  [
    'failure while it runs',
    { conditions: conditions('Failed', 'Running') },
    [[states, 'Running condition cannot be true when failed condition is true']],
  ],
  [
    'success that is taken back',
    { conditions: conditions('Running') },
    [[states, 'Success condition cannot be set to false once it is true']],
    { conditions: conditions('Succeeded') },
  ],
  [
    'failure that is taken back',
    {},
    [['status.conditions: Invalid value', 'Failed condition cannot be set to false once it is true']],
    { conditions: conditions('Failed') },
  ],
  [
    'incomplete conditions',
    { conditions: [...conditions('A'), { type: 'A', status: 'Maybe', reason: '-' }, { type: '' }] },
    [
      ['status.conditions[1].type: Duplicate value: "A"'],
      ['status.conditions[1].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
      ['status.conditions[1].lastTransitionTime: Required value: must be set'],
      ['status.conditions[1].reason: Invalid value: "-": a condition reason must start with alphabetic character'],
      ['status.conditions[2].type: Invalid value: "": name part must be non-empty'],
      ['status.conditions[2].type: Invalid value: "": name part must consist of'],
      ['status.conditions[2].status: Unsupported value: ""'],
      ['status.conditions[2].lastTransitionTime: Required value: must be set'],
      ['status.conditions[2].reason: Required value: must be set'],
    ],
  ],
];

for (const [why, status, errors, old = {}] of rows) {
  test(`StorageVersionMigration: a status with ${why} is ${errors.length > 0 ? 'refused' : 'accepted'}`, () => {
    const stored = { ...create(kind, valid).object, status: old };
    const found = update(kind, stored, { ...valid, status }, 'status').errors;
    assert.equal(found.length, errors.length, found.join('\n'));
    for (const [index, [start = '', end = '']] of errors.entries()) {
      const error = found[index] ?? '';
      assert.ok(error.startsWith(start) && error.endsWith(end), error);
    }
  });
}

test('StorageVersionMigration: a new one has no status; columns', () => {
  const { object } = create(kind, { ...valid, status: { resourceVersion: '7' } });
  assert.deepEqual(object['status'], {});
  assert.deepEqual(row(kind, valid), { Name: 'one', Resource: 'deployments.v1.apps' });
});
