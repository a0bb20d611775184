import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CompiledOnce } from '../admission/matching/compiled-once.ts';
import { loadedOnce } from './loaded-once.ts';
import { Metrics } from './metrics.ts';
import { systemClock } from './time/clock.ts';

/** Ways to share what is in progress: each fails the first time. */
const places: Readonly<Record<string, (work: () => Promise<void>) => () => Promise<unknown>>> = {
  loadedOnce,
  CompiledOnce: (work) => {
    const compiled = new CompiledOnce(work);
    return async () => compiled.get(systemClock);
  },
  'Metrics.refresh': (work) => {
    const metrics = new Metrics();
    metrics.onRefresh(work);
    return () => metrics.refresh();
  },
};

describe('a failure is told to all who wait for it, and not kept', () => {
  for (const [name, share] of Object.entries(places)) {
    it(name, async () => {
      let calls = 0;
      const get = share(async () => {
        calls++;
        if (calls === 1) throw new Error('too many open files');
      });
      const settled = await Promise.allSettled([get(), get()]);
      assert.deepEqual([...settled.map(({ status }) => status), calls], ['rejected', 'rejected', 1]);
      await Promise.all([get(), get()]);
      assert.equal(calls, 2);
    });
  }
});

it('what was loaded is kept', async () => {
  let calls = 0;
  const get = loadedOnce(async () => ++calls);
  assert.deepEqual([await get(), await get()], [1, 1]);
});
