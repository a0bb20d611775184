/** Limits of what stands in for a store in test environments. */
export const standInLimits = {
  /** A message to a store in another process: the largest batch, with the text around its writes. */
  frameBytesMax: 18 * 1024 * 1024,
  /** How long a program that should be etcd may take to answer who it is. */
  answerMsMax: 2_000,
  /** How long such a program is waited for, and how often it is looked for. */
  startMsMax: 20_000,
  lookMs: 10,
} as const;
