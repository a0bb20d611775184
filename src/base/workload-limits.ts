/** Limits of the controllers of workloads: part of `limits`. Durations are milliseconds, everything else counts. */
export const workloadLimits = {
  /** How long a controller waits for its own writes to come back by a watch, as long as kube-controller-manager expects them. */
  ownWritesSeenMs: 5 * 60_000,
  /** Pods that one pass of a controller creates or deletes at most, as in kube-controller-manager; and how many at once. */
  podsPerPassMax: 500,
  podWritesAtOnce: 16,
  /** Characters of the revisions that a replica set has had, as in kube-controller-manager. */
  revisionHistoryCharsMax: 2_000,
  /**
   * Finished pods that are kept, the pause between passes over all pods, and how long a node must be missing before its pods are
   * removed, as in kube-controller-manager.
   */
  finishedPodsMax: 12_500,
  podCollectionMs: 20_000,
  missingNodeMs: 40_000,
  /** Addresses of an Endpoints object, and endpoints that a slice is filled up to, as in kube-controller-manager. */
  endpointsAddressesMax: 1_000,
  endpointsPerSlice: 100,
} as const;
