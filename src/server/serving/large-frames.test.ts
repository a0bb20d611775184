import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { LargeFrames, type MadeFrame } from './large-frames.ts';

const frame = Buffer.from('frame');

function fixture() {
  const making: { readonly signal: AbortSignal; readonly made: PromiseWithResolvers<Buffer> }[] = [];
  const frames = new LargeFrames(new ManualClock());
  const taken: MadeFrame[] = [];
  const wait = (source: object, form: string) =>
    frames.wait(
      {
        source,
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
  it('are encoded once for all watches that wait for the same form of the same event', async () => {
    const { frames, making, taken, wait } = fixture();
    const [one, other] = [{}, {}];
    for (const [source, form] of [
      [one, 'table'],
      [one, 'table'],
      [one, 'protobuf'],
      [other, 'table'],
    ] as const) {
      wait(source, form);
    }
    assert.equal(making.length, 3);
    assert.ok(frames.has(one, 'table'));
    for (const { made } of making) made.resolve(frame);
    await until(() => taken.length === 4);
    assert.ok(taken.every((each) => 'frame' in each && each.frame === frame));
    assert.ok(!frames.has(one, 'table'));
  });

  it('reject for all waiting watches on failure', async () => {
    const { making, taken, wait } = fixture();
    const source = {};
    wait(source, 'table');
    wait(source, 'table');
    const error = new Error('too heavy');
    making[0]?.made.reject(error);
    await until(() => taken.length === 2);
    assert.deepEqual(taken, [{ error }, { error }]);
  });

  it('are aborted when the last watch has left, and only then', async () => {
    const { frames, making, taken, wait } = fixture();
    const source = {};
    const waits = [wait(source, 'table'), wait(source, 'table')];
    waits[0]?.close();
    waits[0]?.close();
    assert.equal(making[0]?.signal.aborted, false);
    waits[1]?.close();
    assert.equal(making[0]?.signal.aborted, true);
    assert.ok(!frames.has(source, 'table'));
    // A later watch starts a new encoding.
    wait(source, 'table');
    making[0]?.made.reject(new Error('given up'));
    making[1]?.made.resolve(frame);
    await until(() => taken.length === 1);
    assert.deepEqual(taken, [{ frame }]);
  });
});
