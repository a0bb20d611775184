import { boolean, int64, list, optional, string, struct } from '../../schema/schema.ts';
import { typeMeta } from './type-meta.ts';

export const preconditions = struct(
  'apimachinery.pkg.apis.meta.v1.Preconditions',
  'What must hold for an operation to be carried out.',
  {
    uid: optional(1, string(), 'The UID that the object must have.', { presence: 'explicit' }),
    resourceVersion: optional(2, string(), 'The resourceVersion that the object must have.', { presence: 'explicit' }),
  },
);

/** The body of a DELETE (spec section 4.1, sets D and DC). */
export const deleteOptions = struct('apimachinery.pkg.apis.meta.v1.DeleteOptions', 'How to delete an object.', {
  ...typeMeta,
  gracePeriodSeconds: optional(
    1,
    int64(),
    'Seconds until the object is removed; 0 is at once, absent is the default of its kind.',
    {
      presence: 'explicit',
    },
  ),
  preconditions: optional(2, preconditions, 'What must hold for the deletion, or it fails with a conflict.', {
    presence: 'explicit',
  }),
  orphanDependents: optional(3, boolean(), 'Use propagationPolicy instead: true leaves dependents behind.', {
    presence: 'explicit',
    deprecated: true,
  }),
  propagationPolicy: optional(
    4,
    string(),
    'What happens to dependents: `Orphan` keeps them, `Background` deletes them later, `Foreground` deletes them first.',
    { presence: 'explicit' },
  ),
  dryRun: optional(5, list(string()), '`All` runs every stage without storing anything.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: optional(
    6,
    boolean(),
    'Removes an object that cannot be read from the store, ignoring finalizers and preconditions.',
    { presence: 'explicit' },
  ),
});
