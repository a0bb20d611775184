import { always, list, req, type StructSchema, struct } from '../../schema/schema.ts';
import { listMeta } from './list-meta.ts';
import { typeMeta } from './type-meta.ts';

const listSchemas = new WeakMap<StructSchema, StructSchema>();

/** The list schema of a kind (spec section 2.1), named after the kind with the suffix `List`. */
export function listSchema(item: StructSchema): StructSchema {
  const known = listSchemas.get(item);
  if (known) return known;
  const schema: StructSchema = struct(`${item.name}List`, `A collection: ${item.description}`, {
    ...typeMeta,
    metadata: always(1, listMeta, 'Version and position of the list.'),
    items: req(2, list(item), 'The objects of the collection.'),
  });
  listSchemas.set(item, schema);
  return schema;
}
