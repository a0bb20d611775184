import type { Dialect } from '../../dialect/dialect.ts';
import { asClaim } from '../../kinds/core/persistent-volume-claim-schema.ts';
import { storageClassNameOf } from '../../kinds/core/storage-class-name.ts';
import { allowsExpansion } from '../../kinds/storage/storage-class.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { compareQuantity, parseQuantity } from '../../meta/quantity.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { type Classes, withFound } from './classes.ts';
import { writesResource } from './concerned-resource.ts';

interface ResizeOptions {
  readonly dialect: Dialect;
  readonly classes: Classes;
}

const claims = { group: '', resource: 'persistentvolumeclaims' };

/** A claim grows only if it is bound, and its storage class allows it. */
export const persistentVolumeClaimResize = ({ dialect, classes }: ResizeOptions): AdmissionPlugin => ({
  name: 'PersistentVolumeClaimResize',
  sideEffects: 'none',
  concerns: (attributes) => attributes.operation === 'update' && writesResource(attributes, claims),
  validate(attributes) {
    const { object, old } = attributes;
    if (!object || !old || !grows(object, old)) return;
    if (asClaim(old).status?.phase !== 'Bound') {
      throw admissionForbidden(attributes, 'Only bound persistent volume claims can be expanded');
    }
    const name = storageClassNameOf(object, dialect);
    const isSame = storageClassNameOf(old, dialect) === name;
    return withFound(name && isSame ? classes.named(name, attributes) : undefined, (found) => {
      if (found && allowsExpansion(found)) return;
      const why =
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
      throw admissionForbidden(attributes, why);
    });
  },
});

function grows(object: ApiObject, old: ApiObject): boolean {
  const [size, before] = [object, old].map((each) =>
    parseQuantity(asClaim(each).spec?.resources?.requests?.['storage'] ?? '0'),
  );
  return size !== undefined && before !== undefined && compareQuantity(size, before) > 0;
}
