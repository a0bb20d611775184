import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EncodingMemo } from './encoding-memo.ts';

test('encoded forms of an event are cached by name', () => {
  const memo = new EncodingMemo(10_000);
  const [one, other] = [memo.forEvent(), memo.forEvent()];
  one.set('json', Buffer.from('a'));
  one.set('yaml', Buffer.from('b'));
  assert.deepEqual([one.get('json')?.toString(), one.get('yaml')?.toString()], ['a', 'b']);
  assert.deepEqual([one.get('table'), other.get('json')], [undefined, undefined]);
});

test('the encoded forms of all events share a limit, and the oldest are evicted', () => {
  const bytesMax = 100_000;
  const memo = new EncodingMemo(bytesMax);
  const events = Array.from({ length: 1_000 }, () => memo.forEvent());
  for (const event of events) {
    for (const name of ['json', 'yaml', 'protobuf']) event.set(name, Buffer.alloc(1_000));
    assert.ok(event.get('json') && event.get('protobuf'), 'what was encoded just now is there');
    assert.ok(memo.bytes <= bytesMax);
  }
  const kept = events.filter((event) => event.get('protobuf') !== undefined);
  assert.ok(kept.length > 10 && kept.length < 100, `${kept.length}`);
  assert.deepEqual(kept, events.slice(-kept.length));
});

test('a form larger than the limit is not cached', () => {
  const memo = new EncodingMemo(1_000);
  const event = memo.forEvent();
  event.set('json', Buffer.alloc(2_000));
  assert.deepEqual([event.get('json'), memo.bytes], [undefined, 0]);
});

test('an encoded form retains no memory that others share', () => {
  const memo = new EncodingMemo(1_000_000);
  const event = memo.forEvent();
  const all = [Buffer.from('short'), Buffer.from('x'.repeat(5_000)), Buffer.alloc(100_000, 'y').subarray(0, 10)];
  for (const [at, encoded] of all.entries()) {
    const name = `form ${at}`;
    event.set(name, encoded);
    const kept = event.get(name);
    assert.deepEqual(kept, encoded);
    assert.equal(kept?.buffer.byteLength, encoded.length);
  }
});
