import type { ApiObject } from '../meta/api-object.ts';
import { cloneJson } from '../patch/json-value.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import { equalValues } from '../schema/equal-values.ts';
import type { AdmissionPlugin, Mutator } from './chain.ts';

interface PluginRound {
  /** Mutators that ran since the last change and run again after the next. */
  readonly waiting: Set<string>;
  /** Mutators to run in the second round. */
  readonly due: Set<string>;
  /** The object after the plugin's first turn; kept only if the second round may need it. */
  left: ApiObject | undefined;
}

/**
 * Decides which mutators run in the second round of one write (`reinvocationPolicy: IfNeeded`), as kube-apiserver does:
 * those with that policy that ran in the first round, if the object was changed after they ran, by another mutator of
 * the plugin or by anything between the plugin's two turns. A mutator that did not run in the first round does not run
 * in the second, even if it applies by then.
 *
 *     a (ifNeeded), b changes the object, c (ifNeeded)    the second round runs a
 *     ... and a changes it again                          c as well, since it comes after a
 */
export class MutatorRounds {
  readonly #plugins = new Map<AdmissionPlugin, PluginRound>();
  #changed = false;
  #isSecond = false;

  /** Starts the second round if one is needed, and returns whether it is. */
  beginSecond(): boolean {
    this.#isSecond = this.#changed;
    return this.#isSecond;
  }

  get round(): 0 | 1 {
    return this.#isSecond ? 1 : 0;
  }

  /** Start of the plugin's turn. */
  enter(plugin: AdmissionPlugin, { object }: AdmissionAttributes): void {
    const round = this.#roundOf(plugin);
    if (this.#isSecond && round.left && !equalValues(round.left, object)) markDue(round);
  }

  isDue(plugin: AdmissionPlugin, { id }: Mutator): boolean {
    return !this.#isSecond || this.#roundOf(plugin).due.has(id);
  }

  ran(plugin: AdmissionPlugin, { id, reinvocationPolicy }: Mutator, changed: boolean): void {
    const round = this.#roundOf(plugin);
    if (changed) {
      this.#changed = true;
      markDue(round);
    }
    if (reinvocationPolicy === 'ifNeeded') round.waiting.add(id);
  }

  /** End of the plugin's turn. */
  leave(plugin: AdmissionPlugin, { object }: AdmissionAttributes): void {
    const round = this.#roundOf(plugin);
    if (!this.#isSecond && object && round.waiting.size > 0) round.left = cloneJson(object);
  }

  #roundOf(plugin: AdmissionPlugin): PluginRound {
    const known = this.#plugins.get(plugin) ?? { waiting: new Set(), due: new Set(), left: undefined };
    this.#plugins.set(plugin, known);
    return known;
  }
}

function markDue({ waiting, due }: PluginRound): void {
  for (const id of waiting) due.add(id);
  waiting.clear();
}
