import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../base/limits.ts';
import type { ListOptions, Page, StoreRecord } from '../store/store.ts';
import { readPages } from './load.ts';

/** A store with so many records of so many bytes, and how long the pages were that it was asked for. */
function storeOf(count: number, bytes: number) {
  const asked: number[] = [];
  const all = Array.from({ length: count }, (_, at) => `/${String(at).padStart(6, '0')}`);
  return {
    asked,
    list: async (_prefix: string, { after = '', limit = 0 }: ListOptions = {}): Promise<Page> => {
      asked.push(limit);
      const rest = all.filter((key) => key > after);
      const value = Buffer.alloc(bytes);
      const records = rest.slice(0, limit).map((key): StoreRecord => ({ key, value, revision: 1 }));
      return { records, revision: 1, remaining: rest.length - records.length };
    },
  };
}

const first = limits.cacheFirstPageMax;

/** Records, bytes of each, and the pages after the first one. */
const cases: readonly (readonly [count: number, bytes: number, pages: (limit: number) => boolean])[] = [
  [0, 0, () => false],
  [first, 10, () => false],
  [5_000, 100, (limit) => limit === limits.cacheLoadPageMax],
  [500, limits.cacheLoadPageBytes / 20, (limit) => limit >= 15 && limit <= 20],
  [first + 3, limits.cacheLoadPageBytes * 2, (limit) => limit === 1],
];

for (const [count, bytes, isExpected] of cases) {
  test(`pages are bounded in bytes: ${count} records of ${bytes} bytes`, async () => {
    const store = storeOf(count, bytes);
    const seen: string[] = [];
    for await (const records of readPages(store, '/', 1)) seen.push(...records.map(({ key }) => key));
    assert.equal(seen.length, count);
    assert.deepEqual(seen, seen.toSorted(), 'in order');
    const [limit, ...others] = store.asked;
    assert.equal(limit, first);
    assert.ok(others.every(isExpected), others.join(', '));
    assert.equal(others.length > 0, count > first);
  });
}
