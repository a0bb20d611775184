import { limits } from '../../base/limits.ts';
import { Semaphore } from '../../base/semaphore.ts';

/** Runs all calls, a bounded number at a time; gives the errors. */
export async function runAll(
  calls: readonly (() => Promise<void>)[],
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const slots = new Semaphore(limits.podWritesAtOnce);
  const errors: unknown[] = [];
  await Promise.all(
    calls.map(async (call) => {
      await slots.acquire(signal);
      try {
        await call();
      } catch (error) {
        errors.push(error);
      } finally {
        slots.release();
      }
    }),
  );
  return errors;
}

/**
 * Calls `call` this many times in batches of 1, 2, 4 and so on. After a batch with a failure no other begins, so that what is
 * refused for one reason, such as a quota, costs few requests. Gives the first error, if there is one.
 */
export async function slowStart(
  count: number,
  call: (index: number) => Promise<void>,
  signal: AbortSignal,
): Promise<{ readonly error?: unknown; readonly done: number }> {
  let done = 0;
  for (
    let [at, size] = [0, Math.min(1, count)];
    size > 0;
    [at, size] = [at + size, Math.min(2 * size, count - at - size)]
  ) {
    const errors = await runAll(
      Array.from({ length: size }, (_, index) => () => call(at + index)),
      signal,
    );
    done += size - errors.length;
    if (errors.length > 0) return { error: errors[0], done };
  }
  return { done };
}
