import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';

/**
 * JSON Merge Patch (RFC 7386 section 2): null removes a member, objects are merged, everything else replaces. The
 * target is not modified; the result shares its untouched parts. `__proto__` is an ordinary member.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  // Spread defines properties, so `__proto__` stays an ordinary one.
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setOwn(merged, name, mergePatch(getOwn(merged, name), value));
  }
  return merged;
}
