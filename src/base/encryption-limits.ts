/** Limits of encryption at rest, part of `limits`: milliseconds, bytes, counts. Those of plugins are kube-apiserver's. */
export const encryptionLimits = {
  /** How often the status of a KMS plugin is asked for: healthy, and not. */
  kmsPollMs: 60_000,
  kmsPollFailingMs: 10_000,
  /** How long an answer about the health of a plugin is shared: healthy, and not. */
  kmsHealthyMs: 20_000,
  kmsUnhealthyMs: 3_000,
  /** How long values are still encrypted under a seed after the last good status of its plugin. */
  kmsSeedWriteMs: 3 * 60_000,
  /** The id of a key, an encrypted seed, and annotations of a plugin. */
  kmsKeyIdBytesMax: 1_024,
  kmsSeedBytesMax: 1_024,
  kmsAnnotationsBytesMax: 32 * 1_024,
  /** Decrypted seeds kept of one plugin; those not used for longest are asked for again. */
  kmsSeedsMax: 4_096,
  /** Seeds that a plugin could not decrypt, which are tried again by themselves. */
  kmsFailedSeedsMax: 1_024,
  /** Longest pause between attempts at such a seed. */
  kmsRetryMsMax: 10 * 60_000,
  /** Calls to one plugin at once. */
  kmsCallsMax: 16,
  /** A new configuration counts only if its plugins are healthy within this time, or twice their timeouts. */
  encryptionReloadMsMax: 10_000,
  /** How often values that cannot be read have the file looked at, and how long they wait for what it holds to be in use. */
  encryptionUnknownKeyLookMs: 100,
  encryptionUnknownKeyWaitMs: 2_000,
  /** How often they are looked at meanwhile. */
  encryptionReloadLookMs: 100,
  /** Pause before a configuration whose plugins were not healthy is tried again; doubled up to the maximum. */
  encryptionRetryMsMin: 5_000,
  encryptionRetryMsMax: 5 * 60_000,
} as const;
