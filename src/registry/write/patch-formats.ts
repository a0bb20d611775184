import { cborTypes } from '../../codec/cbor/format.ts';
import type { PatchType } from '../../patch/apply-patch.ts';

/** Content of a PATCH: a patch, or the configuration of a server-side apply. */
export type PatchFormat = PatchType | 'apply';

/** A patch media type. */
export interface PatchMediaType {
  readonly mediaType: string;
  readonly patch: PatchFormat;
  /** Name of the format in which the body is. */
  readonly format: string;
}

/** The patch media types (spec section 4.6). Those in a format that is not enabled are unknown to clients. */
export const patchMediaTypes: readonly PatchMediaType[] = [
  { mediaType: 'application/json-patch+json', patch: 'json', format: 'json' },
  { mediaType: 'application/merge-patch+json', patch: 'merge', format: 'json' },
  { mediaType: 'application/strategic-merge-patch+json', patch: 'strategic', format: 'json' },
  { mediaType: 'application/apply-patch+yaml', patch: 'apply', format: 'yaml' },
  { mediaType: cborTypes.apply, patch: 'apply', format: 'cbor' },
];
