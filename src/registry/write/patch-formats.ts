import type { PatchType } from '../../patch/apply-patch.ts';

/** Content of a PATCH: a patch, or the configuration of a server-side apply. */
export type PatchFormat = PatchType | 'apply';

/** The patch media types (spec section 4.6). */
export const patchFormats: ReadonlyMap<string, PatchFormat> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

export const patchMediaTypes: readonly string[] = [...patchFormats.keys()];
