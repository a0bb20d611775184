/** Limits of services and of what they are given. */
export const serviceLimits = {
  /** Seconds for which a client of a service stays with a pod; published. */
  affinitySecondsMax: 86_400,
  /** Addresses of a range of IPv6 that are given to services; published. */
  ipv6PoolMax: 65_536,
  /** Bits of an address that vary within a ServiceCIDR from which services get any; published. */
  storedRangeBitsMax: 64,
  /** Values of a pool among which is chosen; more can be asked for. */
  poolChoiceMax: 2 ** 32,
  /** Random tries for a free value of a pool, before all that are taken are read; and how many are read at once. */
  poolProbesMax: 8,
  poolPageMax: 1_000,
} as const;
