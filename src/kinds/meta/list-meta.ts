import { int64, opt, ptr, string, struct } from '../../schema/schema.ts';

/** The complete ListMeta (spec section 2.1). */
export const listMeta = struct('apimachinery.pkg.apis.meta.v1.ListMeta', 'What every collection carries.', {
  selfLink: opt(1, string(), 'No longer filled in.', { deprecated: true }),
  resourceVersion: opt(2, string(), 'Version of the collection, from which a watch can go on.'),
  continue: opt(3, string(), 'Token that asks for the next chunk; empty at the end of the list.'),
  remainingItemCount: ptr(4, int64(), 'Items after this chunk; left out when it is not known.'),
});
