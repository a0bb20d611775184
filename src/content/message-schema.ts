import { subresourceKind } from '../kinds/body-kind.ts';
import type { Kind } from '../kinds/kind.ts';
import { listSchema } from '../kinds/meta/list-schema.ts';
import { partialObjectMetadata, partialObjectMetadataListV1beta1 } from '../kinds/meta/partial-object-metadata.ts';
import { status } from '../kinds/meta/status.ts';
import { apiVersionOf } from '../kinds/stored-as.ts';
import type { StructSchema } from '../schema/schema.ts';

/**
 * Schema of a response by its `kind`: one of the resource's kinds, or one that any resource can return. `apiVersion`
 * selects among the versions of the latter.
 */
export function messageSchema(name: string, kind: Kind | undefined, apiVersion = ''): StructSchema {
  for (const subresource of kind?.subresources ?? []) {
    if (kind === undefined || subresource.type === 'view' || subresource.type === 'connect') continue;
    const body = subresourceKind(kind, subresource);
    if (body.kind === name && (apiVersion === '' || apiVersionOf(body) === apiVersion)) return body.schema;
  }
  if (name === kind?.kind) return kind.schema;
  if (name === kind?.listKind) return listSchema(kind.schema);
  switch (name) {
    case 'Status':
      return status;
    case 'PartialObjectMetadata':
      return partialObjectMetadata;
    case 'PartialObjectMetadataList':
      return apiVersion.endsWith('/v1beta1') ? partialObjectMetadataListV1beta1 : listSchema(partialObjectMetadata);
  }
  throw new TypeError(`an answer of kind ${name} has no schema`);
}
