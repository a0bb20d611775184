/** Limits of claims for devices, and of what drivers offer. Part of `limits`. */
export const deviceLimits = {
  /** Requests, constraints, configurations and selectors of a resource claim, and results of its allocation. */
  deviceListMax: 32,
  /** Expression of a selector of devices, its cost, and the parameters of a driver. */
  deviceSelectorBytesMax: 10 * 1024,
  deviceSelectorCostMax: 1_000_000,
  deviceParametersBytesMax: 10 * 1024,
  /** Who uses a claim. */
  claimUsersMax: 256,
  devicesOfSliceMax: 128,
  /** Attributes and capacities of a device, and the lengths of their names, domains and values. */
  devicePropertiesMax: 32,
  devicePropertyNameMax: 32,
  deviceDomainMax: 63,
  deviceValueBytesMax: 64,
  deviceConditionsMax: 8,
  deviceAddressesMax: 16,
  deviceInterfaceBytesMax: 256,
  deviceHardwareAddressBytesMax: 128,
} as const;
