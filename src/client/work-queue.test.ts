import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { silentLogger } from '../base/logger.ts';
import { Metrics } from '../base/metrics.ts';
import { noJitter } from '../base/time/backoff-fixture.ts';
import { ManualClock } from '../base/time/clock.ts';
import { WorkQueue } from './work-queue.ts';
import { WorkQueueMetrics } from './work-queue-metrics.ts';

/** A queue whose work items are completed by the test. */
class Workshop {
  readonly clock = new ManualClock();
  readonly started: string[] = [];
  readonly #running = new Map<string, PromiseWithResolvers<void>>();
  readonly metrics = new Metrics();
  readonly queue: WorkQueue<string>;

  constructor(parallel = 10) {
    this.queue = new WorkQueue({
      clock: this.clock,
      random: noJitter,
      logger: silentLogger,
      name: 'shop',
      queueMetrics: new WorkQueueMetrics(this.metrics),
      parallel,
      work: (item) => {
        assert.ok(!this.#running.has(item), `${item} is worked on twice at once`);
        this.started.push(item);
        const running = Promise.withResolvers<void>();
        this.#running.set(item, running);
        return running.promise;
      },
    });
  }

  async end(item: string, how: 'done' | 'failed' = 'done'): Promise<void> {
    const running = this.#running.get(item);
    assert.ok(running, `${item} is worked on`);
    this.#running.delete(item);
    if (how === 'done') running.resolve();
    else running.reject(new Error('failed'));
    await turn();
  }
}

describe('the work queue', () => {
  it('processes items in order, up to the limit at once', async () => {
    const shop = new Workshop(2);
    for (const item of ['a', 'b', 'c', 'd']) shop.queue.add(item);
    assert.deepEqual(shop.started, ['a', 'b']);
    await shop.end('b');
    assert.deepEqual(shop.started, ['a', 'b', 'c']);
    await shop.end('a');
    assert.deepEqual(shop.started, ['a', 'b', 'c', 'd']);
    assert.equal(shop.queue.size, 2);
  });

  it('processes an item once if it is added again while it waits', async () => {
    const shop = new Workshop(1);
    for (const item of ['a', 'b', 'b', 'b']) shop.queue.add(item);
    await shop.end('a');
    await shop.end('b');
    assert.deepEqual(shop.started, ['a', 'b']);
    assert.equal(shop.queue.size, 0);
  });

  it('processes an item once more if it is added, any number of times, while being processed', async () => {
    const shop = new Workshop();
    for (let times = 0; times < 3; times++) shop.queue.add('a');
    await shop.end('a');
    assert.deepEqual(shop.started, ['a', 'a']);
    await shop.end('a');
    assert.deepEqual(shop.started, ['a', 'a']);
  });

  it('retries failures with pauses that double up to a minute', async () => {
    const shop = new Workshop();
    shop.queue.add('a');
    const pauses: number[] = [];
    for (let failures = 1; failures <= 16; failures++) {
      const before = shop.clock.now();
      await shop.end('a', 'failed');
      while (shop.started.length === failures) {
        assert.ok(shop.clock.now() - before <= 60_000, `the failure ${failures} is not repeated`);
        shop.clock.advance(5);
      }
      pauses.push(shop.clock.now() - before);
    }
    assert.deepEqual(pauses.slice(0, 5), [5, 10, 20, 40, 80]);
    assert.deepEqual(pauses.slice(-3), [40_960, 60_000, 60_000]);
  });

  it('starts again with short pauses after a success', async () => {
    const shop = new Workshop();
    shop.queue.add('a');
    for (const pause of [5, 10]) {
      await shop.end('a', 'failed');
      shop.clock.advance(pause);
    }
    await shop.end('a');
    shop.queue.add('a');
    await shop.end('a', 'failed');
    shop.clock.advance(5);
    assert.equal(shop.started.length, 5);
  });

  it('does not let a failing item delay the others', async () => {
    const shop = new Workshop(1);
    for (const item of ['a', 'b']) shop.queue.add(item);
    await shop.end('a', 'failed');
    assert.deepEqual(shop.started, ['a', 'b']);
  });

  it('forgets a later addition and the failures of an item that is gone', async () => {
    const shop = new Workshop();
    shop.queue.addAfter('a', 100);
    shop.queue.forget('a');
    assert.equal(shop.clock.pending, 0);
    shop.queue.add('b');
    await shop.end('b', 'failed');
    shop.queue.forget('b');
    assert.equal(shop.queue.size, 0);
    shop.clock.advance(100);
    assert.deepEqual(shop.started, ['b']);
    shop.queue.add('b');
    await shop.end('b', 'failed');
    shop.clock.advance(5);
    assert.deepEqual(shop.started, ['b', 'b', 'b']);
    shop.queue.forget('nobody');
  });

  for (const delays of [
    [100, 50],
    [50, 100],
    [50, 50],
  ]) {
    it(`adds an item once, after the shortest of its delays: ${delays}`, () => {
      const shop = new Workshop();
      for (const delay of delays) shop.queue.addAfter('a', delay);
      shop.clock.advance(49);
      assert.deepEqual(shop.started, []);
      shop.clock.advance(1);
      assert.deepEqual(shop.started, ['a']);
      assert.equal(shop.clock.pending, 0);
    });
  }

  it('starts nothing after close, and leaves no timer', async () => {
    const shop = new Workshop(1);
    for (const item of ['a', 'b']) shop.queue.add(item);
    shop.queue.add('a');
    shop.queue.addAfter('c', 10);
    shop.queue.close();
    shop.queue.close();
    assert.equal(shop.clock.pending, 0);
    await shop.end('a', 'failed');
    shop.queue.add('d');
    shop.queue.addAfter('d', 1);
    assert.equal(shop.clock.pending, 0);
    assert.deepEqual(shop.started, ['a']);
  });
});

describe('metrics of a work queue', () => {
  it('show what waits, what is in progress, and for how long', async () => {
    const shop = new Workshop(1);
    const shown = (name: string): number => {
      const series = new RegExp(`^workqueue_${name}\\{name="shop"\\} (.*)$`, 'm').exec(shop.metrics.render());
      return Number(series?.[1]);
    };
    const all = (...names: readonly string[]): readonly number[] => names.map(shown);
    const now = ['depth', 'unfinished_work_seconds', 'longest_running_processor_seconds'];
    const totals = ['adds_total', 'retries_total', 'queue_duration_seconds_sum', 'work_duration_seconds_sum'];
    for (const item of ['a', 'b', 'b', 'a', 'a']) shop.queue.add(item);
    shop.clock.advance(2_000);
    assert.deepEqual(all(...now), [2, 2, 2]);
    // The second `a` waits for the first.
    assert.deepEqual(all(...totals), [3, 0, 0, 0]);
    await shop.end('a');
    assert.deepEqual(all(...totals), [3, 0, 2, 2]);
    shop.clock.advance(3_000);
    assert.deepEqual(all(...now), [1, 3, 3]);
    await shop.end('b', 'failed');
    assert.deepEqual(all(...totals), [3, 1, 7, 5]);
    await shop.end('a');
    assert.deepEqual(all(...now), [0, 0, 0]);
    shop.clock.advance(5);
    assert.deepEqual(all('adds_total', 'work_duration_seconds_count'), [4, 3]);
    shop.queue.close();
    assert.deepEqual(all(...now), [0, 0, 0]);
  });
});
