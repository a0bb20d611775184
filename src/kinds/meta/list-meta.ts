import { int64, optional, string, struct } from '../../schema/schema.ts';

/** ListMeta, complete (spec section 2.1). */
export const listMeta = struct('apimachinery.pkg.apis.meta.v1.ListMeta', 'What every collection carries.', {
  selfLink: optional(1, string(), 'No longer filled in.', { deprecated: true }),
  resourceVersion: optional(2, string(), 'Version of the collection, from which a watch can go on.'),
  continue: optional(3, string(), 'Token that asks for the next chunk; empty at the end of the list.'),
  remainingItemCount: optional(4, int64(), 'Items after this chunk; left out when it is not known.', {
    presence: 'explicit',
  }),
});
