import { isRecord, setOwn } from '../schema/own-property.ts';

/**
 * JSON Merge Patch (RFC 7386 section 2): null removes a member, objects are merged, everything else replaces. The
 * target is not changed; what the patch does not touch is shared with it. Members named `__proto__` are plain data.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = {};
  if (isRecord(target)) for (const [name, value] of Object.entries(target)) setOwn(merged, name, value);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else setOwn(merged, name, mergePatch(Object.hasOwn(merged, name) ? merged[name] : undefined, value));
  }
  return merged;
}
