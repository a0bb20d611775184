import { badRequest } from '../meta/status-error.ts';
import type { Admission, AdmissionAttributes } from '../request/admission.ts';

/** One rule of admission. */
export interface AdmissionPlugin {
  readonly name: string;
  /**
   * What a plugin does beside changing or refusing the object (spec section 4.6): nothing; nothing in a dry run, which it
   * heeds by itself; or something in any case, for which a dry run that it concerns is refused.
   */
  readonly sideEffects: 'none' | 'noneOnDryRun' | 'some';
  /** Whether the plugin has anything to do with this write. Decided by what the write is, never by other state. */
  readonly concerns: (attributes: AdmissionAttributes) => boolean;
  /** Changes the object in place, and may refuse too. All plugins mutate before the kind's own validation. */
  readonly mutate?: (attributes: AdmissionAttributes) => Promise<void> | void;
  /** Refuses by throwing a StatusError. Runs after the kind's own validation; never changes the object. */
  readonly validate?: (attributes: AdmissionAttributes) => Promise<void> | void;
}

/** Runs the plugins in the order given: first all that mutate, then all that validate. The first refusal ends it. */
export const admissionChain = (plugins: readonly AdmissionPlugin[]): Admission => ({
  async mutate(attributes) {
    for (const plugin of plugins) {
      if (!plugin.concerns(attributes)) continue;
      refuseEffects(plugin, attributes);
      await plugin.mutate?.(attributes);
    }
  },
  async validate(attributes) {
    for (const plugin of plugins) {
      // A plugin that mutates may have made the write one that concerns another.
      if (!plugin.validate || !plugin.concerns(attributes)) continue;
      refuseEffects(plugin, attributes);
      await plugin.validate(attributes);
    }
  },
});

function refuseEffects({ name, sideEffects }: AdmissionPlugin, { dryRun }: AdmissionAttributes): void {
  if (dryRun && sideEffects === 'some') throw badRequest(`admission plugin "${name}" does not support dry run`);
}
