import { untilAborted } from '../base/until-aborted.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import type { Admission, AdmissionAttributes } from '../request/admission.ts';
import { MutatorRounds } from './mutator-rounds.ts';

/**
 * What is done beside changing or refusing the object (spec section 4.6): nothing; nothing in a dry run, which is heeded
 * there; or something in any case, for which a dry run is refused.
 */
export type SideEffects = 'none' | 'noneOnDryRun' | 'some';

/** One rule of admission. */
export interface AdmissionPlugin {
  readonly name: string;
  readonly sideEffects: SideEffects;
  /** Whether the plugin has anything to do with this write. Decided by what the write is, never by other state. */
  readonly concerns: (attributes: AdmissionAttributes) => boolean;
  /**
   * Changes the object in place, and may refuse too. All plugins mutate before the kind's own validation. Runs a second time
   * where a mutator changed the object: what it finds done already it must not do again.
   */
  readonly mutate?: (attributes: AdmissionAttributes) => Promise<void> | void;
  /** Those of a plugin whose mutators come and go while the server runs: webhooks, policies. In the order of running. */
  readonly mutators?: (attributes: AdmissionAttributes) => readonly Mutator[];
  /** Refuses by throwing a StatusError. Runs after the kind's own validation; never changes the object. */
  readonly validate?: (attributes: AdmissionAttributes) => Promise<void> | void;
}

/** A webhook or policy that changes objects. */
export interface Mutator {
  /** Unique within its plugin. */
  readonly id: string;
  /** For messages: `admission webhook "a.example.com"`. */
  readonly title: string;
  readonly sideEffects: SideEffects;
  /** `ifNeeded`: runs once more where the object was changed after it. */
  readonly reinvocationPolicy: 'never' | 'ifNeeded';
  /** Asked right before it would run, of the object as it is then. */
  readonly concerns: (attributes: AdmissionAttributes) => boolean;
  /** Changes the object by `replace` only. */
  readonly mutate: (attributes: AdmissionAttributes) => Promise<void> | void;
}

/**
 * Runs the plugins in the order given: first all that mutate, then all that validate. The first refusal ends it, and so does
 * the end of the request, whether or not a plugin heeds that.
 *
 * Where a mutator changed the object, those that mutate run once more, in the same order: plugins of the server all, mutators
 * as their reinvocation policy says. What changes then makes nobody run a third time.
 */
export const admissionChain = (plugins: readonly AdmissionPlugin[]): Admission => ({
  mutate(attributes) {
    const rounds = new MutatorRounds();
    const round = () => inTurn(plugins, (plugin) => mutate(plugin, attributes, rounds));
    const again = () => (rounds.beginSecond() ? round() : undefined);
    const first = round();
    return first ? first.then(again) : again();
  },
  validate: (attributes) =>
    inTurn(plugins, (plugin) => {
      // A plugin that mutates may have made the write one that concerns another.
      if (!plugin.validate || !plugin.concerns(attributes)) return undefined;
      if (isRefused(plugin, attributes)) throw sideEffectsRefused(titleOf(plugin));
      return whileAsked(plugin.validate(attributes), attributes);
    }),
});

/** Calls `step` for each item when the one before is done. A promise only where one of them waits, as few do. */
function inTurn<T>(items: readonly T[], step: (item: T) => Promise<void> | void, from = 0): Promise<void> | void {
  for (let at = from; at < items.length; at++) {
    const waiting = step(items[at] as T);
    if (waiting) return waiting.then(() => inTurn(items, step, at + 1));
  }
}

/** What a plugin waits for, no longer than the request lasts. */
const whileAsked = (work: Promise<void> | void, attributes: AdmissionAttributes): Promise<void> | void =>
  work && untilAborted(work, attributes.signal);

function mutate(plugin: AdmissionPlugin, attributes: AdmissionAttributes, rounds: MutatorRounds): Promise<void> | void {
  if (!plugin.concerns(attributes)) return;
  if (isRefused(plugin, attributes)) throw sideEffectsRefused(titleOf(plugin));
  const mutating = whileAsked(plugin.mutate?.(attributes), attributes);
  const { mutators } = plugin;
  if (!mutators) return mutating;
  const run = () => runMutators(plugin, mutators(attributes), attributes, rounds);
  return mutating ? mutating.then(run) : run();
}

async function runMutators(
  plugin: AdmissionPlugin,
  mutators: readonly Mutator[],
  attributes: AdmissionAttributes,
  rounds: MutatorRounds,
): Promise<void> {
  rounds.enter(plugin, attributes);
  for (const mutator of mutators) {
    if (!rounds.isDue(plugin, mutator) || !mutator.concerns(attributes)) continue;
    if (isRefused(mutator, attributes)) throw sideEffectsRefused(mutator.title);
    const before = attributes.replacements;
    const mutating = mutator.mutate(attributes);
    if (mutating) await untilAborted(mutating, attributes.signal);
    rounds.ran(plugin, mutator, attributes.replacements !== before);
  }
  rounds.leave(plugin, attributes);
}

const titleOf = ({ name }: AdmissionPlugin): string => `admission plugin ${JSON.stringify(name)}`;

const isRefused = ({ sideEffects }: { readonly sideEffects: SideEffects }, { dryRun }: AdmissionAttributes): boolean =>
  dryRun && sideEffects === 'some';

const sideEffectsRefused = (title: string): StatusError => badRequest(`${title} does not support dry run`);
