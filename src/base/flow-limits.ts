/** Limits of what follows flow schemas, part of `limits`. Milliseconds. */
export const flowLimits = {
  /** Conditions are written so long after a change, and so long after a failure. */
  flowConditionsGatherMs: 1_000,
  flowConditionsRetryMs: 30_000,
} as const;
