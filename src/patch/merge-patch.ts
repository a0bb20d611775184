import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';

/**
 * JSON Merge Patch (RFC 7386 section 2): null removes a member, objects are merged, everything else replaces. The
 * target is not changed; what the patch does not touch is shared with it. Members named `__proto__` are plain data.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  // A spread defines properties, and so keeps `__proto__` one.
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setOwn(merged, name, mergePatch(getOwn(merged, name), value));
  }
  return merged;
}
