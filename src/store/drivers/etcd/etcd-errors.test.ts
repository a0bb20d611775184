import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { StoreErrorCode } from '../../store.ts';
import { isAnswerTooLarge, isServiceError, isTransient, reasonOf, toStoreError } from './etcd-errors.ts';

const failure = (code: status, details: string): ServiceError =>
  Object.assign(new Error(`${code} ${details}`), { code, details, metadata: new Metadata() });

describe('etcd errors', () => {
  const rows: readonly (readonly [status, string, StoreErrorCode, 'transient' | 'final'])[] = [
    [status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision has been compacted', 'compacted', 'final'],
    [status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision is a future revision', 'futureRevision', 'final'],
    [status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded', 'full', 'final'],
    [status.RESOURCE_EXHAUSTED, 'etcdserver: too many requests', 'unavailable', 'transient'],
    [status.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (3 vs. 2)', 'tooLarge', 'final'],
    [status.INVALID_ARGUMENT, 'etcdserver: request is too large', 'tooLarge', 'final'],
    [status.INVALID_ARGUMENT, 'etcdserver: key is not provided', 'unavailable', 'final'],
    [status.DATA_LOSS, 'etcdserver: corrupt cluster', 'corrupt', 'final'],
    [status.PERMISSION_DENIED, 'etcdserver: permission denied', 'unavailable', 'final'],
    [status.UNAUTHENTICATED, 'etcdserver: invalid auth token', 'unavailable', 'final'],
    [status.UNIMPLEMENTED, 'unknown service etcdserverpb.KV', 'unavailable', 'final'],
    [status.UNAVAILABLE, 'etcdserver: leader changed', 'unavailable', 'transient'],
    [status.UNAVAILABLE, 'Connection dropped', 'unavailable', 'transient'],
    [status.DEADLINE_EXCEEDED, 'Deadline exceeded', 'unavailable', 'transient'],
    [status.FAILED_PRECONDITION, 'etcdserver: not leader', 'unavailable', 'transient'],
    [status.INTERNAL, 'Received RST_STREAM with code 2', 'unavailable', 'transient'],
  ];
  for (const [code, details, expected, kind] of rows) {
    test(`${status[code]} ${details}: ${expected}, ${kind}`, () => {
      const error = toStoreError(failure(code, details), 'https://etcd-1:2379');
      assert.equal(error.code, expected);
      assert.match(error.message, /https:\/\/etcd-1:2379/);
      assert.ok(error.message.includes(details));
      assert.equal(isTransient(failure(code, details)), kind === 'transient');
    });
  }

  test('an answer beyond the limit of this client is told from a request beyond that of etcd', () => {
    const own = failure(status.RESOURCE_EXHAUSTED, 'Received message larger than max (70000000 vs 67108864)');
    assert.ok(isAnswerTooLarge(toStoreError(own, 'a')));
    const theirs = failure(status.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (3 vs. 2)');
    assert.ok(!isAnswerTooLarge(toStoreError(theirs, 'a')));
    assert.ok(!isAnswerTooLarge(new Error('other')));
  });

  test('only what gRPC failed with is a service error', () => {
    assert.ok(isServiceError(failure(status.UNKNOWN, '')));
    assert.ok(!isServiceError(Object.assign(new Error('file'), { code: 'ENOENT' })));
    assert.ok(!isServiceError(undefined));
  });

  test('the reason of a refused connection is what is left of the message', () => {
    const refused = 'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ';
    assert.equal(reasonOf(failure(status.UNAVAILABLE, refused)), 'connect ECONNREFUSED 127.0.0.1:1');
    const timed = 'No connection established. Last error: Failed to connect (2026-11-21T01:28:18.183Z)';
    assert.equal(reasonOf(failure(status.UNAVAILABLE, timed)), 'Failed to connect');
    assert.equal(reasonOf(failure(status.UNAVAILABLE, 'etcdserver: no leader')), 'etcdserver: no leader');
  });
});
