import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { StoreErrorCode } from '../../store.ts';
import { isAnswerTooLarge, isServiceError, isTransient, reasonOf, toStoreError, toWriteError } from './etcd-errors.ts';

const failure = (code: status, details: string): ServiceError =>
  Object.assign(new Error(`${code} ${details}`), { code, details, metadata: new Metadata() });

describe('etcd errors', () => {
  /** `sure`: a write that fails with this was not done. `doubt`: its outcome is unknown. */
  const rows: readonly (readonly [status, string, StoreErrorCode, 'transient' | 'final', 'sure' | 'doubt'])[] = [
    [status.OUT_OF_RANGE, 'etcdserver: mvcc: required revision has been compacted', 'compacted', 'final', 'sure'],
    [
      status.OUT_OF_RANGE,
      'etcdserver: mvcc: required revision is a future revision',
      'futureRevision',
      'final',
      'sure',
    ],
    [status.RESOURCE_EXHAUSTED, 'etcdserver: mvcc: database space exceeded', 'full', 'final', 'doubt'],
    [status.RESOURCE_EXHAUSTED, 'etcdserver: too many requests', 'unavailable', 'transient', 'sure'],
    [status.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (3 vs. 2)', 'tooLarge', 'final', 'sure'],
    [status.RESOURCE_EXHAUSTED, 'Received message larger than max (3 vs 2)', 'unavailable', 'final', 'doubt'],
    [status.RESOURCE_EXHAUSTED, 'Bandwidth exhausted or memory limit exceeded', 'unavailable', 'final', 'doubt'],
    [status.INVALID_ARGUMENT, 'etcdserver: request is too large', 'tooLarge', 'final', 'sure'],
    [status.INVALID_ARGUMENT, 'etcdserver: key is not provided', 'unavailable', 'final', 'sure'],
    [status.DATA_LOSS, 'etcdserver: corrupt cluster', 'corrupt', 'final', 'sure'],
    [status.PERMISSION_DENIED, 'etcdserver: permission denied', 'unavailable', 'final', 'sure'],
    [status.UNAUTHENTICATED, 'etcdserver: invalid auth token', 'unavailable', 'final', 'sure'],
    [status.UNIMPLEMENTED, 'unknown service etcdserverpb.KV', 'unavailable', 'final', 'sure'],
    [status.UNAVAILABLE, 'etcdserver: leader changed', 'unavailable', 'transient', 'doubt'],
    [status.UNAVAILABLE, 'etcdserver: request timed out', 'unavailable', 'transient', 'doubt'],
    [
      status.UNAVAILABLE,
      'etcdserver: request timed out, possibly due to previous leader failure',
      'unavailable',
      'transient',
      'doubt',
    ],
    [
      status.UNAVAILABLE,
      'etcdserver: request timed out, possibly due to connection lost',
      'unavailable',
      'transient',
      'doubt',
    ],
    [status.UNAVAILABLE, 'etcdserver: server stopped', 'unavailable', 'transient', 'doubt'],
    [status.UNAVAILABLE, 'etcdserver: no leader', 'unavailable', 'transient', 'sure'],
    [status.UNAVAILABLE, 'etcdserver: not capable', 'unavailable', 'transient', 'sure'],
    [status.UNAVAILABLE, 'etcdserver: rpc not supported for learner', 'unavailable', 'transient', 'sure'],
    [status.UNAVAILABLE, 'Connection dropped', 'unavailable', 'transient', 'doubt'],
    [status.UNAVAILABLE, 'Write failed with error EPIPE', 'unavailable', 'transient', 'doubt'],
    [status.UNAVAILABLE, 'Received HTTP status code 503', 'unavailable', 'transient', 'doubt'],
    [status.UNAVAILABLE, 'Stream refused by server', 'unavailable', 'transient', 'sure'],
    [status.UNAVAILABLE, 'No connection established. Last error: refused', 'unavailable', 'transient', 'sure'],
    [status.UNAVAILABLE, 'Name resolution failed for target dns:etcd:2379', 'unavailable', 'transient', 'sure'],
    [status.DEADLINE_EXCEEDED, 'Deadline exceeded after 10.000s,LB pick: 0.001s', 'unavailable', 'transient', 'doubt'],
    [
      status.DEADLINE_EXCEEDED,
      'Deadline exceeded after 10.000s,Waiting for LB pick',
      'unavailable',
      'transient',
      'sure',
    ],
    [status.DEADLINE_EXCEEDED, 'context deadline exceeded', 'unavailable', 'transient', 'doubt'],
    [status.CANCELLED, 'Call cancelled', 'unavailable', 'transient', 'doubt'],
    [status.CANCELLED, 'etcdserver: request cancelled', 'unavailable', 'transient', 'doubt'],
    [status.FAILED_PRECONDITION, 'etcdserver: not leader', 'unavailable', 'transient', 'doubt'],
    [status.UNKNOWN, 'raft proposal dropped', 'unavailable', 'transient', 'sure'],
    [status.UNKNOWN, 'something new', 'unavailable', 'transient', 'doubt'],
    [status.INTERNAL, 'Received RST_STREAM with code 2', 'unavailable', 'transient', 'doubt'],
    [status.INTERNAL, 'Failed to start HTTP/2 stream with error GOAWAY', 'unavailable', 'transient', 'sure'],
  ];
  for (const [code, details, expected, kind, write] of rows) {
    test(`${status[code]} ${details}: ${expected}, ${kind}; of a write: ${write}`, () => {
      const error = toStoreError(failure(code, details), 'https://etcd-1:2379');
      assert.equal(error.code, expected);
      assert.match(error.message, /https:\/\/etcd-1:2379/);
      assert.ok(error.message.includes(reasonOf(failure(code, details))));
      assert.equal(isTransient(failure(code, details)), kind === 'transient');
      const lost = toWriteError(failure(code, details), 'https://etcd-1:2379');
      assert.equal(lost.code, write === 'sure' ? expected : 'unknownOutcome');
      assert.ok(lost.message.includes(reasonOf(failure(code, details))));
    });
  }

  test('a response above the limit of this client is distinguished from a request above the limit of etcd', () => {
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

  test('a reason that flags can mend names them', () => {
    const empty = failure(status.INVALID_ARGUMENT, 'etcdserver: user name is empty');
    const { message } = toStoreError(empty, 'https://etcd-1:2379');
    assert.match(
      message,
      /^etcd at https:\/\/etcd-1:2379: etcd has users .*: --etcd-certfile .*\(etcdserver: user name is empty\)$/,
    );
  });

  test('the reason of a refused connection omits what gRPC adds', () => {
    const refused = 'No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: ';
    assert.equal(reasonOf(failure(status.UNAVAILABLE, refused)), 'connect ECONNREFUSED 127.0.0.1:1');
    const timed = 'No connection established. Last error: Failed to connect (2026-11-21T01:28:18.183Z)';
    assert.equal(reasonOf(failure(status.UNAVAILABLE, timed)), 'Failed to connect');
    assert.equal(reasonOf(failure(status.UNAVAILABLE, 'etcdserver: no leader')), 'etcdserver: no leader');
    const untold =
      'No connection established. Last error: 4003AE:error:0A00042E:SSL routines:ssl3_read_bytes:tlsv1 alert protocol version:' +
      '../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 70\n (2026-11-30T02:45:57.715Z). Resolution note: ';
    assert.equal(reasonOf(failure(status.UNAVAILABLE, untold)), 'tlsv1 alert protocol version');
  });
});
