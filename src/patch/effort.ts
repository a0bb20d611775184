import { limits } from '../base/limits.ts';
import { entityTooLarge } from '../meta/status-error.ts';

/**
 * Counts what one patch makes the server do beyond what its own size and that of the object explain, and refuses it with
 * a 413 past `limits.patchStepsMax`: a few bytes of a patch can cause work over the whole object, again and again.
 */
export class Effort {
  #left: number = limits.patchStepsMax;

  /** A step is a field or an element that is looked at. */
  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw entityTooLarge(`applying the patch takes more than ${limits.patchStepsMax} steps`);
  }
}
