import type { ApiObject, ObjectMeta } from '../meta/api-object.ts';
import { metadataOf } from './object-bytes.ts';

/** Metadata of a list (spec section 2.1); absent fields are unknown or not applicable. */
export interface ListMetadata {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** Metadata of an object of any kind, for metadata-only clients. */
export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
}

/** Shares the metadata with the object. `metaVersion` is the apiVersion of the result, such as `meta.orch.io/v1`. */
export const partialObjectMetadata = ({ metadata }: ApiObject, metaVersion: string): PartialObjectMetadata => ({
  kind: 'PartialObjectMetadata',
  apiVersion: metaVersion,
  metadata,
});

/** The same in JSON, from the bytes of an object with its resourceVersion (`object-bytes.ts`), without parsing them. */
export function partialObjectMetadataBytes(bytes: Buffer, metaVersion: string): Buffer {
  const head = `{"kind":"PartialObjectMetadata","apiVersion":${JSON.stringify(metaVersion)},"metadata":`;
  return Buffer.concat([Buffer.from(head), metadataOf(bytes), end]);
}

const end = Buffer.from('}');
