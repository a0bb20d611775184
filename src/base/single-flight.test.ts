import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from './caller.ts';
import { SingleFlight } from './single-flight.ts';

/** Calls that end when the test says so, or when they are aborted. */
class Calls {
  readonly flight = new SingleFlight<string>();
  readonly made: { readonly all: Caller; readonly answer: PromiseWithResolvers<string> }[] = [];

  ask(caller?: Caller): Promise<string> {
    const answered = this.flight.run('key', (all) => this.#make(all), caller);
    return Promise.resolve(answered);
  }

  #make(all: Caller): Promise<string> {
    const answer = Promise.withResolvers<string>();
    this.made.push({ all, answer });
    all.signal.addEventListener('abort', () => answer.reject(all.signal.reason));
    return answer.promise;
  }

  get aborted(): readonly boolean[] {
    return this.made.map(({ all }) => all.signal.aborted);
  }
}

const gone = new Error('gone');

describe('single flight', () => {
  it('makes one call for concurrent callers, and another afterwards', async () => {
    const calls = new Calls();
    const asked = [calls.ask(), calls.ask(new AbortController())];
    calls.made[0]?.answer.resolve('a');
    assert.deepEqual(await Promise.all(asked), ['a', 'a']);
    const again = calls.ask();
    calls.made[1]?.answer.resolve('b');
    assert.equal(await again, 'b');
  });

  it('does not share synchronous results', () => {
    const flight = new SingleFlight<string>();
    assert.equal(
      flight.run('key', () => 'a'),
      'a',
    );
    assert.equal(
      flight.run('key', () => 'b'),
      'b',
    );
  });

  for (const [who, stays, leave, aborted] of [
    ['the only one', 0, 1, true],
    ['one of two', 0, 2, true],
    ['one of two, and another stays', 1, 1, false],
    ['all but one who asked without a signal', 'unsignalled', 2, false],
  ] as const) {
    it(`${who} leaves: the call is ${aborted ? 'aborted' : 'not aborted'}`, async () => {
      const calls = new Calls();
      const leaving = Array.from({ length: leave }, () => new AbortController());
      const left = leaving.map((caller) => calls.ask(caller));
      const staying = stays === 0 ? undefined : calls.ask(stays === 1 ? new AbortController() : undefined);
      for (const caller of leaving) caller.abort(gone);
      for (const each of left) await assert.rejects(each, gone);
      assert.deepEqual(calls.aborted, [aborted]);
      calls.made[0]?.answer.resolve('a');
      assert.equal(await staying, staying && 'a');
    });
  }

  it('starts a new call after the previous one was abandoned', async () => {
    const calls = new Calls();
    const caller = new AbortController();
    const left = calls.ask(caller);
    caller.abort(gone);
    await assert.rejects(left, gone);
    const asked = calls.ask();
    assert.deepEqual(calls.aborted, [true, false]);
    calls.made[1]?.answer.resolve('b');
    assert.equal(await asked, 'b');
  });

  it('reports a failure to all callers', async () => {
    const calls = new Calls();
    const asked = [calls.ask(), calls.ask(new AbortController())];
    calls.made[0]?.answer.reject(gone);
    for (const each of asked) await assert.rejects(each, gone);
  });
});
