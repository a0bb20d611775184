import { isRecord } from '../schema/own-property.ts';
import type { StructSchema } from '../schema/schema.ts';
import { applyJsonPatch, parseJsonPatch } from './json-patch.ts';
import { mergePatch } from './merge-patch.ts';
import { malformedPatch, typeName } from './patch-error.ts';
import { strategicMerge } from './strategic-merge.ts';

/** Patch types other than server-side apply (spec section 4.6). */
export type PatchType = 'json' | 'merge' | 'strategic';

interface PatchInput {
  readonly type: PatchType;
  /** Schema of the object; used by strategic merge only. */
  readonly schema: StructSchema;
  readonly original: Readonly<Record<string, unknown>>;
  /** The decoded document. The decoder reports duplicate fields. */
  readonly patch: unknown;
}

/**
 * Returns the patched object, which must still be decoded: it has not been validated and may not even be an object.
 * Neither `original` nor `patch` is modified, and the result shares parts with both. Throws BadRequest if the patch is
 * malformed, Invalid if it does not apply to this object, RequestEntityTooLarge above a limit.
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
