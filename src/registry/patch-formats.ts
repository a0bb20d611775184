import type { PatchType } from '../patch/apply-patch.ts';

/** The media types of patches, and what each means (spec section 4.6). */
export const patchFormats: ReadonlyMap<string, PatchType> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
]);

export const patchMediaTypes: readonly string[] = [...patchFormats.keys()];
