import { isRecord } from '../schema/own-property.ts';
import type { StructSchema } from '../schema/schema.ts';
import { applyJsonPatch, parseJsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { malformedPatch, typeName } from './patch-error.ts';
import { strategicMerge } from './strategic-merge.ts';

/** The kinds of patch that an object can be given without ownership of fields (spec section 4.6). */
export type PatchType = 'json' | 'merge' | 'strategic';

interface PatchInput {
  readonly type: PatchType;
  /** Of the object; only a strategic patch asks for it. */
  readonly schema: StructSchema;
  readonly original: Readonly<Record<string, unknown>>;
  /** The decoded document; fields that stood twice in it are its reader's to report. */
  readonly patch: unknown;
}

/**
 * The patched object, to be decoded: what the patch set has not been checked, and it may be no object at all. Neither the
 * original nor the patch is changed, and the result shares parts with both. Throws BadRequest for a malformed patch,
 * Invalid for one that does not apply to this object, RequestEntityTooLarge past a limit.
 */
export function applyPatch({ type, schema, original, patch }: PatchInput): unknown {
  switch (type) {
    case 'json':
      return applyJsonPatch(original, parseJsonPatch(patch));
    case 'merge':
      if (!isRecord(patch)) throw malformedPatch('', `expected an object, got ${typeName(patch)}`);
      return mergePatch(original, patch);
    case 'strategic':
      return strategicMerge({ schema, original, patch });
  }
}
