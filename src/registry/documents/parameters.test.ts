import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parameterSets, pathParameters } from './parameters.ts';

/** The parameter sets of spec section 4.1, in its notation; those of DELETE with the two that Kubernetes 1.32 adds. */
const listed = {
  get: 'pretty',
  list: 'allowWatchBookmarks continue fieldSelector labelSelector limit pretty resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds watch',
  write: 'dryRun fieldManager fieldValidation pretty',
  patch: 'dryRun fieldManager fieldValidation force pretty',
  delete:
    'dryRun gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents pretty propagationPolicy',
  deleteCollection:
    'continue dryRun fieldSelector gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential labelSelector limit orphanDependents pretty propagationPolicy resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds',
} as const;
const integers = ['gracePeriodSeconds', 'limit', 'timeoutSeconds'];
const booleans = [
  'allowWatchBookmarks',
  'force',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'sendInitialEvents',
  'watch',
];

type SetName = keyof typeof listed;
const setNames = Object.keys(listed) as SetName[];

for (const set of setNames) {
  test(`the set ${set} has the parameters of the spec, each of its type`, () => {
    const parameters = parameterSets[set];
    assert.deepEqual(parameters.map(({ name }) => name).sort(), listed[set].split(' '));
    for (const { name, type, description, in: place } of parameters) {
      assert.equal(place, 'query');
      assert.equal(type, integers.includes(name) ? 'integer' : booleans.includes(name) ? 'boolean' : 'string', name);
      assert.notEqual(description, '', name);
    }
  });
}

test('the parameters of a path are those in its braces, in their order', () => {
  assert.deepEqual(
    pathParameters('/api/v1/namespaces/{namespace}/pods/{name}/status').map(({ name, in: place, type }) => [
      name,
      place,
      type,
    ]),
    [
      ['namespace', 'path', 'string'],
      ['name', 'path', 'string'],
    ],
  );
  assert.deepEqual(pathParameters('/api/v1/nodes'), []);
});
