import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { boundedMemo } from '../base/collections/bounded-memo.ts';
import { limits } from '../base/limits.ts';
import { acceptsGzip, gzipWhole } from './gzip.ts';

describe('Accept-Encoding', () => {
  const rows: readonly (readonly [header: string, accepted: boolean])[] = [
    ['gzip', true],
    ['GZIP', true],
    ['x-gzip', true],
    ['deflate, gzip;q=1.0, *;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.0', false],
    ['gzip;q=0, *', false],
    ['*', true],
    ['*;q=0', false],
    ['br, deflate', false],
    ['identity', false],
    ['', false],
  ];
  for (const [header, accepted] of rows) {
    it(`${JSON.stringify(header)}: ${accepted ? 'gzip' : 'as it is'}`, () =>
      assert.equal(acceptsGzip(header), accepted));
  }
});

describe('gzipWhole', () => {
  for (const length of [0, 1, 1023, 1024, 1025, 60_000]) {
    it(`gives back ${length} bytes`, () => {
      const body = randomBytes(length);
      assert.deepEqual(gunzipSync(gzipWhole(body)), body);
    });
  }
  it('caches repeated bodies and evicts them in time', () => {
    const body = randomBytes(5_000);
    gzipWhole(body);
    const second = gzipWhole(body);
    assert.equal(gzipWhole(body), second);
    for (let bytes = 0; bytes < limits.gzipKeptBytesMax; bytes += 120_000) {
      const other = randomBytes(60_000);
      for (let round = 0; round < 2; round += 1) gzipWhole(other);
    }
    assert.notEqual(gzipWhole(body), second);
    assert.deepEqual(gunzipSync(gzipWhole(body)), body);
  });
  it('compresses text', () => assert.ok(gzipWhole(Buffer.alloc(4096, 'abc')).length < 100));
});

describe('boundedMemo', () => {
  it('caches results and evicts the oldest', () => {
    let made = 0;
    const memo = boundedMemo((text) => `${text}${made++}`, { countMax: 4, lengthMax: 3 });
    assert.equal(memo('a'), 'a0');
    assert.equal(memo('a'), 'a0');
    for (const text of ['b', 'c', 'd', 'e']) memo(text);
    assert.equal(memo('e'), 'e4');
    assert.equal(memo('a'), 'a5');
    assert.notEqual(memo('long'), memo('long'));
  });
});
