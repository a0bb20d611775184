import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../limits.ts';
import { ManualClock } from './clock.ts';
import { TimeSlice } from './time-slice.ts';
import { inOwnTurn } from './turns.ts';

/** Runs one piece of work in slices, and records the turn of each. */
async function inSlices(turn: () => number, slices: number): Promise<readonly number[]> {
  const slice = new TimeSlice({ monotonic: () => 0 });
  const turns: number[] = [];
  for (let done = 0; done < slices; done++) {
    await slice.next();
    turns.push(turn());
  }
  return turns;
}

test('concurrent slices do not add up: each has its own turn, and all progress equally', async () => {
  let turn = 0;
  let counting = true;
  const count = (): void => {
    turn += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const all = await Promise.all(Array.from({ length: 20 }, () => inSlices(() => turn, 5)));
  counting = false;
  const turns = all.flat();
  assert.equal(new Set(turns).size, turns.length, 'two slices ran in one turn');
  for (let round = 1; round < 5; round++) {
    const latestBefore = Math.max(...all.map((each) => each[round - 1] ?? 0));
    const earliest = Math.min(...all.map((each) => each[round] ?? 0));
    assert.ok(earliest > latestBefore, `round ${round} began before all had round ${round - 1}`);
  }
});

test('a failing waiter does not block those behind it', async () => {
  const slice = new TimeSlice({ monotonic: () => 0 });
  const failing = slice.next().then(() => {
    throw new Error('the work failed');
  });
  const behind = slice.next();
  await assert.rejects(failing, /the work failed/);
  await behind;
});

test('work queued within a turn runs in the next one', async () => {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    inOwnTurn(() => {
      order.push('first');
      inOwnTurn(() => {
        order.push('third');
        resolve();
      });
    });
    inOwnTurn(() => order.push('second'));
  });
  assert.deepEqual(order, ['first', 'second', 'third']);
});

/** Counts turns of the event loop until it is disposed of. */
class TurnCount implements Disposable {
  turn = 0;
  #counting = true;

  constructor() {
    const count = (): void => {
      this.turn += 1;
      if (this.#counting) setImmediate(count);
    };
    setImmediate(count);
  }

  [Symbol.dispose](): void {
    this.#counting = false;
  }
}

/** Units of work of a millisecond each, sliced like most work; `done` is called after each. */
async function work(clock: ManualClock, owner: unknown, units: number, done: () => void): Promise<void> {
  const slice = new TimeSlice(clock, { owner });
  for (let unit = 0; unit < units; unit++) {
    if (slice.over) await slice.next();
    clock.advance(1);
    done();
  }
}

for (const [what, owners, unitsEach] of [
  ['of one owner, short', () => 'one', 1],
  ['of one owner, long', () => 'one', 12],
  ['each of its own owner, short', (index: number) => index, 1],
  ['each of its own owner, long', (index: number) => index, 12],
  ['without owners', () => undefined, 3],
] as const) {
  test(`works that are woken together share what a turn may take: ${what}`, async () => {
    const clock = new ManualClock();
    using turns = new TurnCount();
    const unitsByTurn = new Map<number, number>();
    const count = (): void => void unitsByTurn.set(turns.turn, (unitsByTurn.get(turns.turn) ?? 0) + 1);
    const woken = Promise.withResolvers<void>();
    const all = Array.from({ length: 300 }, (_, index) =>
      woken.promise.then(() => work(clock, owners(index), unitsEach, count)),
    );
    woken.resolve();
    await Promise.all(all);
    assert.equal(
      [...unitsByTurn.values()].reduce((sum, units) => sum + units, 0),
      300 * unitsEach,
    );
    assert.ok(Math.max(...unitsByTurn.values()) <= limits.turnMs, `${Math.max(...unitsByTurn.values())} in one turn`);
  });
}

test('owners take turns: one with a single piece of work waits for at most one slice of each other owner', async () => {
  const clock = new ManualClock();
  const order: string[] = [];
  const note = (owner: string) => () => void order.push(owner);
  const many = Array.from({ length: 200 }, () => work(clock, 'many', 20, note('many')));
  const one = work(clock, 'one', 20, note('one'));
  await Promise.all([...many, one]);
  const ofMany = order.slice(0, order.lastIndexOf('one')).filter((owner) => owner === 'many').length;
  // The time of the turn in which all began, then one slice for each of the other's.
  assert.ok(ofMany <= limits.turnMs + 20 + limits.sliceMs, `${ofMany} units came before`);
});
