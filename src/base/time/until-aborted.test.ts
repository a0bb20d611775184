import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { untilAborted } from './until-aborted.ts';

const gone = new Error('gone');

describe('waiting until a signal aborts', () => {
  const rows: readonly (readonly [
    what: string,
    run: (abort: AbortController) => Promise<unknown>,
    expected: unknown,
  ])[] = [
    ['work that is done first', ({ signal }) => untilAborted(Promise.resolve(1), signal), 1],
    ['work that fails first', ({ signal }) => untilAborted(Promise.reject(new Error('no')), signal), /no/],
    [
      'a signal that aborts first',
      (abort) => {
        const waiting = untilAborted(new Promise(() => {}), abort.signal);
        abort.abort(gone);
        return waiting;
      },
      /gone/,
    ],
    [
      'a signal that has aborted, and work that fails later',
      (abort) => {
        abort.abort(gone);
        return untilAborted(
          Promise.resolve().then(() => Promise.reject(new Error('late'))),
          abort.signal,
        );
      },
      /gone/,
    ],
  ];
  for (const [what, run, expected] of rows) {
    it(`${what}; leaves no listener`, async () => {
      const abort = new AbortController();
      if (expected instanceof RegExp) await assert.rejects(run(abort), expected);
      else assert.equal(await run(abort), expected);
      assert.equal(getEventListeners(abort.signal, 'abort').length, 0);
    });
  }
});
