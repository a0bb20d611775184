import type { Admission, AdmissionAttributes } from '../request/admission.ts';

/** One rule of admission. It sees every write; what does not concern it, it passes. */
export interface AdmissionPlugin {
  readonly name: string;
  /** Changes the object in place. All plugins mutate before any validates. */
  readonly mutate?: (attributes: AdmissionAttributes) => Promise<void> | void;
  /** Refuses by throwing a StatusError. Never changes the object. */
  readonly validate?: (attributes: AdmissionAttributes) => Promise<void> | void;
}

/** Runs the plugins in the order given, first all that mutate, then all that validate. */
export const admissionChain = (plugins: readonly AdmissionPlugin[]): Admission => ({
  async mutate(attributes) {
    for (const plugin of plugins) await plugin.mutate?.(attributes);
  },
  async validate(attributes) {
    for (const plugin of plugins) await plugin.validate?.(attributes);
  },
});
