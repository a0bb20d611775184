import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { cacheHealth } from './cache-health.ts';
import type { StoreProbe } from './store-health.ts';

const max = limits.cacheBehindMsMax;

/** The cache's revision, and for how long it has lost the changes. */
type Cached = number | { readonly revision: number; readonly lostMs: number };

/** One look: the time since the one before, the cache's revision, the store's head or problem, and what is expected. */
type Look = readonly [afterMs: number, cache: Cached, store: number | 'unavailable', problem?: RegExp];

const notLoaded = /^the cache is not loaded$/;
const behind = (revision: number, seconds: number): RegExp =>
  new RegExp(`^the cache has not reached revision ${revision} of the store for ${seconds} s$`);

const lost = (seconds: number): RegExp => new RegExp(`^the store's changes cannot be followed for ${seconds} s$`);

const rows: Readonly<Record<string, readonly Look[]>> = {
  'a cache that is not loaded': [
    [0, 0, 5, notLoaded],
    [1, 0, 'unavailable', notLoaded],
    [1, 5, 5],
  ],
  'a cache in step': [
    [0, 5, 5],
    [max + 1, 9, 9],
    [max + 1, 9, 9],
  ],
  'a cache that is ahead of what the probe saw': [
    [0, 6, 5],
    [max + 1, 7, 5],
  ],
  'a cache that is always a little behind': [
    [0, 5, 6],
    [max + 1, 6, 7],
    [max + 1, 7, 8],
    [max, 7, 9],
  ],
  'a cache that stands still': [
    [0, 5, 6],
    [max, 5, 7],
    [1, 5, 8, behind(6, 10)],
    [5_000, 5, 8, behind(6, 15)],
    [0, 6, 8],
    [max, 6, 8],
    [1, 6, 8, behind(8, 10)],
    [0, 8, 8],
  ],
  'a cache that has lost the changes, at the first look': [[0, { revision: 5, lostMs: max + 1 }, 6, lost(10)]],
  'a cache that has lost the changes just now': [
    [0, { revision: 5, lostMs: max }, 5],
    [1, 6, 6],
  ],
  'a cache that has lost the changes of a store that does not answer': [
    [0, { revision: 5, lostMs: max + 1 }, 'unavailable'],
    [1, { revision: 5, lostMs: max + 2 }, 5, lost(10)],
  ],
  'a store that does not answer is no problem of the cache': [
    [0, 5, 'unavailable'],
    [max + 1, 5, 'unavailable'],
    [0, 5, 6],
    [max + 1, 5, 'unavailable', behind(6, 10)],
    [0, 6, 'unavailable'],
  ],
};

for (const [what, looks] of Object.entries(rows)) {
  test(what, async () => {
    const clock = new ManualClock();
    const cache: Parameters<typeof cacheHealth>[0]['cache'] & { revision: number; lostSinceMs: number | undefined } = {
      revision: 0,
      lostSinceMs: undefined,
    };
    let answer: Awaited<ReturnType<StoreProbe>> = { head: 0 };
    const health = cacheHealth({ cache, clock, probe: async () => answer });
    for (const [index, [afterMs, cached, store, expected]] of looks.entries()) {
      clock.advance(afterMs);
      const { revision, lostMs } = typeof cached === 'number' ? { revision: cached, lostMs: undefined } : cached;
      cache.revision = revision;
      cache.lostSinceMs = lostMs === undefined ? undefined : clock.monotonic() - lostMs;
      answer = typeof store === 'number' ? { head: store } : { problem: store };
      const problem = await health();
      if (expected) assert.match(problem ?? 'none', expected, `look ${index}`);
      else assert.equal(problem, undefined, `look ${index}`);
    }
  });
}
