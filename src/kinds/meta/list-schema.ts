import { always, int64, list, opt, ptr, req, type StructSchema, string, struct } from '../../schema/schema.ts';
import { typeMeta } from './type-meta.ts';

/** The complete ListMeta (spec section 2.1). */
export const listMeta = struct('apimachinery.pkg.apis.meta.v1.ListMeta', 'What every collection carries.', {
  selfLink: opt(1, string(), 'No longer filled in.', { deprecated: true }),
  resourceVersion: opt(2, string(), 'Version of the collection, from which a watch can go on.'),
  continue: opt(3, string(), 'Token that asks for the next chunk; empty at the end of the list.'),
  remainingItemCount: ptr(4, int64(), 'Items after this chunk; left out when it is not known.'),
});

const listSchemas = new WeakMap<StructSchema, StructSchema>();

/** The list schema of a kind (spec section 2.1), named after the kind with the suffix `List`. */
export function listSchema(item: StructSchema): StructSchema {
  const known = listSchemas.get(item);
  if (known) return known;
  const schema: StructSchema = struct(`${item.name}List`, `A collection: ${item.description}`, {
    ...typeMeta,
    metadata: always(1, listMeta, 'Version and position of the list.'),
    items: req(2, list(item, { typeUndocumented: true }), 'The objects of the collection.'),
  });
  listSchemas.set(item, schema);
  return schema;
}
