import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { FloodGate, Sender } from './flood-gate.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function flooding(gate: FloodGate): Sender {
  const sender = new Sender();
  for (let n = 0; n <= limits.floodRequestsPerTurn; n++) gate.count(sender);
  assert.ok(gate.holds(sender));
  return sender;
}

describe('a sender', () => {
  const rows: readonly (readonly [what: string, perTurn: number, turns: number, floods: boolean])[] = [
    ['of as many requests in a turn as are allowed', limits.floodRequestsPerTurn, 1, false],
    ['of one more', limits.floodRequestsPerTurn + 1, 1, true],
    ['that waits for its answers, however many requests it sends', 1, 10 * limits.floodRequestsPerTurn, false],
  ];
  for (const [what, perTurn, turns, floods] of rows) {
    it(`${what} ${floods ? 'floods' : 'does not flood'}`, async () => {
      const gate = new FloodGate(new ManualClock());
      const sender = new Sender();
      for (let at = 0; at < turns; at++) {
        for (let n = 0; n < perTurn; n++) gate.count(sender);
        await turn();
      }
      assert.equal(gate.holds(sender), floods);
      gate.close();
    });
  }

  it('who is never held does not flood', () => {
    const gate = new FloodGate(new ManualClock());
    for (let n = 0; n < 1_000; n++) gate.count(undefined);
    assert.equal(gate.holds(undefined), false);
    gate.close();
  });

  it('is no longer held when its flood is over, and is as long as it is not', async () => {
    const clock = new ManualClock();
    const gate = new FloodGate(clock);
    const sender = flooding(gate);
    for (let n = 0; n <= limits.floodRequestsPerTurn; n++) gate.wait(sender, () => {});
    clock.advance(limits.floodMs);
    assert.ok(gate.holds(sender), 'too many still wait');
    let last = false;
    gate.wait(sender, () => {
      last = true;
    });
    await until(() => last);
    clock.advance(limits.floodMs);
    assert.equal(gate.holds(sender), false);
    gate.close();
  });
});

describe('what waits', () => {
  it('is read in short slices with pauses while others send requests, and without when they stop', async () => {
    const clock = new ManualClock();
    const gate = new FloodGate(clock);
    const sender = flooding(gate);
    let reads = 0;
    const read = (): void => {
      reads += 1;
      clock.advance(limits.floodSliceMs);
      gate.wait(sender, read);
    };
    gate.wait(sender, read);
    await until(() => reads === 1);
    const pauseMs = limits.floodSliceMs * limits.floodPause;
    gate.count(undefined);
    clock.advance(pauseMs - limits.floodSliceMs);
    for (let n = 0; n < 5; n++) await turn();
    assert.equal(reads, 1, 'the pause is not over');
    clock.advance(limits.floodSliceMs);
    await until(() => reads === 2);
    clock.advance(limits.floodQuietMs + pauseMs);
    await until(() => reads > 10);
    gate.close();
  });

  it('of two who flood is read in turns', async () => {
    const clock = new ManualClock();
    const gate = new FloodGate(clock);
    const [one, other] = [flooding(gate), flooding(gate)];
    const order: string[] = [];
    for (let n = 0; n < 20; n++) gate.wait(one, () => order.push('one'));
    for (let n = 0; n < 2; n++) gate.wait(other, () => order.push('other'));
    await until(() => order.length === 22);
    assert.deepEqual(order.slice(0, 5), ['one', 'other', 'one', 'other', 'one']);
    gate.close();
  });
});
