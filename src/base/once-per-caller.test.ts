import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { oncePerCaller } from './once-per-caller.ts';

describe('a question that is asked once per caller', () => {
  const caller = (): AbortSignal => new AbortController().signal;

  it('is shared by those who ask while it waits, and answered at once after that', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    const ask = oncePerCaller(() => {
      asked++;
      return promise;
    });
    const [one, other] = [caller(), caller()];
    const waiting = ask(one);
    assert.equal(ask(one), waiting);
    assert.notEqual(ask(other), undefined);
    assert.equal(asked, 2, 'one for each caller');
    resolve();
    await waiting;
    assert.equal(ask(one), undefined);
    assert.equal(asked, 2);
  });

  it('is answered for the caller where nothing needs to be waited for', () => {
    let asked = 0;
    const ask = oncePerCaller(() => void asked++);
    const one = caller();
    assert.deepEqual([ask(one), ask(one), asked], [undefined, undefined, 1]);
  });

  it('is asked anew after it failed', async () => {
    const answers = [Promise.reject(new Error('no store')), Promise.resolve()];
    const ask = oncePerCaller(() => answers.shift());
    const one = caller();
    await assert.rejects(ask(one) ?? Promise.resolve(), /no store/);
    await ask(one);
    assert.deepEqual([ask(one), answers.length], [undefined, 0]);
  });
});
