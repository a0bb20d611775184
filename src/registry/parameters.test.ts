import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StatusError } from '../meta/status-error.ts';
import { checkParameters, parameterSets, pathParameters } from './parameters.ts';

/** The parameter sets of spec section 4.1, as it writes them. */
const listed = {
  get: 'pretty',
  list: 'allowWatchBookmarks continue fieldSelector labelSelector limit pretty resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds watch',
  write: 'dryRun fieldManager fieldValidation pretty',
  patch: 'dryRun fieldManager fieldValidation force pretty',
  delete: 'dryRun gracePeriodSeconds pretty propagationPolicy',
  deleteCollection:
    'continue dryRun fieldSelector gracePeriodSeconds labelSelector limit pretty propagationPolicy resourceVersion resourceVersionMatch sendInitialEvents timeoutSeconds',
} as const;
const integers = ['gracePeriodSeconds', 'limit', 'timeoutSeconds'];
const booleans = ['allowWatchBookmarks', 'force', 'sendInitialEvents', 'watch'];

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

describe('a parameter that is not of its type is refused by every set that has it', () => {
  for (const set of setNames) {
    for (const name of listed[set].split(' ')) {
      const typed = integers.includes(name) || booleans.includes(name);
      test(`${set}: ${name}=nonsense is ${typed ? '400' : 'a text like any other'}`, () => {
        const check = () => checkParameters(new URLSearchParams({ [name]: 'nonsense' }), set);
        if (!typed) check();
        else
          assert.throws(
            check,
            (error) => error instanceof StatusError && error.code === 400 && error.message.includes(name),
          );
      });
    }
  }
});

test('what is of its type passes', () => {
  for (const query of ['', 'limit=10&watch=1&timeoutSeconds=0', 'limit=&watch', 'allowWatchBookmarks=False']) {
    checkParameters(new URLSearchParams(query), 'list');
  }
  checkParameters(new URLSearchParams('gracePeriodSeconds=-1'), 'delete');
});

test('a parameter of another set, or of nobody, is ignored', () => {
  checkParameters(new URLSearchParams('limit=x&force=maybe&color=blue'), 'get');
});

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
