import type { ApiObject, ObjectMeta } from '../meta/api-object.ts';
import { metadataOf } from './encoded.ts';

/** What a collection says of itself (spec section 2.1); absent fields are not known or not meant. */
export interface ListMetadata {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

/** An object without its own fields: the form for clients that look at the metadata of any kind. */
export interface PartialObjectMetadata {
  readonly kind: 'PartialObjectMetadata';
  readonly apiVersion: string;
  readonly metadata: ObjectMeta;
}

/** `metaVersion` is the group and version of the form, such as `meta.orch.io/v1`. Shares the metadata with the object. */
export const partialObjectMetadata = ({ metadata }: ApiObject, metaVersion: string): PartialObjectMetadata => ({
  kind: 'PartialObjectMetadata',
  apiVersion: metaVersion,
  metadata,
});

/** The same in JSON, of the bytes of an object with its version in them (codec/encoded.ts). Parses nothing. */
export function partialObjectMetadataBytes(bytes: Buffer, metaVersion: string): Buffer {
  const head = `{"kind":"PartialObjectMetadata","apiVersion":${JSON.stringify(metaVersion)},"metadata":`;
  return Buffer.concat([Buffer.from(head), metadataOf(bytes), end]);
}

const end = Buffer.from('}');
