import type { Dialect } from '../../dialect/dialect.ts';
import { asClaim } from '../../kinds/core/persistent-volume-claim-schema.ts';
import { storageClassNameOf } from '../../kinds/core/storage-class-name.ts';
import { nameOf } from '../../meta/api-object.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { type DefaultedClasses, withFound } from './classes.ts';
import { writesResource } from './concerned-resource.ts';

interface DefaultStorageClassOptions {
  readonly dialect: Dialect;
  readonly classes: Pick<DefaultedClasses, 'byDefault'>;
}

const claims = { group: '', resource: 'persistentvolumeclaims' };

/** New claims that name no storage class get the default one. '' names none as well, but on purpose. */
export const defaultStorageClass = ({ dialect, classes }: DefaultStorageClassOptions): AdmissionPlugin => ({
  name: 'DefaultStorageClass',
  sideEffects: 'none',
  concerns: (attributes) => attributes.operation === 'create' && writesResource(attributes, claims),
  mutate(attributes) {
    const { object } = attributes;
    if (!object || storageClassNameOf(object, dialect) !== undefined) return;
    return withFound(classes.byDefault(attributes), (found) => {
      if (!found) return;
      const claim = asClaim(object);
      claim.spec = { ...claim.spec, storageClassName: nameOf(found) };
    });
  },
});
