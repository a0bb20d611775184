import { limits } from '../limits.ts';
import type { Clock } from './clock.ts';
import { TimeSlice } from './time-slice.ts';
import { inOwnTurn } from './turns.ts';

/** Long work, which may be left alone at each step. */
export type Steps<T> = Generator<void, T>;

/** Does all steps at once. */
export function allAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Does the steps in slices of time. A promise only if they do not end within the first slice. */
export function inSlices<T>(steps: Steps<T>, clock: Pick<Clock, 'monotonic'>, owner?: unknown): T | Promise<T> {
  const slice = new TimeSlice(clock, owner === undefined ? {} : { owner });
  while (!slice.over) {
    const { done, value } = steps.next();
    if (done) return value;
  }
  return rest(steps, slice);
}

async function rest<T>(steps: Steps<T>, slice: TimeSlice): Promise<T> {
  for (;;) {
    if (slice.over) await slice.next();
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Does the steps in turns of the event loop, some in each: of work that has no clock. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (let count = 1; ; count++) {
    const { done, value } = steps.next();
    if (done) return value;
    if (count % limits.ruleStepsPerTurn === 0) await new Promise<void>((resolve) => inOwnTurn(resolve));
  }
}
