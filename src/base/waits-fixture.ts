import { once as firstOf } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** How tests wait: for a condition, a promise or an event, never for a time. A wait that is in vain fails and says what was missing. */

/** Far above what anything takes, so that a busy machine changes no outcome. */
const waitMsMax = 60_000;

/** Turn by turn at first, so that what happens within the process is noticed at once; then the processor is left to others. */
const turnsMsMax = 100;
const pollMs = 2;

/**
 * Polls until the condition holds, and lets everything else run in between; a condition may also take a step itself. Rejects after
 * a minute with `what`, which says what is wrong then.
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

/** What a promise gives. Rejects after a minute with `what`, which says what is wrong then. */
export async function within<T>(promise: PromiseLike<T>, what: string | (() => string)): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooLate(what)), waitMsMax).unref();
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** `once` of `node:events`, for a minute. */
export const once = (emitter: NodeJS.EventEmitter, event: string): ReturnType<typeof firstOf> =>
  within(firstOf(emitter, event), `no ${event} from ${emitter.constructor.name}`);

const tooLate = (what: string | (() => string)): Error =>
  new Error(`after ${waitMsMax / 1_000} s: ${typeof what === 'string' ? what : what()}`);
