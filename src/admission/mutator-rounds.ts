import { equalValues } from '../apply/equal-values.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { cloneJson } from '../patch/json-value.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import type { AdmissionPlugin, Mutator } from './chain.ts';

interface PluginRound {
  /** Have run since the last change and would run again after the next. */
  readonly waiting: Set<string>;
  /** Run in the second round. */
  readonly due: Set<string>;
  /** The object as the plugin left it; kept only where that may be asked for. */
  left: ApiObject | undefined;
}

/**
 * Which mutators run in the second round of one write, by the published rules (`reinvocationPolicy: IfNeeded`): those that
 * ask for it and ran in the first, where the object was changed after they ran, by another mutator of the plugin or by
 * whatever ran between its two turns. A mutator that did not run in the first round does not run in the second, although
 * it may concern it by then.
 *
 *     a (ifNeeded), b changes the object, c (ifNeeded)    the second round runs a
 *     ... and a changes it again                          c as well, since it comes after a
 */
export class MutatorRounds {
  readonly #plugins = new Map<AdmissionPlugin, PluginRound>();
  #changed = false;
  #isSecond = false;

  /** True where a second round is needed, which begins now. */
  beginSecond(): boolean {
    this.#isSecond = this.#changed;
    return this.#isSecond;
  }

  /** The plugin's turn begins. */
  enter(plugin: AdmissionPlugin, { object }: AdmissionAttributes): void {
    const round = this.#roundOf(plugin);
    if (this.#isSecond && round.left && !equalValues(round.left, object)) makeDue(round);
  }

  isDue(plugin: AdmissionPlugin, { id }: Mutator): boolean {
    return !this.#isSecond || this.#roundOf(plugin).due.has(id);
  }

  ran(plugin: AdmissionPlugin, { id, reinvocationPolicy }: Mutator, changed: boolean): void {
    const round = this.#roundOf(plugin);
    if (changed) {
      this.#changed = true;
      makeDue(round);
    }
    if (reinvocationPolicy === 'ifNeeded') round.waiting.add(id);
  }

  /** The plugin's turn ends. */
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

function makeDue({ waiting, due }: PluginRound): void {
  for (const id of waiting) due.add(id);
  waiting.clear();
}
