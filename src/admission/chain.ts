import { untilAborted } from '../base/time/until-aborted.ts';
import { badRequest, type StatusError } from '../meta/status-error.ts';
import type { Admission, AdmissionAttributes } from '../request/admission.ts';
import { MutatorRounds } from './mutator-rounds.ts';

/**
 * Side effects of a plugin outside the object (spec section 4.6): none; none in a dry run; or also in a dry run, which
 * is therefore rejected.
 */
export type SideEffects = 'none' | 'noneOnDryRun' | 'some';

/** An admission plugin. */
export interface AdmissionPlugin {
  readonly name: string;
  readonly sideEffects: SideEffects;
  /** Whether the plugin applies to this write. Depends only on the attributes, never on other state. */
  readonly concerns: (attributes: AdmissionAttributes) => boolean;
  /**
   * Modifies the object in place, or rejects it. All plugins mutate before the kind's validation. Called a second time
   * if a mutator changed the object, so it must be idempotent.
   */
  readonly mutate?: (attributes: AdmissionAttributes) => Promise<void> | void;
  /** The webhooks or policies of a plugin, which may change at run time, in execution order. */
  readonly mutators?: (attributes: AdmissionAttributes) => MutatorTurn | Promise<MutatorTurn>;
  /** Rejects by throwing a StatusError. Runs after the kind's validation; must not modify the object. */
  readonly validate?: (attributes: AdmissionAttributes) => Promise<void> | void;
  /** Runs what the plugin and its mutators do in one round, and measures it. Default: it is run. */
  readonly measureMutation?: (attributes: AdmissionAttributes, run: () => Promise<void> | void) => Promise<void> | void;
}

/** What the mutators of a plugin do with one write, in one round. */
export interface MutatorTurn {
  readonly mutators: readonly Mutator[];
  /** Called behind the last one. Rejects the write by throwing. */
  readonly end?: () => void;
}

/** The turn of a plugin without mutators for a write. */
export const noMutators: MutatorTurn = { mutators: [] };

/** A mutating webhook or policy. */
export interface Mutator {
  /** Unique within its plugin. */
  readonly id: string;
  /** For error messages: `admission webhook "a.example.com"`. */
  readonly title: string;
  readonly sideEffects: SideEffects;
  /** `ifNeeded`: called again if the object was changed after its first call. */
  readonly reinvocationPolicy: 'never' | 'ifNeeded';
  /** Evaluated immediately before the call, on the current object. Rejects the write by throwing. */
  readonly concerns: (attributes: AdmissionAttributes) => boolean | Promise<boolean>;
  /** Modifies the object through `replace` only. `round` is 1 when the mutators run again. */
  readonly mutate: (attributes: AdmissionAttributes, round: 0 | 1) => Promise<void> | void;
}

/**
 * Runs the plugins in the given order: first all mutate, then all validate. The first rejection ends the chain, and so
 * does the end of the request, even if a plugin ignores the signal.
 *
 * If a mutator changed the object, mutation runs a second time in the same order: all built-in plugins, and mutators
 * according to their reinvocation policy. Changes in the second round cause no third.
 */
export const admissionChain = (plugins: readonly AdmissionPlugin[]): Admission => ({
  mutate(attributes) {
    const rounds = new MutatorRounds();
    const round = () => inSequence(plugins, (plugin) => mutate(plugin, attributes, rounds));
    const again = () => (rounds.beginSecond() ? round() : undefined);
    const first = round();
    return first ? first.then(again) : again();
  },
  validate: (attributes) =>
    inSequence(plugins, (plugin) => {
      // A mutation may have made the write one that the plugin applies to.
      if (!plugin.validate || !plugin.concerns(attributes)) return undefined;
      if (isRefused(plugin, attributes)) throw sideEffectsRefused(titleOf(plugin));
      return untilRequestEnds(plugin.validate(attributes), attributes);
    }),
});

/** Calls `step` for each item in sequence. Returns a promise only if a step does, which is rare. */
function inSequence<T>(items: readonly T[], step: (item: T) => Promise<void> | void, from = 0): Promise<void> | void {
  for (let at = from; at < items.length; at++) {
    const waiting = step(items[at] as T);
    if (waiting) return waiting.then(() => inSequence(items, step, at + 1));
  }
}

/** Waits for a plugin, at most until the request ends. */
const untilRequestEnds = (work: Promise<void> | void, attributes: AdmissionAttributes): Promise<void> | void =>
  work && untilAborted(work, attributes.signal);

function mutate(plugin: AdmissionPlugin, attributes: AdmissionAttributes, rounds: MutatorRounds): Promise<void> | void {
  if (!plugin.concerns(attributes)) return;
  if (isRefused(plugin, attributes)) throw sideEffectsRefused(titleOf(plugin));
  const { measureMutation } = plugin;
  if (!measureMutation) return mutateUnmeasured(plugin, attributes, rounds);
  return measureMutation(attributes, () => mutateUnmeasured(plugin, attributes, rounds));
}

function mutateUnmeasured(
  plugin: AdmissionPlugin,
  attributes: AdmissionAttributes,
  rounds: MutatorRounds,
): Promise<void> | void {
  const mutating = untilRequestEnds(plugin.mutate?.(attributes), attributes);
  const { mutators } = plugin;
  if (!mutators) return mutating;
  const run = () => {
    const turn = mutators(attributes);
    // Most writes concern no mutator: they stay in one go.
    return turn === noMutators ? undefined : runMutators(plugin, turn, attributes, rounds);
  };
  return mutating ? mutating.then(run) : run();
}

async function runMutators(
  plugin: AdmissionPlugin,
  turn: MutatorTurn | Promise<MutatorTurn>,
  attributes: AdmissionAttributes,
  rounds: MutatorRounds,
): Promise<void> {
  const { mutators, end } = turn instanceof Promise ? await untilAborted(turn, attributes.signal) : turn;
  rounds.enter(plugin, attributes);
  for (const mutator of mutators) {
    if (!rounds.isDue(plugin, mutator)) continue;
    const concerned = mutator.concerns(attributes);
    if (!(typeof concerned === 'boolean' ? concerned : await untilAborted(concerned, attributes.signal))) continue;
    if (isRefused(mutator, attributes)) throw sideEffectsRefused(mutator.title);
    const before = attributes.replacements;
    const mutating = mutator.mutate(attributes, rounds.round);
    if (mutating) await untilAborted(mutating, attributes.signal);
    rounds.ran(plugin, mutator, attributes.replacements !== before);
  }
  rounds.leave(plugin, attributes);
  end?.();
}

const titleOf = ({ name }: AdmissionPlugin): string => `admission plugin ${JSON.stringify(name)}`;

const isRefused = ({ sideEffects }: { readonly sideEffects: SideEffects }, { dryRun }: AdmissionAttributes): boolean =>
  dryRun && sideEffects === 'some';

const sideEffectsRefused = (title: string): StatusError => badRequest(`${title} does not support dry run`);
