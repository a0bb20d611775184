import { limits } from '../base/limits.ts';
import { entityTooLarge } from '../meta/status-error.ts';

/**
 * Limits the work of one patch beyond what its size and the size of the object explain: a few bytes of a patch can
 * cause repeated work over the whole object. Throws 413 above `limits.patchStepsMax`.
 */
export class PatchBudget {
  #left: number = limits.patchStepsMax;

  /** One step is one field or element visited. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw entityTooLarge(`applying the patch takes more than ${limits.patchStepsMax} steps`);
  }
}
