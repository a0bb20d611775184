import { once as firstOf } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waiting in tests: for a condition, a promise or an event, never for a fixed time. A wait that times out fails with a
 * description of what was missing.
 */

/** Far above the duration of any operation, so that a busy machine does not change results. */
const waitMsMax = 60_000;

/**
 * Polls in every turn of the event loop at first, to notice in-process events at once; after this time it yields the
 * CPU.
 */
const turnsMsMax = 100;
const pollMs = 2;

/**
 * Polls until the condition holds, and lets everything else run in between; the condition may also advance the test.
 * Rejects after a minute with `what`, which describes what was missing.
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string | (() => string) = `this does not hold: ${holds}`,
): Promise<void> {
  const started = performance.now();
  while (!(await holds())) {
    const waitedMs = performance.now() - started;
    if (waitedMs > waitMsMax) throw tooLate(what);
    await (waitedMs < turnsMsMax ? new Promise((resolve) => setImmediate(resolve)) : delay(pollMs));
  }
}

/** The result of a promise. Rejects after a minute with `what`, which describes what was missing. */
export async function within<T>(promise: PromiseLike<T>, what: string | (() => string)): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooLate(what)), waitMsMax).unref();
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `once` of `node:events`, with a timeout of a minute. */
export const once = (emitter: NodeJS.EventEmitter, event: string): ReturnType<typeof firstOf> =>
  within(firstOf(emitter, event), `no ${event} from ${emitter.constructor.name}`);

const tooLate = (what: string | (() => string)): Error =>
  new Error(`after ${waitMsMax / 1_000} s: ${typeof what === 'string' ? what : what()}`);
