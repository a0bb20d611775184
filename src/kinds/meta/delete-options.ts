import { bool, int64, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { typeMeta } from './type-meta.ts';

export const preconditions = struct('apimachinery.pkg.apis.meta.v1.Preconditions', 'What must hold for an operation to be carried out.', {
  uid: ptr(1, string(), 'The UID that the object must have.'),
  resourceVersion: ptr(2, string(), 'The resourceVersion that the object must have.'),
});

/** The body of a DELETE (spec section 4.1, sets D and DC). */
export const deleteOptions = struct('apimachinery.pkg.apis.meta.v1.DeleteOptions', 'How to delete an object.', {
  ...typeMeta,
  gracePeriodSeconds: ptr(1, int64(), 'Seconds until the object is removed; 0 is at once, absent is the default of its kind.'),
  preconditions: ptr(2, preconditions, 'What must hold for the deletion, or it fails with a conflict.'),
  orphanDependents: ptr(3, bool(), 'Use propagationPolicy instead: true leaves dependents behind.', { deprecated: true }),
  propagationPolicy: ptr(4, string(), 'What happens to dependents: `Orphan` keeps them, `Background` deletes them later, `Foreground` deletes them first.'),
  dryRun: opt(5, list(string()), '`All` runs every stage without storing anything.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: ptr(6, bool(), 'Removes an object that cannot be read from the store, ignoring finalizers and preconditions.'),
});
