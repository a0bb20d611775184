import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ManualClock, pause, systemClock } from './clock.ts';

describe('ManualClock', () => {
  test('throws if timers set each other endlessly', () => {
    const clock = new ManualClock();
    const again = (): void => void clock.after(0, again);
    again();
    assert.throws(() => clock.advance(1), /timers without end/);
  });

  test('stands still until advanced, and advances both times equally', () => {
    const clock = new ManualClock(1_000);
    assert.deepEqual([clock.now(), clock.monotonic()], [1_000, 0]);
    clock.advance(250);
    assert.deepEqual([clock.now(), clock.monotonic()], [1_250, 250]);
  });

  test('runs due timers by due time, then in the order they were set', () => {
    const clock = new ManualClock();
    const ran: string[] = [];
    for (const [name, dueMs] of [
      ['late', 30],
      ['first of two', 20],
      ['early', 10],
      ['second of two', 20],
      ['beyond', 41],
    ] as const) {
      clock.after(dueMs, () => ran.push(`${name} at ${clock.monotonic()}`));
    }
    clock.advance(40);
    assert.deepEqual(ran, ['early at 10', 'first of two at 20', 'second of two at 20', 'late at 30']);
    assert.equal(clock.monotonic(), 40);
    assert.equal(clock.pending, 1);
  });

  test('a timer is due at its time, not before', () => {
    const clock = new ManualClock();
    let ran = 0;
    clock.after(10, () => ran++);
    clock.advance(9);
    assert.equal(ran, 0);
    clock.advance(1);
    assert.equal(ran, 1);
    clock.advance(100);
    assert.equal(ran, 1, 'once');
  });

  test('runs timers set by callbacks in the same advance, if due', () => {
    const clock = new ManualClock();
    const ticks: number[] = [];
    const tick = (): void => {
      ticks.push(clock.monotonic());
      clock.after(10, tick);
    };
    clock.after(10, tick);
    clock.advance(35);
    assert.deepEqual(ticks, [10, 20, 30]);
    assert.equal(clock.pending, 1);
  });

  test('a closed timer never runs, also when it is closed by one that is due with it', () => {
    const clock = new ManualClock();
    const ran: string[] = [];
    clock.after(10, () => other.close());
    const other = clock.after(10, () => ran.push('other'));
    const closed = clock.after(5, () => ran.push('closed'));
    closed.close();
    closed.close();
    assert.equal(clock.pending, 2);
    clock.advance(20);
    assert.deepEqual(ran, []);
    assert.equal(clock.pending, 0);
  });
});

describe('pause', () => {
  /** Whether a promise is settled after everything that can run without time passing has run. */
  const settled = (promise: Promise<void>): Promise<boolean> =>
    Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

  test('lasts for the given delay', async () => {
    const clock = new ManualClock();
    const waiting = pause(clock, 10);
    clock.advance(9);
    assert.equal(await settled(waiting), false);
    clock.advance(1);
    assert.equal(await settled(waiting), true);
  });

  test('ends with its signal, and leaves no timer', async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const waiting = pause(clock, 10, controller.signal);
    assert.equal(await settled(waiting), false);
    controller.abort(new Error('not for whoever waits'));
    await waiting;
    assert.equal(clock.pending, 0);
  });

  test('ends at once if its signal is already aborted', async () => {
    const clock = new ManualClock();
    await pause(clock, 10, AbortSignal.abort());
    assert.equal(clock.pending, 0);
  });

  test('leaves nothing on a signal that lives on', async () => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, args);
    };
    const waiting = pause(clock, 10, signal);
    assert.equal(listeners, 1);
    clock.advance(10);
    await waiting;
    assert.equal(listeners, 0);
  });
});

describe('systemClock', () => {
  test('knows the time, and never goes back', () => {
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 60_000);
    const before = systemClock.monotonic();
    assert.ok(systemClock.monotonic() >= before);
  });

  test('runs due timers, and not closed ones', async () => {
    const ran: string[] = [];
    systemClock.after(0, () => ran.push('closed')).close();
    // The clock's timers do not keep the process alive, so the test must.
    const alive = setInterval(() => {}, 1_000);
    try {
      await new Promise<void>((resolve) => systemClock.after(1, resolve));
    } finally {
      clearInterval(alive);
    }
    assert.deepEqual(ran, []);
  });
});
