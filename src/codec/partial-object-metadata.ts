import type { ApiObject, ObjectMeta } from '../meta/api-object.ts';
import { stringifyJson } from './json.ts';

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

/** The JSON text of a PartialObjectMetadataList in pieces, one for each object, so that a list of any length streams. */
export function* encodePartialObjectMetadataList(
  objects: Iterable<ApiObject>,
  metadata: ListMetadata,
  metaVersion: string,
): Generator<string, void, undefined> {
  const head = { kind: 'PartialObjectMetadataList', apiVersion: metaVersion, metadata };
  yield* encodeList(head, 'items', objects, (object) => partialObjectMetadata(object, metaVersion));
}

/** The JSON text of an object whose last field is a list that is made as it is sent. */
export function* encodeList<T>(
  head: object,
  field: string,
  items: Iterable<T>,
  encode: (item: T) => object,
): Generator<string, void, undefined> {
  let before = `${stringifyJson(head).slice(0, -1)},${JSON.stringify(field)}:[`;
  for (const item of items) {
    yield before + stringifyJson(encode(item));
    before = ',';
  }
  yield before === ',' ? ']}' : `${before}]}`;
}
