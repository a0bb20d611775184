import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../base/limits.ts';
import { invalid, required } from './field-error.ts';
import {
  allocationFailed,
  alreadyExists,
  badRequest,
  conflict,
  expired,
  internalError,
  invalidObject,
  methodNotAllowed,
  noSuchPath,
  notFound,
  type Status,
  StatusError,
  staleObject,
  tooLargeResourceVersion,
} from './status-error.ts';

const configMaps = { group: '', resource: 'configmaps' };
const leases = { group: 'coordination.orch.io', resource: 'leases' };

/** Every constructor with its code, reason, message and details. */
const rows: readonly (readonly [
  StatusError,
  code: number,
  reason: string,
  message: string,
  details: Status['details'],
])[] = [
  [badRequest('no sense'), 400, 'BadRequest', 'no sense', undefined],
  [notFound(configMaps, 'a'), 404, 'NotFound', 'configmaps "a" not found', { name: 'a', kind: 'configmaps' }],
  [
    notFound(leases, 'a'),
    404,
    'NotFound',
    'leases.coordination.orch.io "a" not found',
    { name: 'a', group: 'coordination.orch.io', kind: 'leases' },
  ],
  [notFound(configMaps, ''), 404, 'NotFound', 'configmaps "" not found', { kind: 'configmaps' }],
  [noSuchPath(), 404, 'NotFound', 'the server could not find the requested resource', {}],
  [
    alreadyExists(leases, 'a'),
    409,
    'AlreadyExists',
    'leases.coordination.orch.io "a" already exists',
    { name: 'a', group: 'coordination.orch.io', kind: 'leases' },
  ],
  [
    conflict(configMaps, 'a', staleObject),
    409,
    'Conflict',
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    { name: 'a', kind: 'configmaps' },
  ],
  [expired('too old'), 410, 'Expired', 'too old', undefined],
  [
    tooLargeResourceVersion(20n, 10),
    504,
    'Timeout',
    'Timeout: Too large resource version: 20, current: 10',
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  ],
  [new StatusError('Forbidden', 'no'), 403, 'Forbidden', 'no', undefined],
  [new StatusError('Forbidden', 'no', { code: 409 }), 409, 'Forbidden', 'no', undefined],
];

for (const [error, code, reason, message, details] of rows) {
  test(`${code} ${reason}: ${message}`, () => {
    assert.ok(error instanceof Error);
    assert.deepEqual(error.toStatus(), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details && { details }),
      code,
    });
  });
}

test('names are quoted, so that client input cannot look like part of the message', () => {
  assert.equal(notFound(configMaps, 'a" not found\n').message, 'configmaps "a\\" not found\\n" not found');
});

test('methodNotAllowed lists the allowed methods', () => {
  const error = methodNotAllowed('not here', ['GET', 'HEAD']);
  assert.equal(error.code, 405);
  assert.deepEqual(error.headers, { allow: 'GET, HEAD' });
});

test('the cause of an internal error is not shown to the client', () => {
  const cause = new Error('the password is 1234');
  const error = internalError(cause);
  assert.equal(error.code, 500);
  assert.equal(error.cause, cause);
  assert.doesNotMatch(JSON.stringify(error.toStatus()), /1234/);
});

test('without a cause the property is absent', () => {
  assert.equal(Object.hasOwn(badRequest('x'), 'cause'), false);
});

describe('an object that is invalid', () => {
  const kind = { group: '', kind: 'ConfigMap' };

  test('with one error', () => {
    const error = invalidObject(kind, 'a', [required('metadata.name')]);
    assert.equal(error.code, 422);
    assert.equal(error.reason, 'Invalid');
    assert.equal(error.message, 'ConfigMap "a" is invalid: metadata.name: Required value');
    assert.deepEqual(error.details, {
      name: 'a',
      kind: 'ConfigMap',
      causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'metadata.name' }],
    });
  });

  test('of an allocation that failed: the cause has its message', () => {
    const { message, details } = allocationFailed(new Error('failed to allocate a nodePort'));
    assert.deepEqual(
      [message, details],
      [
        'Internal error occurred: failed to allocate a nodePort',
        { causes: [{ message: 'failed to allocate a nodePort' }] },
      ],
    );
  });

  test('with several errors: in the order of validation, each once', () => {
    const errors = [required('b', 'one'), invalid('a', 1, 'two'), required('b', 'one'), required('b', 'three')];
    const error = invalidObject({ group: 'coordination.orch.io', kind: 'Lease' }, '', errors);
    assert.equal(
      error.message,
      'Lease.coordination.orch.io "" is invalid: ' +
        '[b: Required value: one, a: Invalid value: 1: two, b: Required value: three]',
    );
    assert.deepEqual(
      error.details?.causes?.map(({ field, message }) => `${field} ${message}`),
      ['b Required value: one', 'a Invalid value: 1: two', 'b Required value: three'],
    );
    assert.deepEqual([error.details?.group, error.details?.name], ['coordination.orch.io', undefined]);
  });

  test('with very many errors: the response is bounded', () => {
    const errors = Array.from({ length: limits.findingsMax * 2 }, (_, index) => required(`f${index}`));
    assert.equal(invalidObject(kind, 'a', errors).details?.causes?.length, limits.findingsMax);
  });
});
