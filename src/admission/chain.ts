import { untilAborted } from '../base/until-aborted.ts';
import { badRequest } from '../meta/status-error.ts';
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
  async mutate(attributes) {
    const rounds = new MutatorRounds();
    await mutateOnce(plugins, attributes, rounds);
    if (rounds.beginSecond()) await mutateOnce(plugins, attributes, rounds);
  },
  async validate(attributes) {
    for (const plugin of plugins) {
      // A plugin that mutates may have made the write one that concerns another.
      if (!plugin.validate || !plugin.concerns(attributes)) continue;
      refuseSideEffects(titleOf(plugin), plugin, attributes);
      const validating = plugin.validate(attributes);
      if (validating) await untilAborted(validating, attributes.signal);
    }
  },
});

async function mutateOnce(
  plugins: readonly AdmissionPlugin[],
  attributes: AdmissionAttributes,
  rounds: MutatorRounds,
): Promise<void> {
  for (const plugin of plugins) {
    if (!plugin.concerns(attributes)) continue;
    refuseSideEffects(titleOf(plugin), plugin, attributes);
    const mutating = plugin.mutate?.(attributes);
    if (mutating) await untilAborted(mutating, attributes.signal);
    if (plugin.mutators) await runMutators(plugin, plugin.mutators(attributes), attributes, rounds);
  }
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
    refuseSideEffects(mutator.title, mutator, attributes);
    const before = attributes.replacements;
    const mutating = mutator.mutate(attributes);
    if (mutating) await untilAborted(mutating, attributes.signal);
    rounds.ran(plugin, mutator, attributes.replacements !== before);
  }
  rounds.leave(plugin, attributes);
}

const titleOf = ({ name }: AdmissionPlugin): string => `admission plugin ${JSON.stringify(name)}`;

function refuseSideEffects(
  title: string,
  { sideEffects }: { readonly sideEffects: SideEffects },
  { dryRun }: AdmissionAttributes,
): void {
  if (dryRun && sideEffects === 'some') throw badRequest(`${title} does not support dry run`);
}
