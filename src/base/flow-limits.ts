/** Limits of what follows flow schemas. Milliseconds. */
export const flowLimits = {
  /** Conditions are written so long after a change, and so long after a failure. */
  conditionsGatherMs: 1_000,
  conditionsRetryMs: 30_000,
} as const;
