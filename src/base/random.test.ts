import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from './random.ts';

test('UUIDs are of version 4, in lower case, and all different (RFC 9562 section 5.4)', () => {
  const made = Array.from({ length: 100 }, () => systemRandom.uuid());
  for (const uuid of made) assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(made).size, made.length);
});

test('as many bytes as are asked for, other ones each time', () => {
  for (const count of [0, 1, 16, 1_000]) assert.equal(systemRandom.bytes(count).length, count);
  assert.notDeepEqual(systemRandom.bytes(32), systemRandom.bytes(32));
});
