import { always, list, req, struct } from '../../schema/schema.ts';
import { kindSchema } from './kind-schema.ts';
import { listMeta } from './list-schema.ts';
import { typeMeta } from './type-meta.ts';

/** Metadata of an object of any kind, for metadata-only clients (spec section 4.3). */
export const partialObjectMetadata = kindSchema('apimachinery.pkg.apis.meta.v1.PartialObjectMetadata', 'The metadata of an object of any kind.', {});

/** The v1beta1 list; differs from v1 only in the protobuf field numbers. */
export const partialObjectMetadataListV1beta1 = struct('apimachinery.pkg.apis.meta.v1beta1.PartialObjectMetadataList', 'A collection of the metadata of objects of any kind.', {
  ...typeMeta,
  metadata: always(2, listMeta, 'Version and position of the list.'),
  items: req(1, list(partialObjectMetadata), 'The metadata of the objects of the collection.'),
});
