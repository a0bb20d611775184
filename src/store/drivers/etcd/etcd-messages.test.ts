import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MalformedMessage } from '../../../base/protobuf-wire.ts';
import {
  compactMethod,
  decodeWatchResponse,
  encodeWatchRequest,
  guardedWritesMethod,
  putMethod,
  rangeMethod,
  statusMethod,
} from './etcd-messages.ts';
import { FakeMessage, keyValue, responseAt } from './fake-etcd-fixture.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const [a, b, c] = ['/a', '/b', '/c'].map(bytes) as [Uint8Array, Uint8Array, Uint8Array];

/** Encoded requests that a real etcd interpreted as intended. */
const requests: readonly (readonly [what: string, request: Buffer, hex: string])[] = [
  ['a range of one key', rangeMethod.encode({ key: a }), '0a022f61'],
  [
    'a range with all that it may have',
    rangeMethod.encode({ key: a, rangeEnd: b, limit: 500, revision: 2 ** 40 + 1, keysOnly: true, countOnly: true }),
    '0a022f6112022f6218f4032081808080802040014801',
  ],
  ['a put', putMethod.encode({ key: a, value: bytes('v'.repeat(200)) }), `0a022f6112c801${'76'.repeat(200)}`],
  ['a put of nothing', putMethod.encode({ key: a, value: bytes('') }), '0a022f61'],
  [
    'a creation',
    guardedWritesMethod.encode({ writes: [{ key: a, modRevision: 0, value: bytes('v') }] }),
    '0a0610021a022f61120912070a022f61120176',
  ],
  [
    'a write',
    guardedWritesMethod.encode({ writes: [{ key: a, modRevision: 3, value: bytes('v') }] }),
    '0a0810021a022f613003120912070a022f611201761a080a060a022f614001',
  ],
  [
    'writes with something beside them',
    guardedWritesMethod.encode({
      writes: [
        { key: a, modRevision: 300, value: bytes('v') },
        { key: b, modRevision: Number.MAX_SAFE_INTEGER },
        { key: c, modRevision: 0, value: bytes('') },
      ],
      beside: { key: bytes('/m'), value: bytes('id') },
    }),
    '0a0910021a022f6130ac020a0f10021a022f6230ffffffffffffff0f0a0610021a022f63120912070a022f6112017612061a040a022f62120612040a022f63' +
      '120a12080a022f6d120269641a080a060a022f6140011a080a060a022f6240011a080a060a022f634001',
  ],
  ['a compaction', compactMethod.encode({ revision: 7 }), '0807'],
  ['a question for the status', statusMethod.encode(undefined), ''],
  [
    'a watch of one key',
    encodeWatchRequest({ type: 'create', key: a, startRevision: 1 }),
    '0a0c0a022f611801200130014001',
  ],
  [
    'a watch of a range',
    encodeWatchRequest({ type: 'create', key: a, rangeEnd: b, startRevision: 2 ** 33 }),
    '0a140a022f6112022f62188080808020200130014001',
  ],
  ['a question for progress', encodeWatchRequest({ type: 'progress' }), '1a00'],
];
for (const [what, request, hex] of requests) {
  test(`the bytes of ${what}`, () => assert.equal(request.toString('hex'), hex));
}

test('a number that is no revision cannot be sent', () => {
  for (const revision of [-1, 1.5, 2 ** 53]) assert.throws(() => compactMethod.encode({ revision }), RangeError);
});

test('retained values do not share the bytes of their message', () => {
  const answer = responseAt(7)
    .message(2, keyValue({ key: '/a', value: 'v', modRevision: 5 }))
    .finish();
  const { records } = rangeMethod.decode(answer);
  answer.fill(0);
  const [record] = records;
  assert.deepEqual(record, {
    ...{ key: new Uint8Array(a), value: Uint8Array.of(118) },
    ...{ createRevision: 0, modRevision: 5, version: 0 },
  });
  assert.deepEqual([records[0]?.key.buffer.byteLength, records[0]?.value.buffer.byteLength], [2, 1]);
});

test('fields that the driver does not know are passed over, whatever their type', () => {
  const unknown = Buffer.from(`50${'ff'.repeat(9)}015901020304050607086202ffff6d01020304`, 'hex');
  const answer = Buffer.concat([unknown, responseAt(7).finish(), unknown, new FakeMessage().int64(4, 3).finish()]);
  assert.deepEqual(rangeMethod.decode(answer), { header: { revision: 7 }, records: [], count: 3 });
});

describe('a malformed response is refused', () => {
  const answers: Readonly<Record<string, string>> = {
    'a tag that is cut off': '80',
    'a varint that is cut off': '2080',
    'a message that is cut off': '1205',
    'a length beyond 2^53': '12ffffffffffffffff7f',
    'an integer of another wire type': '2200',
    'a message of another wire type': '1001',
    'an integer beyond 2^53': '208080808080808010',
    'a group': '0b0c',
  };
  for (const [what, hex] of Object.entries(answers)) {
    test(what, () => {
      assert.throws(() => rangeMethod.decode(Buffer.from(hex, 'hex')), MalformedMessage);
    });
  }

  test('of a watch', () => {
    assert.throws(() => decodeWatchResponse(Buffer.from('5a0108', 'hex')), MalformedMessage);
  });
});
