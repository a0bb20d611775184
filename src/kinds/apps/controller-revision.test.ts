import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { controllerRevision } from './controller-revision.ts';

const kind = controllerRevision(orch);
const valid = { revision: 3, data: { spec: { a: 1 } } };

const created: readonly (readonly [string, Sent, readonly string[]])[] = [
  ['a state', valid, []],
  ['revision 0', { data: {} }, []],
  ['no data', { revision: 1 }, ['data: Required value: data is mandatory']],
  ['null', { revision: 1, data: null }, ['data: Required value: data is mandatory']],
  ['a text', { revision: 1, data: 'text' }, ['data: Required value: data must be a valid JSON object']],
  ['a list', { revision: 1, data: [] }, ['data: Required value: data must be a valid JSON object']],
  [
    'a negative revision',
    { ...valid, revision: -1 },
    ['revision: Invalid value: -1: must be greater than or equal to 0'],
  ],
];

for (const [what, sent, errors] of created) {
  test(`ControllerRevision: ${what} is ${errors.length > 0 ? 'refused' : 'accepted'}`, () => {
    assert.deepEqual(create(kind, sent).errors, errors);
  });
}

const updated: readonly (readonly [string, Sent, readonly string[]])[] = [
  ['another revision', { ...valid, revision: 4 }, []],
  ['other data', { ...valid, data: { spec: { a: 2 } } }, ['data: Invalid value: {"spec":{"a":2}}: field is immutable']],
  ['no data any more', { revision: 3 }, ['data: Invalid value: "null": field is immutable']],
];

for (const [what, sent, errors] of updated) {
  test(`ControllerRevision: ${what} in an update is ${errors.length > 0 ? 'refused' : 'accepted'}`, () => {
    assert.deepEqual(update(kind, valid, sent).errors, errors);
  });
}

const owners = [
  [[], '<none>'],
  [[{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u' }], '<none>'],
  [[{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u', controller: true }], 'statefulset.apps/s'],
  [[{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }], 'pod/p'],
] as const;

for (const [ownerReferences, cell] of owners) {
  test(`ControllerRevision: the column of the controller is ${cell}`, () => {
    assert.deepEqual(row(kind, { ...valid, metadata: { ownerReferences } }), {
      Name: 'one',
      Controller: cell,
      Revision: 3,
      Age: '<unknown>',
    });
  });
}
