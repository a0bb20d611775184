import type { Clock } from '../base/time/clock.ts';
import { ApiError } from '../client/api-client.ts';

/** HTTP status of the request that a pass of a publisher ended with, 200 if all was well; and how long the pass took. */
export interface PublishOutcome {
  readonly code: string;
  readonly seconds: number;
}

/** Runs a pass of a publisher and tells what came of it. Rejects as the pass does. */
export async function observedPass(
  pass: () => Promise<void>,
  clock: Clock,
  passed: ((outcome: PublishOutcome) => void) | undefined,
): Promise<void> {
  const began = clock.monotonic();
  let code = '200';
  try {
    await pass();
  } catch (error) {
    code = error instanceof ApiError ? String(error.code) : '500';
    throw error;
  } finally {
    passed?.({ code, seconds: (clock.monotonic() - began) / 1_000 });
  }
}
