import { SharedContent } from '../base/shared-content.ts';
import type { StructSchema } from '../schema/schema.ts';
import type { Kind } from './kind.ts';

const schemas = new SharedContent<StructSchema>();
const kinds = new SharedContent<Kind>();

/**
 * The kind that this process first saw with the same content. Decoders, validators, merges and documents are kept at a kind or
 * its schema: of a kind that several scopes have they are made once. Where only functions of the kinds differ, the schema is
 * the same.
 */
export function sharedKind(kind: Kind): Kind {
  const schema = schemas.share(kind.schema);
  return kinds.share(schema === kind.schema ? kind : { ...kind, schema });
}
