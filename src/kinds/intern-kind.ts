import { SharedContent } from '../base/collections/shared-content.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Kind } from './kind.ts';

const schemas = new SharedContent<StructSchema>();
const kinds = new SharedContent<Kind>();

/**
 * Returns the first kind in this process with the same content. Compiled decoders, validators, merges and documents are
 * cached by kind or schema, so scopes with the same kind share them. Kinds that differ only in functions share the schema.
 */
export function internKind(kind: Kind): Kind {
  const schema = schemas.share(kind.schema);
  return kinds.share(schema === kind.schema ? kind : { ...kind, schema });
}
