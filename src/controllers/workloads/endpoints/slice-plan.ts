import { limits } from '../../../base/limits.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import type { FoundPort } from './service-endpoints.ts';

export interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly targetRef: { readonly uid: string };
  readonly zone?: string;
  readonly hints?: { readonly forZones: readonly { readonly name: string }[] };
}

export interface SliceContent {
  readonly addressType: string;
  readonly ports: readonly FoundPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** A slice and what it is to be: without a slice one to create, without content one to delete. */
interface PlannedSlice {
  readonly slice: ApiObject | undefined;
  readonly content: SliceContent | undefined;
}

/**
 * How slices come to have the wanted endpoints with few writes: an endpoint stays in its slice, new ones fill the slices that
 * have room, and what is left gets new slices. Slices without endpoints go, but for the only one of a family.
 */
export function planSlices(existing: readonly ApiObject[], wanted: readonly SliceContent[]): readonly PlannedSlice[] {
  const planned: PlannedSlice[] = [];
  const unused = new Set(existing);
  for (const content of wanted) {
    const slices = existing.filter((slice) => isAlike(slice, content));
    for (const slice of slices) unused.delete(slice);
    planned.push(...fill(slices, content));
  }
  return [...planned, ...Array.from(unused, (slice) => ({ slice, content: undefined }))];
}

const isAlike = (slice: ApiObject, { addressType, ports }: SliceContent): boolean =>
  slice['addressType'] === addressType && equalValues(slice['ports'] ?? [], ports);

const endpointsIn = (slice: ApiObject): readonly SliceEndpoint[] =>
  (slice['endpoints'] ?? []) as readonly SliceEndpoint[];

function fill(slices: readonly ApiObject[], content: SliceContent): readonly PlannedSlice[] {
  const left = new Map(content.endpoints.map((endpoint) => [endpoint.targetRef.uid, endpoint]));
  const kept = slices.map((slice) => ({
    slice,
    endpoints: endpointsIn(slice).flatMap(({ targetRef }) => {
      const endpoint = left.get(targetRef.uid);
      left.delete(targetRef.uid);
      return endpoint ?? [];
    }),
  }));
  const fresh = [...left.values()];
  const filled: PlannedSlice[] = kept.map(({ slice, endpoints }) => {
    const all = [...endpoints, ...fresh.splice(0, limits.endpointsPerSlice - endpoints.length)];
    return { slice, content: all.length > 0 ? { ...content, endpoints: all } : undefined };
  });
  while (fresh.length > 0) {
    filled.push({ slice: undefined, content: { ...content, endpoints: fresh.splice(0, limits.endpointsPerSlice) } });
  }
  if (content.endpoints.length > 0) return filled;
  return [{ slice: slices[0], content }, ...filled.slice(1)];
}
