import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { MessageChannel, type Worker } from 'node:worker_threads';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { Metrics } from '../../base/metrics.ts';
import type { MetricsState } from '../../base/metrics-state.ts';
import { noJitter } from '../../base/time/backoff-fixture.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { until, within } from '../../base/waits-fixture.ts';
import { ServingThreads, type ServingThreadsOptions } from './serving-threads.ts';
import type { FromThread, SeatData, ToThread } from './thread-messages.ts';

const at = { address: '127.0.0.1', port: 6443 };

/** The main thread's view of a serving thread, which does what the test says. */
class FakeThread extends EventEmitter {
  readonly seat: SeatData;
  readonly #requests = new Metrics();
  readonly #counter = this.#requests.counter({ name: 'requests_total', help: 'Requests.', labels: [] });
  /** Answers of the main thread, by call. */
  readonly #answers = new Map<number, unknown>();
  #calls = 0;

  constructor(seat: SeatData) {
    super();
    this.seat = seat;
  }

  serve(requests: number): void {
    this.#counter.add({}, requests);
  }

  ready(): void {
    this.#send({ type: 'ready', listening: at });
  }

  beat(): void {
    Atomics.add(new Int32Array(this.seat.beats), this.seat.number, 1);
  }

  /** What this thread shows of the requests of all. */
  async requests(): Promise<number> {
    const own = this.#requests.state();
    const call = ++this.#calls;
    this.#send({ type: 'call', call, name: 'metrics', input: own });
    await until(() => this.#answers.has(call));
    const states = [own, ...(this.#answers.get(call) as readonly MetricsState[])];
    const [line = ''] = [...this.#requests.pieces(states)].join('').match(/^requests_total .*$/m) ?? [];
    return Number(line.split(' ')[1]);
  }

  postMessage(message: ToThread): void {
    if (message.type === 'stop') this.end();
    if (message.type === 'answer') this.#answers.set(message.call, 'value' in message.outcome && message.outcome.value);
    if (message.type !== 'call' || message.name !== 'collect') return;
    this.#send({ type: 'answer', call: message.call, outcome: { value: this.#requests.state() } });
  }

  async terminate(): Promise<number> {
    this.end();
    return 1;
  }

  end(): void {
    this.emit('exit', 1);
  }

  #send(message: FromThread): void {
    this.emit('message', message);
  }
}

/** Serving threads that are told by the test when they are ready, and when they end. */
async function serving(
  context: { after(end: () => Promise<void>): void },
  count: number,
  { connectStore }: Pick<ServingThreadsOptions, 'connectStore'> = {},
) {
  const clock = new ManualClock();
  /** Every thread that was started, in order. */
  const started: FakeThread[] = [];
  const errors: string[] = [];
  const threads = new ServingThreads({
    ...{ clock, random: noJitter, threads: count, port: 0, writeLog() {}, async listening() {} },
    ...(connectStore && { connectStore }),
    logger: {
      ...silentLogger,
      error: (message, fields) => void errors.push([message, ...Object.values(fields ?? {})].join(', ')),
    },
    openLog: () => assert.fail('no log is written'),
    startThread(seat) {
      const thread = new FakeThread(seat);
      started.push(thread);
      return thread as unknown as Worker;
    },
  });
  context.after(() => threads.stop());
  const starting = threads.start();
  started[0]?.ready();
  await starting;
  for (const thread of started.slice(1)) thread.ready();
  let ended: unknown;
  let taken = count;
  threads.done.catch((error: unknown) => {
    ended = error;
  });
  return {
    ...{ clock, started, errors, threads, ended: () => ended },
    /** The thread that comes next, once its delay is over. */
    async next(): Promise<FakeThread> {
      await until(() => {
        if (started.length === taken) clock.advance(1);
        return started.length > taken;
      });
      taken += 1;
      return started[taken - 1] ?? assert.fail();
    },
  };
}

test('no counter falls when a thread ends, whoever was asked last', async (context) => {
  const { started, next } = await serving(context, 2);
  let [one, other] = started as [FakeThread, FakeThread];
  let all = 0;
  for (let round = 0; round < 4; round++) {
    one.serve(100);
    other.serve(7);
    all += 107;
    assert.equal(await one.requests(), all);
    one.end();
    assert.equal(await other.requests(), all);
    [one, other] = [other, await next()];
    other.ready();
    assert.equal(await other.requests(), all);
    assert.equal(await one.requests(), all);
  }
});

test('a thread that ends while the others are asked counts once', async (context) => {
  const { started } = await serving(context, 3);
  const [one, other, third] = started as [FakeThread, FakeThread, FakeThread];
  one.serve(1);
  other.serve(10);
  third.serve(100);
  const { postMessage } = third;
  // It is asked last, when the other has answered.
  third.postMessage = (message) => {
    if (message.type === 'call') setImmediate(() => other.end());
    if (message.type === 'call') setImmediate(() => postMessage.call(third, message));
    else postMessage.call(third, message);
  };
  assert.equal(await one.requests(), 111);
});

test('a thread that hangs is ended and replaced; one that beats is not', async (context) => {
  const { started, clock, errors, next } = await serving(context, 2);
  const [one, other] = started as [FakeThread, FakeThread];
  for (let ms = 0; ms < limits.threadSilenceMsMax * 3; ms += limits.threadBeatMs) {
    one.beat();
    if (ms < limits.threadSilenceMsMax) other.beat();
    clock.advance(limits.threadBeatMs);
  }
  assert.deepEqual(errors, ['a serving thread hangs and is ended, 1']);
  assert.equal((await next()).seat.number, 1);
  assert.equal(
    errors[1],
    'a serving thread has ended and is replaced, 1, its event loop has stood still for 10 seconds',
  );
});

test('a thread that starts may be silent for longer', async (context) => {
  const { clock, started, errors, next } = await serving(context, 2);
  started[1]?.end();
  const thread = await next();
  const looks = limits.threadStartSilenceMsMax / limits.threadBeatMs;
  for (let look = 1; look < looks; look++) {
    started[0]?.beat();
    clock.advance(limits.threadBeatMs);
  }
  assert.equal(errors.length, 1, 'only that the one before it has ended');
  clock.advance(limits.threadBeatMs);
  assert.equal(errors[1], `a serving thread hangs and is ended, ${thread.seat.number}`);
});

test('threads that cannot start are tried again as long as one serves', async (context) => {
  const { started, next, ended } = await serving(context, 2);
  started[1]?.end();
  for (let round = 0; round < 5; round++) (await next()).end();
  (await next()).ready();
  assert.equal(ended(), undefined);
});

test('the process ends when none can start, and not before each was tried', async (context) => {
  const { started, next, ended, threads } = await serving(context, 2);
  for (const thread of started.slice(0, 2)) thread.end();
  const [one, other] = [await next(), await next()];
  one.end();
  const again = await next();
  assert.equal(ended(), undefined, 'the other one still starts');
  other.end();
  again.end();
  await assert.rejects(within(threads.done, 'the process ends'), /no serving thread can start/);
});

test('threads without a way to the store are no end of the process as long as one serves', async (context) => {
  let isOpen = true;
  const connectStore = () => {
    if (!isOpen) throw new Error('the thread of the data file has died');
    return new MessageChannel().port1;
  };
  const { started, clock, errors, ended, threads } = await serving(context, 2, { connectStore });
  isOpen = false;
  started[1]?.end();
  await until(() => {
    clock.advance(1);
    return errors.length >= 3;
  });
  assert.equal(errors.at(-1), 'a serving thread has ended and is replaced, 1, the thread of the data file has died');
  assert.equal(ended(), undefined);
  started[0]?.end();
  const end = assert.rejects(within(threads.done, 'the process ends'), /the thread of the data file has died/);
  await until(() => {
    clock.advance(1);
    return ended() !== undefined;
  });
  await end;
});
