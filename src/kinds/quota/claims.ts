import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { compareQuantity, parseQuantity, type Quantity, roundUpQuantity } from '../../meta/quantity.ts';
import { persistentVolumeClaimSchema } from '../core/persistent-volume-claim-schema.ts';
import { typed } from '../typed.ts';
import { objects } from './amounts.ts';
import { type Evaluator, handlesWrites, objectCountOf } from './evaluator.ts';

const volumeClaims = { group: '', resource: 'persistentvolumeclaims' };
const volumeClaimCount = objectCountOf(volumeClaims);
const ofClasses = ['persistentvolumeclaims', 'requests.storage'];

/** Claims of storage count as objects and with what they request, of all storage and of that of their class. */
export function persistentVolumeClaims({ domain, group }: Dialect): Evaluator {
  const infix = `.storageclass.${group('storage')}/`;
  return {
    resource: volumeClaims,
    // A claim can grow.
    handles: handlesWrites,
    counts: (name) => name === volumeClaimCount || ofClasses.includes(name) || ofClasses.some((each) => name.endsWith(infix + each)),
    reads: 'object',
    measure(object) {
      const usage = new Map([
        [volumeClaimCount, objects(1)],
        ['persistentvolumeclaims', objects(1)],
      ]);
      const storage = storageOf(object);
      if (storage) usage.set('requests.storage', storage);
      const named = object.metadata.annotations?.[`volume.beta.${domain}/storage-class`];
      const storageClass = named ?? typed(persistentVolumeClaimSchema, object).spec?.storageClassName ?? '';
      if (storageClass !== '') {
        usage.set(`${storageClass}${infix}persistentvolumeclaims`, objects(1));
        if (storage) usage.set(`${storageClass}${infix}requests.storage`, storage);
      }
      return { usage };
    },
  };
}

/** In whole bytes. Storage that was set aside for a growth counts until the growth is given up. */
function storageOf(object: ApiObject): Quantity | undefined {
  const { spec, status } = typed(persistentVolumeClaimSchema, object);
  const requested = parseQuantity(spec?.resources?.requests?.['storage'] ?? '');
  if (!requested) return undefined;
  const allocated = parseQuantity(status?.allocatedResources?.['storage'] ?? '');
  return roundUpQuantity(allocated && compareQuantity(allocated, requested) > 0 ? allocated : requested, 0);
}

interface DeviceClaimView {
  readonly devices?: {
    readonly requests?: readonly {
      readonly deviceClassName?: string;
      readonly allocationMode?: string;
      readonly count?: number | bigint;
    }[];
  };
}

/** Most devices that a claim can be given, which counts for one that wants all there are. */
const devicesMax = 32;

/** Claims of devices count as objects, and with how many devices of each class they may be given. */
export function resourceClaims({ group }: Dialect): Evaluator {
  const resource = { group: group('resource'), resource: 'resourceclaims' };
  const objectCount = objectCountOf(resource);
  const suffix = `.deviceclass.${resource.group}/devices`;
  return {
    resource,
    handles: handlesWrites,
    counts: (name) => name === objectCount || name.endsWith(suffix),
    reads: 'object',
    measure(object) {
      const { devices } = (object as ApiObject & { readonly spec?: DeviceClaimView }).spec ?? {};
      const byClass = new Map<string, bigint>();
      for (const { deviceClassName = '', allocationMode, count = 0 } of devices?.requests ?? []) {
        const wanted = allocationMode === 'ExactCount' ? count : allocationMode === 'All' ? devicesMax : 0;
        byClass.set(deviceClassName, (byClass.get(deviceClassName) ?? 0n) + BigInt(wanted));
      }
      const usage = new Map([[objectCount, objects(1)]]);
      for (const [name, count] of byClass) usage.set(`${name}${suffix}`, objects(count));
      return { usage };
    },
  };
}
