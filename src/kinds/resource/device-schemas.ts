import { always, anyObject, bool, inline, int64, list, map, opt, ptr, quantity, type Schema, string, struct } from '../../schema/schema.ts';
import { nodeSelector } from '../core/node-selector.ts';
import { condition } from '../meta/condition.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { objectMeta } from '../meta/object-meta.ts';

const required = { documented: 'required' } as const;

/** Schemas of dynamic resource allocation (KEP-4381) in a version. The versions differ in what a capacity is. */
function schemasOf<const C extends Schema>(version: string, capacity: C) {
  const name = <const N extends string>(kind: N) => `api.resource.${version}.${kind}`;
  const names = list(string(), { listType: 'atomic' });

  const cel = struct(name('CELDeviceSelector'), 'An expression about a device.', {
    expression: always(1, string(), 'True if the device fits; it sees `device`.', required),
  });
  const selector = struct(name('DeviceSelector'), 'Selects devices.', { cel: ptr(1, cel, 'Selects by an expression.') });
  const selectors = list(selector, { listType: 'atomic' });
  const opaque = struct(name('OpaqueDeviceConfiguration'), 'Configuration that a driver understands.', {
    driver: always(1, string(), 'Name of the driver.', required),
    parameters: always(2, anyObject({ name: 'apimachinery.pkg.runtime.RawExtension', mapType: 'atomic' }), 'What the driver is told.', required),
  });
  const configuration = struct(name('DeviceConfiguration'), 'Configuration of devices.', { opaque: ptr(1, opaque, 'What a driver is told.') });
  const claimConfiguration = struct(name('DeviceClaimConfiguration'), 'Configuration of the devices of some requests.', {
    requests: opt(1, names, 'Requests that it is for; all of them if there are none.'),
    ...inline(2, configuration),
  });
  const request = struct(name('DeviceRequest'), 'Devices of a class that are wanted.', {
    name: always(1, string(), 'Name of the request.', required),
    deviceClassName: always(2, string(), 'Name of the class.', required),
    selectors: opt(3, selectors, 'What each device must meet besides.'),
    allocationMode: opt(4, string(), '`ExactCount` or `All`.'),
    count: opt(5, int64(), 'How many devices, with `ExactCount`.'),
    adminAccess: ptr(6, bool(), 'The devices may be in use already.', { gate: 'DRAAdminAccess' }),
  });
  const constraint = struct(name('DeviceConstraint'), 'What devices must have in common.', {
    requests: opt(1, names, 'Requests that it is for; all of them if there are none.'),
    matchAttribute: ptr(2, string(), 'Attribute whose value is the same in all devices.'),
  });
  const claim = struct(name('DeviceClaim'), 'The devices that are wanted.', {
    requests: always(1, list(request, { listType: 'atomic' }), 'What is wanted.', { documented: 'optional' }),
    constraints: opt(2, list(constraint, { listType: 'atomic' }), 'What devices must have in common.'),
    config: opt(3, list(claimConfiguration, { listType: 'atomic' }), 'What drivers are told.'),
  });
  const claimSpec = struct(name('ResourceClaimSpec'), 'What is wanted.', { devices: always(1, claim, 'The devices that are wanted.') });

  const result = struct(name('DeviceRequestAllocationResult'), 'A device that was allocated for a request.', {
    request: always(1, string(), 'Name of the request.', required),
    driver: always(2, string(), 'Name of the driver.', required),
    pool: always(3, string(), 'Name of the pool.', required),
    device: always(4, string(), 'Name of the device in its pool.', required),
    adminAccess: ptr(5, bool(), 'Others may use the device.', { gate: 'DRAAdminAccess' }),
  });
  const allocatedConfiguration = struct(name('DeviceAllocationConfiguration'), 'Configuration of the devices of some requests.', {
    source: always(1, string(), '`FromClass` or `FromClaim`.', required),
    requests: opt(2, names, 'Requests that it is for; all of them if there are none.'),
    ...inline(3, configuration),
  });
  const results = struct(name('DeviceAllocationResult'), 'The devices that were allocated.', {
    results: opt(1, list(result, { listType: 'atomic' }), 'One for each device.'),
    config: opt(2, list(allocatedConfiguration, { listType: 'atomic' }), 'What drivers are told.'),
  });
  const allocation = struct(name('AllocationResult'), 'What was allocated.', {
    devices: always(1, results, 'The devices.'),
    nodeSelector: ptr(3, nodeSelector, 'Where the devices can be used; anywhere unless set.'),
  });
  const consumer = struct(name('ResourceClaimConsumerReference'), 'Somebody who may use a claim.', {
    apiGroup: opt(1, string(), 'Group of the object; empty for the core group.'),
    resource: always(3, string(), 'Resource of the object, such as `pods`.', required),
    name: always(4, string(), 'Name of the object.', required),
    uid: always(5, string(), 'UID of the object.', required),
  });
  const network = struct(name('NetworkDeviceData'), 'A device as part of a network.', {
    interfaceName: opt(1, string(), 'Name of the interface.'),
    ips: opt(2, names, 'Its addresses, each with the length of its prefix.'),
    hardwareAddress: opt(3, string(), 'Its hardware address.'),
  });
  const deviceStatus = struct(name('AllocatedDeviceStatus'), 'What a driver tells of a device.', {
    driver: always(1, string(), 'Name of the driver.', required),
    pool: always(2, string(), 'Name of the pool.', required),
    device: always(3, string(), 'Name of the device in its pool.', required),
    conditions: opt(4, list(condition, { listType: 'map', mapKeys: ['type'], duplicatesAllowed: true }), 'What is known of the state.'),
    data: opt(5, anyObject({ name: 'apimachinery.pkg.runtime.RawExtension', mapType: 'atomic' }), 'What the driver tells.'),
    networkData: ptr(6, network, 'The device as part of a network.'),
  });
  const status = struct(name('ResourceClaimStatus'), 'What was allocated, and for whom.', {
    allocation: ptr(1, allocation, 'What was allocated.'),
    reservedFor: opt(2, list(consumer, { listType: 'map', mapKeys: ['uid'], patchStrategy: 'merge', patchMergeKey: 'uid', duplicatesAllowed: true }), 'Who may use it.'),
    devices: opt(4, list(deviceStatus, { listType: 'map', mapKeys: ['driver', 'device', 'pool'], duplicatesAllowed: true }), 'What drivers tell of the devices.', {
      gate: 'DRAResourceClaimDeviceStatus',
    }),
  });

  const templateSpec = struct(name('ResourceClaimTemplateSpec'), 'What claims are made of.', {
    metadata: always(1, objectMeta, 'Labels and annotations of the claims.'),
    spec: always(2, claimSpec, 'What is wanted.', required),
  });

  const classConfiguration = struct(name('DeviceClassConfiguration'), 'Configuration of the devices of a class.', inline(1, configuration));
  const classSpec = struct(name('DeviceClassSpec'), 'What devices of a class are.', {
    selectors: opt(1, selectors, 'What each device must meet.'),
    config: opt(2, list(classConfiguration, { listType: 'atomic' }), 'What drivers are told.'),
  });

  const attribute = struct(name('DeviceAttribute'), 'A value of one type.', {
    int: ptr(2, int64(), 'A number.'),
    bool: ptr(3, bool(), 'A truth value.'),
    string: ptr(4, string(), 'A text.'),
    version: ptr(5, string(), 'A semantic version.'),
  });
  const basic = struct(name('BasicDevice'), 'A device as it is.', {
    attributes: opt(1, map(attribute), 'What the device is.'),
    capacity: opt(2, map(capacity), 'How much the device has.'),
  });
  const device = struct(name('Device'), 'A device.', {
    name: always(1, string(), 'Name of the device in its pool.', required),
    basic: ptr(2, basic, 'What the device is.'),
  });
  const pool = struct(name('ResourcePool'), 'The pool of the devices.', {
    name: always(1, string(), 'Name of the pool.', required),
    generation: always(2, int64(), 'Higher in newer slices of the pool.', required),
    resourceSliceCount: always(3, int64(), 'Slices of the pool in this generation.', required),
  });
  const sliceSpec = struct(name('ResourceSliceSpec'), 'Devices of a driver.', {
    driver: always(1, string(), 'Name of the driver.', required),
    pool: always(2, pool, 'The pool of the devices.', required),
    nodeName: opt(3, string(), 'The node that has the devices.'),
    nodeSelector: ptr(4, nodeSelector, 'Nodes that can use the devices.'),
    allNodes: opt(5, bool(), 'All nodes can use the devices.'),
    devices: always(6, list(device, { listType: 'atomic' }), 'The devices.', { documented: 'optional' }),
  });

  return {
    resourceClaim: kindSchema(name('ResourceClaim'), 'Wants devices, and says which were allocated.', {
      spec: always(2, claimSpec, 'What is wanted; it never changes.', required),
      status: always(3, status, 'What was allocated.'),
    }),
    resourceClaimTemplate: kindSchema(name('ResourceClaimTemplate'), 'What claims of pods are made of.', {
      spec: always(2, templateSpec, 'What claims are made of; it never changes.', required),
    }),
    deviceClass: kindSchema(name('DeviceClass'), 'Devices that are alike.', { spec: always(2, classSpec, 'What they are.', required) }),
    resourceSlice: kindSchema(name('ResourceSlice'), 'Devices that a driver offers.', { spec: always(2, sliceSpec, 'The devices.', required) }),
  };
}

const deviceCapacity = struct('api.resource.v1beta1.DeviceCapacity', 'How much a device has of something.', {
  value: always(1, quantity(), 'The amount.', required),
});

export const betaSchemas = schemasOf('v1beta1', deviceCapacity);
export const alphaSchemas = schemasOf('v1alpha3', quantity());
