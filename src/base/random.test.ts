import assert from 'node:assert/strict';
import { test } from 'node:test';
import { derivedRandom, nameSuffix, randomSeedBytes, seededRandom, systemRandom } from './random.ts';

test('UUIDs are of version 4, in lower case, and all different (RFC 9562 section 5.4)', () => {
  const made = Array.from({ length: 100 }, () => systemRandom.uuid());
  for (const uuid of made) assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(made).size, made.length);
});

test('returns the requested number of bytes, different each time', () => {
  for (const count of [0, 1, 16, 1_000]) assert.equal(systemRandom.bytes(count).length, count);
  assert.notDeepEqual(systemRandom.bytes(32), systemRandom.bytes(32));
});

test('bytes handed out are never handed out again, whatever the caller does with them', () => {
  const taken = Array.from({ length: 1_000 }, () => systemRandom.bytes(16));
  const texts = taken.map((bytes) => Buffer.from(bytes).toString('hex'));
  assert.equal(new Set(texts).size, texts.length);
  assert.equal(new Set(taken.map(({ buffer }) => buffer)).size, taken.length, 'each has memory of its own');
  for (const bytes of taken) bytes.fill(0);
  assert.notDeepEqual(systemRandom.bytes(16), new Uint8Array(16));
});

test('a name suffix is five characters that form no words, one per byte', () => {
  const of = (...bytes: readonly number[]): string =>
    nameSuffix({ uuid: () => '', bytes: (count) => Uint8Array.from(bytes.slice(0, count)) });
  assert.equal(of(0, 1, 2, 3, 4), 'bcdfg');
  assert.equal(of(26, 27, 255, 0, 0), '9bqbb');
  for (let made = 0; made < 100; made++) assert.match(nameSuffix(systemRandom), /^[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test('derived bytes depend only on the seed, not on how they are requested', () => {
  const seed = Buffer.alloc(randomSeedBytes, 1);
  const whole = derivedRandom(seed).bytes(100);
  const random = derivedRandom(seed);
  const parts = [7, 0, 32, 50, 11].map((count) => random.bytes(count));
  assert.deepEqual(Buffer.concat(parts), Buffer.from(whole));
  assert.notDeepEqual(derivedRandom(Buffer.alloc(randomSeedBytes, 2)).bytes(100), whole);
  const uuids = Array.from({ length: 100 }, () => random.uuid());
  assert.equal(new Set(uuids).size, 100);
  for (const uuid of uuids) assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('a seed gives the same values each time, and another seed others', () => {
  const values = (seed: number): readonly unknown[] => {
    const random = seededRandom(seed);
    return [random.uuid(), ...random.bytes(64), random.uuid()];
  };
  assert.deepEqual(values(7), values(7));
  assert.notDeepEqual(values(7), values(8));
  for (let seed = 0; seed < 100; seed++) {
    assert.match(seededRandom(seed).uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  assert.ok(new Set(seededRandom(1).bytes(4_096)).size > 250, 'all bytes come');
});
