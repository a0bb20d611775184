import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import fc from 'fast-check';
import { limits } from '../../../base/limits.ts';
import { Metrics } from '../../../base/metrics.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { orch } from '../../../dialect/orch.ts';
import { StatusError } from '../../../meta/status-error.ts';
import { initialConfiguration } from './flow-configuration.ts';
import { flowMetrics } from './flow-metrics.ts';
import type { FlowSchema } from './flow-schemas.ts';
import { type PriorityLevel, seatBounds } from './priority-levels.ts';
import { SeatPool } from './seat-pool.ts';
import { SharedLimits } from './tenant.ts';
import type { Seat } from './tenant-queue.ts';
import type { Flow } from './ticket.ts';

const waitMsMax = 15_000;
let clock: ManualClock;
let metrics: Metrics;
let shared: SharedLimits;
beforeEach(() => {
  clock = new ManualClock();
  metrics = new Metrics();
  shared = new SharedLimits();
});

/** Those that have seats of their own, as they are at the first start. */
const priorityLevels = initialConfiguration(orch).levels.filter(({ name }) => name !== 'exempt');
const levels = priorityLevels.map((level) => ({ ...level, waitingMax: limits.waitingPerLevelMax }));

const poolOf = (max: number, of: readonly PriorityLevel[] = levels): SeatPool =>
  new SeatPool({ clock, max, waitMsMax, metrics: flowMetrics(metrics), levels: of });

const guaranteedSeats = (name: string, max: number): number => seatBounds(levels, max).get(name)?.lower ?? 0;

const flow = (tenant: string, { level = 'global-default', key = tenant }: Partial<FlowAt> = {}): Flow => ({
  schema: { name: `${level}-schema`, level, distinguisher: 'user' },
  tenant: shared.tenant(tenant),
  key,
});
interface FlowAt {
  readonly level: FlowSchema['level'];
  readonly key: string;
}

/** Takes seats until none is free. */
function takeAll(pool: SeatPool, of: Flow): Seat[] {
  const seats: Seat[] = [];
  for (let seat = pool.tryAcquire(of); seat; seat = pool.tryAcquire(of)) seats.push(seat);
  return seats;
}

/** Waits, and adds its name to `served` when it gets a seat. */
function waitIn(pool: SeatPool, of: Flow, served: string[], name = of.key): void {
  assert.ok(!pool.tryAcquire(of), `${name} need not wait`);
  pool.wait(of, never).then(() => served.push(name));
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const tooMany = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 429 && error.details?.retryAfterSeconds === 1;
const never = new AbortController().signal;
const guaranteedInAll = (max: number): number =>
  priorityLevels.reduce((sum, { name }) => sum + guaranteedSeats(name, max), 0);

describe('seats', () => {
  test('are granted at once while some are free', () => {
    const pool = poolOf(200);
    const seat = pool.tryAcquire(flow('a'));
    assert.ok(seat);
    assert.equal(pool.inFlight, 1);
    seat.release();
    assert.equal(pool.inFlight, 0);
  });

  test('one tenant gets half of what its level could use, and the next finds free ones', () => {
    const pool = poolOf(200);
    const own = guaranteedSeats('global-default', 200);
    const couldHave = 200 - guaranteedInAll(200) + own;
    assert.equal(takeAll(pool, flow('flood')).length, Math.ceil(couldHave / 2));
    assert.ok(pool.tryAcquire(flow('other')));
    assert.ok(takeAll(pool, flow('third')).length > 10);
  });

  test('many users of one tenant have the share of one', () => {
    const pool = poolOf(200);
    takeAll(pool, flow('flood', { key: 'u0' }));
    for (let user = 1; user < 100; user++) assert.equal(pool.tryAcquire(flow('flood', { key: `u${user}` })), undefined);
    assert.ok(pool.tryAcquire(flow('other')));
  });

  test('guaranteed to a level are not taken by others', () => {
    const pool = poolOf(200);
    for (let tenant = 0; tenant < 1_000; tenant++) takeAll(pool, flow(`sybil ${tenant}`));
    for (const level of priorityLevels) {
      const all = Array.from({ length: 1_000 }, (_, n) => takeAll(pool, flow(`own ${n}`, { level: level.name })));
      const free = level.name === 'global-default' ? 0 : guaranteedSeats(level.name, 200);
      assert.equal(all.flat().length, free, level.name);
    }
    assert.equal(pool.inFlight, 200);
  });

  test('are unlimited for exempt requests, which take none from others', () => {
    const pool = poolOf(10);
    const exempt = Array.from({ length: 100 }, () => pool.tryAcquire(flow('root', { level: 'exempt' })));
    assert.ok(exempt.every((seat) => seat !== undefined));
    assert.ok(takeAll(pool, flow('a')).length > 0);
    for (const seat of exempt) seat?.release();
    assert.ok(pool.tryAcquire(flow('root', { level: 'exempt' })));
  });

  test('are unlimited without a limit', () => {
    const pool = poolOf(0);
    for (let n = 0; n < 10_000; n++) assert.ok(pool.tryAcquire(flow('a')));
  });

  test('a limit of one works', async () => {
    const pool = poolOf(1);
    const served: string[] = [];
    const seat = pool.tryAcquire(flow('a'));
    waitIn(pool, flow('b'), served);
    seat?.release();
    await settle();
    assert.deepEqual(served, ['b']);
    assert.equal(pool.inFlight, 1);
  });
});

describe('a waiting request', () => {
  test('is served in turn: a second tenant does not wait for the queue of the first', async () => {
    const pool = poolOf(8);
    const served: string[] = [];
    const seats = ['flood', 'more', 'still more', 'all'].flatMap((tenant) => takeAll(pool, flow(tenant)));
    assert.equal(seats.length, 8);
    for (let n = 0; n < 100; n++) waitIn(pool, flow('flood'), served);
    for (let n = 0; n < 3; n++) waitIn(pool, flow('late'), served);
    const countOf = (name: string): number => served.filter((each) => each === name).length;
    while (countOf('late') < 3) {
      const seat = seats.shift();
      assert.ok(seat, `all have left, and served were ${served.join(' ')}`);
      seat.release();
      await settle();
    }
    assert.ok(countOf('flood') <= 4, served.join(' '));
    assert.ok(pool.waiting >= 96);
  });

  test('is served flow by flow within a tenant, and in order within a flow', async () => {
    const pool = poolOf(2);
    const served: string[] = [];
    const seat = pool.tryAcquire(flow('t'));
    for (const [key, name] of [
      ['x', 'x1'],
      ['x', 'x2'],
      ['x', 'x3'],
      ['y', 'y1'],
      ['z', 'z1'],
      ['y', 'y2'],
    ] as const) {
      waitIn(pool, flow('t', { key }), served, name);
    }
    for (let n = 0; n < 6; n++) {
      seat?.release();
      await settle();
    }
    assert.deepEqual(served, ['x1', 'y1', 'z1', 'x2', 'y2', 'x3']);
  });

  test('of the level with the lowest load for its shares is served first', async () => {
    const pool = poolOf(3);
    const served: string[] = [];
    const enter = (level: string): Seat | undefined => pool.tryAcquire(flow(`in ${level}`, { level }));
    const [, , seat] = [enter('catch-all'), enter('workload-low'), enter('system')];
    for (const level of ['catch-all', 'workload-low'] as const) waitIn(pool, flow(level, { level }), served);
    seat?.release();
    await settle();
    assert.deepEqual(served, ['workload-low'], 'one seat of 100 shares is less than one of 5');
  });

  test('is refused with 429 when it takes too long', async () => {
    const pool = poolOf(1);
    pool.tryAcquire(flow('a'));
    const late = assert.rejects(pool.wait(flow('b'), never), tooMany);
    clock.advance(waitMsMax + 1_000);
    await late;
    assert.equal(pool.waiting, 0);
    assert.match(metrics.render(), /rejected_requests_total\{.*priority_level="global-default",reason="time-out"\} 1/);
  });

  test('is refused at once if too many of its tenant wait; others are not', async () => {
    const pool = poolOf(1);
    pool.tryAcquire(flow('a'));
    const waiting = Array.from({ length: limits.waitingPerLevelMax / 2 }, () => pool.wait(flow('flood'), never));
    await assert.rejects(pool.wait(flow('flood'), never), tooMany);
    assert.match(metrics.render(), /rejected_requests_total\{.*reason="queue-full"\} 1/);
    const other = assert.rejects(pool.wait(flow('other'), never), tooMany);
    assert.equal(pool.waiting, waiting.length + 1);
    clock.advance(waitMsMax + 1_000);
    await Promise.all([other, ...waiting.map((each) => assert.rejects(each, tooMany))]);
  });

  test('that is cancelled is removed', async () => {
    const pool = poolOf(1);
    const served: string[] = [];
    const seat = pool.tryAcquire(flow('a'));
    const gone = new AbortController();
    const reason = new Error('gone');
    const waiting = assert.rejects(pool.wait(flow('b'), gone.signal), reason);
    waitIn(pool, flow('c'), served);
    gone.abort(reason);
    await waiting;
    await assert.rejects(pool.wait(flow('b'), gone.signal), reason, 'gone before it came');
    seat?.release();
    await settle();
    assert.deepEqual(served, ['c']);
    assert.match(metrics.render(), /rejected_requests_total\{.*reason="cancelled"\} 1/);
  });

  test('leaves no timer behind', async () => {
    const pool = poolOf(1);
    pool.tryAcquire(flow('a'));
    const waiting = assert.rejects(pool.wait(flow('b'), never), tooMany);
    clock.advance(2 * waitMsMax);
    await waiting;
    assert.equal(clock.pending, 0);
    void pool.wait(flow('b'), never);
    pool.close();
    assert.equal(clock.pending, 0);
  });
});

describe('a pool is stalled', () => {
  test('from the first wait until a seat is released', () => {
    const pool = poolOf(1);
    const seat = pool.tryAcquire(flow('a'));
    clock.advance(60_000);
    assert.equal(pool.stalledMs, 0, 'nobody waits');
    pool.wait(flow('b'), never).catch(() => {});
    clock.advance(20_000);
    assert.equal(pool.stalledMs, 20_000, 'although the one that waited was refused meanwhile');
    seat?.release();
    assert.equal(pool.stalledMs, 0);
  });

  test('again if the next request does not end', () => {
    const pool = poolOf(1);
    const seat = pool.tryAcquire(flow('a'));
    for (const name of ['b', 'c']) pool.wait(flow(name), never).catch(() => {});
    clock.advance(5_000);
    seat?.release();
    assert.equal(pool.stalledMs, 0);
    clock.advance(5_000);
    assert.equal(pool.stalledMs, 5_000);
  });
});

describe('seats that are shared out anew', () => {
  const level = (name: string, shares: number, lendable = 0, waitingMax = 10) => ({
    ...{ name, shares, lendable, waitingMax },
    borrowable: Number.POSITIVE_INFINITY,
  });
  const last = level('catch-all', 1);

  test('are given back as those who hold too many leave', () => {
    const pool = poolOf(10, [level('a', 9, 1), last]);
    const held = ['t', 'u', 'v', 'w', 'x', 'y', 'z'].flatMap((tenant) => takeAll(pool, flow(tenant, { level: 'a' })));
    assert.equal(held.length, 9);
    pool.configure([level('a', 1), last]);
    assert.equal(pool.tryAcquire(flow('new', { level: 'a' })), undefined);
    const ofLast = (): Seat[] =>
      ['b', 'c', 'd', 'e'].flatMap((tenant) => takeAll(pool, flow(tenant, { level: 'catch-all' })));
    assert.equal(ofLast().length, 1, 'no more than what is free');
    for (const seat of held.splice(0, 4)) seat.release();
    assert.equal(ofLast().length, 4);
    assert.equal(pool.inFlight, 10);
  });

  test('a request whose level is gone comes under the last one', () => {
    const pool = poolOf(4, [level('a', 1), last]);
    pool.configure([last]);
    assert.equal(takeAll(pool, flow('t', { level: 'a' })).length, 2);
  });

  test('who waits in a level that goes is served', async () => {
    const pool = poolOf(2, [level('a', 1), last]);
    const served: string[] = [];
    const [seat] = takeAll(pool, flow('t', { level: 'a' }));
    waitIn(pool, flow('late', { level: 'a' }), served);
    const mine = takeAll(pool, flow('mine', { level: 'catch-all' }));
    pool.configure([last]);
    seat?.release();
    await settle();
    assert.deepEqual([served, pool.waiting, pool.inFlight], [['late'], 0, 1 + mine.length]);
    assert.equal(shared.tenant('t').queues.size, 0, 'what is empty is forgotten');
  });

  test('a level that is gone leaves its seats to the others when it is empty', () => {
    const pool = poolOf(4, [level('a', 1), last]);
    const [seat] = takeAll(pool, flow('t', { level: 'a' }));
    pool.configure([last]);
    const bounds = () => Object.fromEntries(pool.limits());
    assert.deepEqual(bounds()['catch-all'], { nominal: 2, lower: 2, upper: 2 });
    seat?.release();
    assert.deepEqual(bounds(), { 'catch-all': { nominal: 4, lower: 4, upper: 4 } });
  });

  test('who waits is served when there is more', async () => {
    const pool = poolOf(10, [level('a', 1), level('b', 9)]);
    const served: string[] = [];
    takeAll(pool, flow('t', { level: 'a' }));
    waitIn(pool, flow('late', { level: 'a' }), served);
    pool.configure([level('a', 9), level('b', 1)]);
    await settle();
    assert.deepEqual(served, ['late']);
  });

  test('a level that does not queue refuses at once', async () => {
    const pool = poolOf(1, [level('a', 1, 0, 0), level('catch-all', 0)]);
    pool.tryAcquire(flow('t', { level: 'a' }));
    await assert.rejects(pool.wait(flow('u', { level: 'a' }), never), tooMany);
    assert.match(metrics.render(), /rejected_requests_total\{.*priority_level="a",reason="concurrency-limit"\} 1/);
  });
});

test('metrics show the peaks of seats and waiters since the last collection', () => {
  const pool = poolOf(1);
  const seat = pool.tryAcquire(flow('a'));
  pool.wait(flow('b'), never).catch(() => {});
  seat?.release();
  assert.deepEqual(pool.takePeaks(), { inFlight: 1, waiting: 1 });
  assert.deepEqual(pool.takePeaks(), { inFlight: 1, waiting: 0 });
});

test('metrics show how long the queue of its tenant was for each that joined it', () => {
  const pool = poolOf(1);
  pool.tryAcquire(flow('a'));
  for (let n = 0; n < 12; n++) pool.wait(flow('b'), never).catch(() => {});
  pool.wait(flow('c'), never).catch(() => {});
  const lengths = [
    ...metrics.render().matchAll(/queue_length_after_enqueue_(bucket|sum)\{.*?(?:le="(10|25)")?\} (\d+)$/gm),
  ].flatMap(([, part = '', bound = '', value]) => (part === 'sum' || bound ? [`${part} ${bound} ${value}`] : []));
  assert.deepEqual(lengths, ['bucket 10 11', 'bucket 25 13', `sum  ${(12 * 13) / 2 + 1}`]);
});

test('at random: the limit holds, no request waits for a free seat, and all seats are released', async () => {
  const level = fc.constantFrom('catch-all', 'global-default', 'system', 'workload-low');
  const step = fc.oneof(
    fc.record({ type: fc.constant('come' as const), level, tenant: fc.nat(5), key: fc.nat(2) }),
    fc.record({ type: fc.constantFrom('leave' as const, 'goAway' as const), which: fc.nat() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 40 }), fc.array(step, { maxLength: 200 }), async (max, steps) => {
      metrics = new Metrics();
      shared = new SharedLimits();
      const pool = poolOf(max);
      const seats: Seat[] = [];
      const waiting = new Map<AbortController, Flow>();
      for (const each of steps) {
        if (each.type === 'come') {
          const of = flow(`t${each.tenant}`, { level: each.level, key: `f${each.key}` });
          const seat = pool.tryAcquire(of);
          if (seat) seats.push(seat);
          else {
            const stop = new AbortController();
            waiting.set(stop, of);
            pool.wait(of, stop.signal).then(
              (late) => {
                waiting.delete(stop);
                seats.push(late);
              },
              () => waiting.delete(stop),
            );
          }
        } else if (each.type === 'leave') {
          const [seat] = seats.splice(each.which % Math.max(1, seats.length), 1);
          seat?.release();
        } else [...waiting.keys()][each.which % Math.max(1, waiting.size)]?.abort(new Error('gone'));
        await settle();
        assert.equal(pool.inFlight, seats.length);
        assert.equal(pool.waiting, waiting.size);
        assert.ok(pool.inFlight <= max);
        for (const of of waiting.values()) assert.equal(pool.tryAcquire(of), undefined, 'who waits could have a seat');
      }
      while (seats.length + waiting.size > 0) {
        assert.ok(seats.length > 0, 'somebody waits, and nobody has a seat');
        seats.pop()?.release();
        await settle();
      }
      assert.deepEqual([pool.inFlight, pool.waiting], [0, 0]);
      for (const { name } of priorityLevels) {
        assert.ok(max < 8 || pool.tryAcquire(flow('last', { level: name })), 'all is as it was at first');
      }
    }),
    { numRuns: 60 },
  );
});
