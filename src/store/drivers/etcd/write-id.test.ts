import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../../base/random.ts';
import { isWrittenBy, WriteIds, withoutWriteId, withWriteId } from './write-id.ts';

test('any value comes back as it was, and knows the write that made it', () => {
  const ids = new WriteIds(systemRandom);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (value) => {
      const [id, other] = [ids.next(), ids.next()];
      const kept = withWriteId(value, id);
      assert.deepEqual(Buffer.from(withoutWriteId(kept)), Buffer.from(value));
      assert.ok(isWrittenBy(kept, id));
      assert.ok(!isWrittenBy(kept, other));
    }),
  );
});

test('a value that ends like one with an id keeps what is its own', () => {
  const ids = new WriteIds(systemRandom);
  const value = withWriteId(Buffer.from('{}'), ids.next());
  assert.deepEqual(withoutWriteId(withWriteId(value, ids.next())), value);
});

test('values without an id, as older versions and others write them, are left as they are', () => {
  for (const text of [
    '',
    '{}',
    '{"a": 1}\n',
    `{}\n${' '.repeat(63)}`,
    `{}\n${' '.repeat(65)}`,
    `\n${' '.repeat(63)}x`,
  ]) {
    assert.equal(Buffer.from(withoutWriteId(Buffer.from(text))).toString(), text);
    assert.ok(!isWrittenBy(Buffer.from(text), new WriteIds(systemRandom).next()));
  }
});

test('readers of JSON pass over the id', () => {
  const kept = withWriteId(Buffer.from('{"a":1}'), new WriteIds(systemRandom).next());
  assert.deepEqual(JSON.parse(Buffer.from(kept).toString()), { a: 1 });
});

test('no two ids are the same', () => {
  const stores = [new WriteIds(systemRandom), new WriteIds(systemRandom)];
  const ids = stores.flatMap((each) => Array.from({ length: 70_000 }, () => Buffer.from(each.next()).toString()));
  assert.equal(new Set(ids).size, ids.length);
});
