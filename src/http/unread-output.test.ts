import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { Sender } from './flood-gate.ts';
import { type OutputHolder, UnreadOutput } from './unread-output.ts';

class Holder implements OutputHolder {
  readonly sender: Sender | undefined;
  pendingBytes = 0;
  writtenBytes = 0;
  unsentBytes = 0;
  isCut = false;

  constructor(sender: Sender | undefined) {
    this.sender = sender;
  }

  cutOff(): void {
    this.isCut = true;
    this.pendingBytes = 0;
  }
}

const looksUntilStalled = limits.unreadStalledMs / limits.unreadLookMs;

function looking(...holders: readonly Holder[]) {
  const clock = new ManualClock();
  const output = new UnreadOutput(clock, () => holders);
  const look = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n++) await clock.advance(limits.unreadLookMs);
  };
  return { look, [Symbol.dispose]: () => output.close() };
}

describe('output that clients leave unread', () => {
  it('beyond a bound costs the connections that have stood still for longest', async () => {
    const sender = new Sender();
    const holders = Array.from({ length: 4 }, () => new Holder(sender));
    using looked = looking(...holders);
    for (const holder of holders) {
      holder.pendingBytes = limits.unreadOutputBytesMax / 5;
      await looked.look();
    }
    await looked.look(looksUntilStalled);
    // Each counts two fifths, and what it takes by itself.
    assert.deepEqual(
      holders.map(({ isCut }) => isCut),
      [true, true, false, false],
    );
  });

  it('that the system takes little by little costs nobody a connection', async () => {
    const sender = new Sender();
    const holder = new Holder(sender);
    using looked = looking(holder);
    holder.pendingBytes = limits.unreadOutputBytesMax;
    for (let n = 0; n < 2 * looksUntilStalled; n++) {
      holder.writtenBytes += 1;
      await looked.look();
    }
    assert.equal(holder.isCut, false);
    await looked.look(looksUntilStalled);
    assert.equal(holder.isCut, true);
  });

  it('is counted for each sender, and not for one who is never held up', async () => {
    const holders = [new Holder(new Sender()), new Holder(new Sender()), new Holder(undefined)];
    using looked = looking(...holders);
    for (const holder of holders) holder.pendingBytes = limits.unreadOutputBytesMax / 3;
    (holders[2] as Holder).pendingBytes *= 9;
    await looked.look(2 * looksUntilStalled);
    assert.ok(holders.every(({ isCut }) => !isCut));
  });

  it('counts with what waits in front of the socket', async () => {
    const holder = new Holder(new Sender());
    using looked = looking(holder);
    holder.pendingBytes = 1;
    holder.unsentBytes = limits.unreadOutputBytesMax;
    await looked.look(looksUntilStalled + 1);
    assert.equal(holder.isCut, true);
  });
});
