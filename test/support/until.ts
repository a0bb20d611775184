import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a condition that other parts of the process, or another one, bring about. Fails with `what` when it does not come. */
export async function until(holds: () => boolean | Promise<boolean>, what: string | (() => string)): Promise<void> {
  const deadline = performance.now() + waitMsMax;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(typeof what === 'string' ? what : what());
    await delay(pollMs);
  }
}

const waitMsMax = 10_000;
const pollMs = 2;
