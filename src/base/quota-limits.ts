/** Limits of what quotas make writes wait for. */
export const quotaLimits = {
  /** Attempts to charge a quota that other servers charge too. kube-apiserver makes 4. */
  quotaWriteAttemptsMax: 32,
  /** Longest wait of a write to be charged to its quotas. */
  quotaChargeMsMax: 10_000,
  /** Writes that are charged to the quotas of a namespace at once. */
  quotaBatchMax: 256,
} as const;
