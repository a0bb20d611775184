import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../base/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { LargeFrames, type MadeFrame } from './large-frames.ts';

const frame = Buffer.from('frame');

function fixture() {
  const making: { readonly signal: AbortSignal; readonly made: PromiseWithResolvers<Buffer> }[] = [];
  const frames = new LargeFrames(new ManualClock());
  const taken: MadeFrame[] = [];
  const wait = (told: object, form: string) =>
    frames.wait(
      {
        told,
        form,
        make: (signal) => {
          const made = Promise.withResolvers<Buffer>();
          making.push({ signal, made });
          return made.promise;
        },
      },
      (each) => void taken.push(each),
    );
  return { frames, making, taken, wait };
}

describe('frames of large objects', () => {
  it('are made once for all who wait for the same form of the same event', async () => {
    const { frames, making, taken, wait } = fixture();
    const [one, other] = [{}, {}];
    for (const [told, form] of [
      [one, 'table'],
      [one, 'table'],
      [one, 'protobuf'],
      [other, 'table'],
    ] as const) {
      wait(told, form);
    }
    assert.equal(making.length, 3);
    assert.ok(frames.has(one, 'table'));
    for (const { made } of making) made.resolve(frame);
    await until(() => taken.length === 4);
    assert.ok(taken.every((each) => 'frame' in each && each.frame === frame));
    assert.ok(!frames.has(one, 'table'));
  });

  it('tell all who wait why there is none', async () => {
    const { making, taken, wait } = fixture();
    const told = {};
    wait(told, 'table');
    wait(told, 'table');
    const error = new Error('too heavy');
    making[0]?.made.reject(error);
    await until(() => taken.length === 2);
    assert.deepEqual(taken, [{ error }, { error }]);
  });

  it('are given up when the last has left, and only then', async () => {
    const { frames, making, taken, wait } = fixture();
    const told = {};
    const waits = [wait(told, 'table'), wait(told, 'table')];
    waits[0]?.close();
    waits[0]?.close();
    assert.equal(making[0]?.signal.aborted, false);
    waits[1]?.close();
    assert.equal(making[0]?.signal.aborted, true);
    assert.ok(!frames.has(told, 'table'));
    // Whoever comes after that has it made anew.
    wait(told, 'table');
    making[0]?.made.reject(new Error('given up'));
    making[1]?.made.resolve(frame);
    await until(() => taken.length === 1);
    assert.deepEqual(taken, [{ frame }]);
  });
});
