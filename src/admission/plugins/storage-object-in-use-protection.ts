import type { Dialect } from '../../dialect/dialect.ts';
import { claimProtection, volumeProtection } from '../../kinds/core/storage-protection.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { writesResource } from './concerned-resource.ts';

/** New claims and volumes have a finalizer, which controllers remove when they are deleted and not in use. */
export function storageObjectInUseProtection(dialect: Dialect): AdmissionPlugin {
  const finalizers: ReadonlyMap<string, string> = new Map([
    ['persistentvolumeclaims', claimProtection(dialect)],
    ['persistentvolumes', volumeProtection(dialect)],
  ]);
  return {
    name: 'StorageObjectInUseProtection',
    sideEffects: 'none',
    concerns: (attributes) => {
      const { resource } = attributes.info;
      return (
        attributes.operation === 'create' &&
        finalizers.has(resource) &&
        writesResource(attributes, { group: '', resource })
      );
    },
    mutate({ info, object }) {
      const finalizer = finalizers.get(info.resource);
      if (!object || finalizer === undefined) return;
      const { finalizers: known = [] } = object.metadata;
      if (!known.includes(finalizer)) object.metadata.finalizers = [...known, finalizer];
    },
  };
}
