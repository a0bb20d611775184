import { limits } from '../../base/limits.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { boundedCount, errorsOfEach, type FieldError, forbidden, invalid, notSupported, required, tooLong } from '../../meta/field-error.ts';
import { isCidr } from '../../meta/formats.ts';
import { equalValues } from '../../schema/equal-values.ts';
import type { Infer } from '../../schema/schema.ts';
import { validateDriverName } from '../core/driver-name.ts';
import { validateNodeSelector } from '../core/pod/validation/affinity-validation.ts';
import { conditionsErrors } from '../meta/condition.ts';
import { typed } from '../typed.ts';
import { errorsOfSet, requestNames, validateConfiguration, validateDeviceName, validateParameters, validatePoolName, validateReferences, validateRequestReference } from './device-errors.ts';
import { betaSchemas } from './device-schemas.ts';

type Status = NonNullable<Infer<typeof betaSchemas.resourceClaim>['status']>;
type Allocation = NonNullable<Status['allocation']>;
type DeviceStatus = NonNullable<Status['devices']>[number];

interface DeviceId {
  readonly driver?: string;
  readonly pool?: string;
  readonly device?: string;
}

/** A device as errors name it. */
const idOf = ({ driver = '', pool = '', device = '' }: DeviceId): string => `${driver}/${pool}/${device}`;

/** What drivers tell of devices that are no longer allocated goes with them. */
export function dropDeallocated(object: ApiObject, old: ApiObject): void {
  const [status, before] = [object, old].map((each) => typed(betaSchemas.resourceClaim, each).status ?? {}) as [Status, Status];
  const kept = new Set((status.allocation?.devices?.results ?? []).map(idOf));
  const gone = new Set((before.allocation?.devices?.results ?? []).map(idOf).filter((id) => !kept.has(id)));
  if (!status.devices || gone.size === 0) return;
  const devices = status.devices.filter((device) => !gone.has(idOf(device)));
  if (devices.length > 0) status.devices = devices;
  else delete status.devices;
}

export function validateClaimStatus(object: ApiObject, old: ApiObject): FieldError[] {
  const [{ spec, status = {} }, { status: before = {} }] = [typed(betaSchemas.resourceClaim, object), typed(betaSchemas.resourceClaim, old)];
  const { reservedFor = [], devices = [], allocation } = status;
  const allocated = new Set((allocation?.devices?.results ?? []).map(idOf));
  const validateAllocation = (): FieldError[] => {
    if (!allocation) return [];
    if (!before.allocation) return validateAllocated(allocation, 'status.allocation', requestNames(spec?.devices ?? {}));
    return equalValues(allocation, before.allocation) ? [] : [invalid('status.allocation', allocation, 'field is immutable')];
  };
  return [
    ...errorsOfSet(
      reservedFor,
      'status.reservedFor',
      ({ resource, name, uid }, path) => [...(resource ? [] : [required(`${path}.resource`)]), ...(name ? [] : [required(`${path}.name`)]), ...(uid ? [] : [required(`${path}.uid`)])],
      { max: limits.claimUsersMax, key: ({ uid = '' }) => uid, field: '.uid' },
    ),
    ...errorsOfSet(devices, 'status.devices', (device, path) => validateDeviceStatus(device, path, allocated), { key: idOf, field: '.deviceID' }),
    ...validateReservations(object, status, before),
    ...validateAllocation(),
  ];
}

function validateReservations({ metadata: { deletionTimestamp } }: ApiObject, { reservedFor = [], allocation }: Status, before: Status): FieldError[] {
  const path = 'status.reservedFor';
  if (reservedFor.length === 0) return [];
  if (!allocation) return [forbidden(path, 'may not be specified when `allocated` is not set')];
  const isNew = (each: unknown): boolean => !(before.reservedFor ?? []).some((old) => equalValues(old, each));
  return deletionTimestamp !== undefined && reservedFor.some(isNew) ? [forbidden(path, 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set')] : [];
}

const sources = ['FromClaim', 'FromClass'];

function validateAllocated({ devices: { results = [], config = [] } = {}, nodeSelector }: Allocation, path: string, names: ReadonlySet<string>): FieldError[] {
  return [
    ...errorsOfEach(results, ({ request = '', driver = '', pool = '', device = '' }, index) => {
      const at = `${path}.devices.results[${index}]`;
      return [
        ...validateRequestReference(request, `${at}.request`, names),
        ...validateDriverName(driver, `${at}.driver`),
        ...validatePoolName(pool, `${at}.pool`),
        ...validateDeviceName(device, `${at}.device`),
      ];
    }),
    ...boundedCount(`${path}.devices.results`, results.length, limits.deviceListMax),
    ...errorsOfEach(config, ({ source = '', requests = [], ...configuration }, index) => {
      const at = `${path}.devices.config[${index}]`;
      const known = sources.includes(source);
      return [
        ...(known ? [] : [source === '' ? required(`${at}.source`) : notSupported(`${at}.source`, source, sources)]),
        ...validateReferences(requests, `${at}.requests`, names),
        ...validateConfiguration(configuration, at),
      ];
    }),
    ...boundedCount(`${path}.devices.config`, config.length, 2 * limits.deviceListMax),
    ...(nodeSelector ? validateNodeSelector(nodeSelector, `${path}.nodeSelector`, { labelValues: true }) : []),
  ];
}

function validateDeviceStatus(status: DeviceStatus, path: string, allocated: ReadonlySet<string>): FieldError[] {
  const { driver = '', pool = '', device = '', conditions = [], data, networkData } = status;
  return [
    ...validateDriverName(driver, `${path}.driver`),
    ...validatePoolName(pool, `${path}.pool`),
    ...validateDeviceName(device, `${path}.device`),
    ...(allocated.has(idOf(status)) ? [] : [invalid(path, idOf(status), 'must be an allocated device in the claim')]),
    ...boundedCount(`${path}.conditions`, conditions.length, limits.deviceConditionsMax),
    ...conditionsErrors(conditions, `${path}.conditions`),
    ...(data === undefined ? [] : validateParameters(data, `${path}.data`)),
    ...(networkData ? validateNetwork(networkData, `${path}.networkData`) : []),
  ];
}

function validateNetwork({ interfaceName = '', hardwareAddress = '', ips = [] }: NonNullable<DeviceStatus['networkData']>, path: string): FieldError[] {
  const bounded = (text: string, name: string, max: number): FieldError[] => (Buffer.byteLength(text) > max ? [tooLong(`${path}.${name}`, max)] : []);
  return [
    ...bounded(interfaceName, 'interfaceName', limits.deviceInterfaceBytesMax),
    ...bounded(hardwareAddress, 'hardwareAddress', limits.deviceHardwareAddressBytesMax),
    ...errorsOfSet(ips, `${path}.ips`, (address, at) => isCidr(address).map((problem) => invalid(at, address, problem)), { max: limits.deviceAddressesMax, key: (address) => address }),
  ];
}
