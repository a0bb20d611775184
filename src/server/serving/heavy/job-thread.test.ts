import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { silentLogger } from '../../../base/logger.ts';
import { ManualClock } from '../../../base/time/clock.ts';
import { untilAborted } from '../../../base/time/until-aborted.ts';
import { within } from '../../../base/waits-fixture.ts';
import { badRequest, StatusError } from '../../../meta/status-error.ts';
import { type JobRequest, JobThread } from './job-thread.ts';
import { SilentWorker, sameThread } from './thread-fixture.ts';

const request = (name: string, more: Partial<JobRequest> = {}): JobRequest => ({
  name,
  owner: 'somebody',
  input: () => ({}),
  bytes: 1,
  calls: {},
  warn() {},
  ...more,
});

/** A job thread with workers that the test controls. */
function silentThread() {
  const clock = new ManualClock();
  const workers: SilentWorker[] = [];
  const thread = new JobThread({
    clock,
    logger: silentLogger,
    startWorker: () => {
      const worker = new SilentWorker();
      workers.push(worker);
      return worker.asWorker();
    },
  });
  const outcomes: string[] = [];
  const starts = (): void => workers.at(-1)?.answer({ type: 'ready' });
  const run = (name: string, more: Partial<JobRequest> = {}): void => {
    begin(name, more);
    starts();
  };
  /** On a thread that may not have started. */
  const begin = (name: string, more: Partial<JobRequest> = {}): void => {
    thread.run(request(name, more)).then(
      (value) => outcomes.push(`${name}: ${value}`),
      (error) => outcomes.push(`${name}: ${error instanceof StatusError ? error.code : error}`),
    );
  };
  const silence = (): void => {
    for (let step = 0; step < 4; step++) clock.advance(limits.heavySilenceMsMax / 4);
  };
  const done = (job: number, value: unknown): void =>
    workers.at(-1)?.answer({ type: 'done', job, outcome: { value }, warnings: [], annotations: [] });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, workers, thread, outcomes, begin, starts, run, silence, done, settled };
}

describe('jobs on the thread', () => {
  it('return results, errors and warnings, and may call back', async () => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    const thread = new JobThread({
      clock,
      logger: silentLogger,
      startWorker: sameThread({
        double: async (input, context) => {
          context.warn('careful');
          const base = (await context.call('base', 3)) as number;
          return { bytes: new Uint8Array([2 * (input as { readonly value: number }).value + base]) };
        },
        refuse: (_input, context) => {
          context.warn('and again');
          throw badRequest('no');
        },
        ask: async (_input, context) => context.call('fails', 1),
      }),
    });
    const warn = (text: string) => void warnings.push(text);
    const doubled = await thread.run(
      request('double', { input: () => ({ value: 4 }), calls: { base: (value: number) => value * 10 }, warn }),
    );
    assert.deepEqual(doubled, { bytes: new Uint8Array([38]) });
    await assert.rejects(thread.run(request('refuse', { warn })), { reason: 'BadRequest', message: 'no', code: 400 });
    assert.deepEqual(warnings, ['careful', 'and again']);
    const fails = () => {
      throw badRequest('not here');
    };
    await assert.rejects(thread.run(request('ask', { calls: { fails } })), { message: 'not here', code: 400 });
    await assert.rejects(thread.run(request('nothing')), { reason: 'InternalError' });
    thread.close();
  });

  it('annotate their request', async () => {
    const notes: string[] = [];
    const thread = new JobThread({
      clock: new ManualClock(),
      logger: silentLogger,
      startWorker: sameThread({ note: (_input, context) => context.annotate('example.com/a', 'b') }),
    });
    await thread.run(request('note', { annotate: (key, value) => void notes.push(`${key}=${value}`) }));
    assert.deepEqual(notes, ['example.com/a=b']);
    thread.close();
  });

  it('that are aborted are notified, and their calls are abandoned', async () => {
    const ended = new Error('the deadline has passed');
    const abort = new AbortController();
    const asked = Promise.withResolvers<void>();
    const told: unknown[] = [];
    const thread = new JobThread({
      clock: new ManualClock(),
      logger: silentLogger,
      startWorker: sameThread({
        ask: async (_input, context) => {
          context.signal.addEventListener('abort', () => told.push(context.signal.reason.reason));
          return untilAborted(context.call('never', 1), context.signal);
        },
      }),
    });
    const never = () => {
      asked.resolve();
      return new Promise(() => {});
    };
    const refused = assert.rejects(thread.run(request('ask', { calls: { never }, signal: abort.signal })), ended);
    await within(asked.promise, 'asked: never');
    abort.abort(ended);
    await refused;
    assert.deepEqual([told, thread.size, getEventListeners(abort.signal, 'abort').length], [['Timeout'], 0, 0]);
    thread.close();
  });

  it('run concurrently in order, limited in number and bytes', () => {
    const { workers, thread, run, done } = silentThread();
    const half = limits.heavyBytesAtOnceMax / 2;
    run('a', { bytes: half });
    run('b', { bytes: half });
    run('c', { bytes: half });
    run('d');
    assert.deepEqual(workers[0]?.jobs, ['a', 'b'], 'd does not overtake c');
    done(1, 0);
    assert.deepEqual(workers[0]?.jobs, ['a', 'b', 'c']);
    done(2, 0);
    assert.deepEqual(workers[0]?.jobs, ['a', 'b', 'c', 'd']);
    for (let n = 0; n < limits.heavyJobsAtOnceMax; n++) run('e');
    assert.equal(workers[0]?.jobs.length, 4 + limits.heavyJobsAtOnceMax - 2);
    assert.equal(workers.length, 1);
    thread.close();
  });

  it('that are too many of one owner to wait are refused with 429, those of others are not', async () => {
    const { thread, run, outcomes, settled } = silentThread();
    run('first', { bytes: limits.heavyBytesAtOnceMax });
    const share = limits.heavyJobsWaitingMax / 2;
    for (let n = 0; n < share; n++) run('waits');
    run('late');
    run('other', { owner: 'other' });
    assert.equal(thread.size, share + 2);
    await settled();
    assert.deepEqual(outcomes, ['late: 429']);
    thread.close();
  });

  it('that ask somebody else let others run meanwhile', async () => {
    const { workers, thread, run, outcomes, done, settled } = silentThread();
    const [share, some] = [limits.heavyBytesWaitingMax / 2, limits.heavyJobsAtOnceMax];
    const answer = Promise.withResolvers<void>();
    const asking = { calls: { convert: () => answer.promise }, asks: new Set(['convert']) };
    const ask = (job: number): void =>
      workers[0]?.answer({ type: 'call', job, call: 1, name: 'convert', input: undefined });
    const bytes = share / some;
    for (let n = 0; n < some; n++) run('asks', { ...asking, bytes });
    run('next', { ...asking, bytes });
    assert.equal(workers[0]?.jobs.length, some);
    for (let job = 1; job <= some; job++) ask(job);
    assert.equal(workers[0]?.jobs.at(-1), 'next', 'those that wait do not count');
    const refused = () =>
      workers[0]?.sent.some((message) => message.type === 'answer' && 'failure' in message.outcome) ?? false;
    ask(some + 1);
    await settled();
    assert(refused(), 'the owner has its share of those that wait');
    run('other', { ...asking, owner: 'other', bytes });
    ask(some + 2);
    for (let n = 0; n < some; n++) run('late');
    assert.equal(workers[0]?.jobs.length, 2 * some + 1, 'the refused one still runs');
    answer.resolve();
    await settled();
    for (let job = 1; job <= 2 * some + 2; job++) done(job, 0);
    await settled();
    assert.equal(outcomes.length, 2 * some + 2);
    assert.equal(thread.size, 0);
    thread.close();
  });

  it('of several owners run round-robin', () => {
    const { workers, thread, run, done } = silentThread();
    const bytes = limits.heavyBytesAtOnceMax;
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2']) run(name, { owner: name.charAt(0), bytes });
    for (const job of [1, 2, 5, 3, 6, 4]) done(job, 0);
    assert.deepEqual(workers[0]?.jobs, ['a1', 'a2', 'b1', 'a3', 'b2', 'a4']);
    thread.close();
  });

  it('that are aborted before they start do not run', async () => {
    const { workers, thread, run, done, outcomes, settled } = silentThread();
    const gone = new AbortController();
    run('first', { bytes: limits.heavyBytesAtOnceMax });
    run('given up', { signal: gone.signal });
    run('last');
    gone.abort(badRequest('gone'));
    done(1, 'ok');
    await settled();
    assert.deepEqual(workers[0]?.jobs, ['first', 'last']);
    assert.deepEqual(outcomes, ['first: ok', 'given up: 400']);
    thread.close();
  });

  it('end with the server', async () => {
    const { workers, thread, run, outcomes, settled } = silentThread();
    run('a');
    run('writer', { calls: { create: () => 'done' }, commits: new Set(['create']) });
    workers[0]?.answer({ type: 'call', job: 2, call: 1, name: 'create', input: {} });
    run('b', { bytes: limits.heavyBytesAtOnceMax });
    thread.close();
    run('c');
    await settled();
    assert.deepEqual(outcomes.sort(), ['a: 503', 'b: 503', 'c: 503', 'writer: 504']);
    assert.equal(workers[0]?.terminated, true);
  });
});

describe('a thread that is lost', () => {
  it('because it is silent: its jobs are retried one at a time, and the culprit is refused', async () => {
    const { workers, thread, run, silence, done, outcomes, settled } = silentThread();
    run('good');
    run('bad');
    run('fine');
    silence();
    assert.equal(workers[0]?.terminated, true);
    assert.deepEqual(workers[1]?.jobs, ['good']);
    done(1, 'ok');
    assert.deepEqual(workers[1]?.jobs, ['good', 'bad']);
    silence();
    await settled();
    assert.deepEqual(outcomes, ['good: ok', 'bad: 413']);
    done(3, 'ok');
    run('later');
    done(4, 'ok');
    await settled();
    assert.deepEqual(outcomes, ['good: ok', 'bad: 413', 'fine: ok', 'later: ok']);
    assert.equal(workers.length, 3);
    thread.close();
  });

  it('because it is out of memory: the same', async () => {
    const { workers, thread, run, outcomes, settled } = silentThread();
    run('greedy');
    workers[0]?.emit('error', Object.assign(new Error('out of memory'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }));
    workers[0]?.emit('exit', 1);
    await settled();
    assert.deepEqual(outcomes, ['greedy: 413']);
    thread.close();
  });

  it('while a job wrote: its outcome is unknown, and it does not run again', async () => {
    const { workers, thread, run, silence, outcomes, settled } = silentThread();
    const calls = { create: () => 'done', look: () => 'seen' };
    run('writer', { calls, commits: new Set(['create']) });
    run('reader', { calls, commits: new Set(['create']) });
    workers[0]?.answer({ type: 'call', job: 1, call: 1, name: 'create', input: {} });
    workers[0]?.answer({ type: 'call', job: 2, call: 2, name: 'look', input: {} });
    await settled();
    silence();
    await settled();
    assert.deepEqual(outcomes, ['writer: 504']);
    assert.deepEqual(workers[1]?.jobs, ['reader']);
    thread.close();
  });

  for (const [what, waitedMs] of [
    ['from the start', 0],
    ['after a long time without work', 60_000],
  ] as const) {
    it(`is silent from when it had work, ${what}, and not before`, async () => {
      const { clock, workers, thread, run, silence, done, outcomes, settled } = silentThread();
      if (waitedMs > 0) {
        run('first');
        done(1, 'ok');
        clock.advance(limits.heavySilenceMsMax);
      }
      clock.advance(waitedMs);
      run('slow');
      clock.advance(limits.heavySilenceMsMax - 1);
      assert.equal(workers[0]?.terminated, false);
      silence();
      silence();
      await settled();
      assert.equal(workers[0]?.terminated, true);
      assert.equal(outcomes.at(-1), 'slow: 413');
      thread.close();
    });
  }

  it('may take longer to start than it may be silent', async () => {
    const { clock, workers, thread, begin, starts, silence, done, outcomes, settled } = silentThread();
    begin('first');
    clock.advance(limits.heavySilenceMsMax);
    clock.advance(limits.heavySilenceMsMax);
    assert.equal(workers[0]?.terminated, false);
    starts();
    done(1, 'ok');
    begin('second');
    silence();
    silence();
    await settled();
    assert.deepEqual(outcomes, ['first: ok', 'second: 413']);
    thread.close();
  });

  it('that never starts is given up, and its jobs may be tried again', async () => {
    const { clock, workers, thread, begin, outcomes, settled } = silentThread();
    begin('a');
    begin('b');
    for (let step = 0; step < 20; step++) clock.advance(limits.heavyStartMsMax / 16);
    await settled();
    assert.equal(workers[0]?.terminated, true);
    assert.deepEqual(outcomes, ['a: 503', 'b: 503']);
    thread.close();
  });

  it('is not considered silent during its calls to this side, nor while it sends messages', async () => {
    const { clock, workers, thread, run, silence, done, outcomes, settled } = silentThread();
    const answer = Promise.withResolvers<void>();
    run('asks', { calls: { slow: () => answer.promise } });
    workers[0]?.answer({ type: 'call', job: 1, call: 1, name: 'slow', input: {} });
    silence();
    assert.equal(workers[0]?.terminated, false);
    answer.resolve();
    await settled();
    for (let step = 0; step < 6; step++) {
      clock.advance(limits.heavySilenceMsMax / 2);
      run('other');
      done(2 + step, 'ok');
    }
    assert.equal(workers[0]?.terminated, false);
    done(1, 'ok');
    await settled();
    assert.equal(outcomes.length, 7);
    thread.close();
  });

  it('ends when idle for long, and is restarted on demand', () => {
    const { clock, workers, thread, run, done } = silentThread();
    run('a');
    done(1, 'ok');
    clock.advance(limits.heavySilenceMsMax);
    clock.advance(limits.heavyIdleMs);
    assert.equal(workers[0]?.terminated, true);
    assert.equal(clock.pending, 0);
    run('b');
    assert.deepEqual(workers[1]?.jobs, ['b']);
    thread.close();
    assert.equal(clock.pending, 0);
  });
});
