import { type Clock, pause } from './clock.ts';

interface InTimeOptions {
  readonly clock: Clock;
  /** Ends waiting early. */
  readonly signal?: AbortSignal;
}

/**
 * The result of `work`; undefined once `maxMs` have passed or the signal has aborted. Rejects if the work rejects before that. The
 * work itself goes on.
 */
export async function inTime<T>(
  work: Promise<T>,
  maxMs: number,
  { clock, signal }: InTimeOptions,
): Promise<T | undefined> {
  const over = new AbortController();
  const late = pause(clock, maxMs, signal ? AbortSignal.any([over.signal, signal]) : over.signal);
  try {
    return await Promise.race([work, late.then(() => undefined)]);
  } finally {
    over.abort();
  }
}
