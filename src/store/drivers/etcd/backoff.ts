import type { Clock } from '../../../base/clock.ts';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';

const firstMs = 50;

/** How long to wait before attempt `attempt` (1 is the first repetition): twice as long each time, up to a limit. */
export const backoffMs = (attempt: number): number =>
  Math.min(firstMs * 2 ** Math.max(attempt - 1, 0), limits.etcdBackoffMsMax);

/** Resolves after `ms`, or as soon as `signal` aborts. Never rejects. The process stays alive for what comes after it. */
export const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    // The clock's timer does not keep the process alive, and without a connection nothing else may: an open port does.
    const { port1: alive } = new MessageChannel();
    alive.ref();
    const end = () => {
      alive.close();
      timer.close();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer: Closable = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
