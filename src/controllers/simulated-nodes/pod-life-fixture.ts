import type { Pod } from '../../kinds/core/pod/pod-schema.ts';

type Status = NonNullable<Pod['status']>;

/** Test support: a pod with a patch of its status, as the server merges it: conditions by type, the rest as it is. */
export function applyPatchTo(pod: Pod, patch: object): Pod {
  const { conditions: changed = [], ...rest } = patch as Status;
  const before = pod.status?.conditions ?? [];
  const kept = before.filter(({ type }) => !changed.some((each) => each.type === type));
  return { ...pod, status: { ...pod.status, ...rest, conditions: [...kept, ...changed] } };
}
