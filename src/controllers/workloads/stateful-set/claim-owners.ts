import type { OwnerReference } from '../../../meta/api-object.ts';

interface Owners {
  readonly set: OwnerReference;
  readonly pod: OwnerReference;
  /** The pod is one that the set no longer wants. */
  readonly isScaledDown: boolean;
  readonly whenDeleted: string | undefined;
  readonly whenScaled: string | undefined;
}

interface ClaimOwners {
  /** The references that the claim is to have; undefined if it has them, or belongs to a set or a pod that is gone. */
  readonly references: readonly OwnerReference[] | undefined;
  /** Somebody else is its controller: the policy is not applied. */
  readonly isConflicting: boolean;
}

/** By the retention policy the set or the pod is the controller of a claim, so that the claim goes with it. */
export function claimOwners(references: readonly OwnerReference[] = [], owners: Owners): ClaimOwners {
  const { set, pod, isScaledDown, whenDeleted, whenScaled } = owners;
  const isOurs = (each: OwnerReference): boolean => isSameObject(each, set) || isSameObject(each, pod);
  const ours = references.filter(isOurs);
  const others = references.filter((each) => !isOurs(each));
  if (ours.some(({ uid }) => uid !== set.uid && uid !== pod.uid))
    return { references: undefined, isConflicting: false };
  const isPolicy = whenDeleted === 'Delete' || whenScaled === 'Delete';
  const isConflicting = isPolicy && others.some(({ controller }) => controller === true);
  if (isConflicting) return { references: ours.length > 0 ? others : undefined, isConflicting };
  const ofPod = whenScaled === 'Delete' && isScaledDown;
  const wanted = [...(ofPod ? [pod] : []), ...(!ofPod && whenDeleted === 'Delete' ? [set] : [])];
  const has = ({ uid }: OwnerReference): boolean => ours.some((each) => each.uid === uid && each.controller === true);
  const isUpToDate = ours.length === wanted.length && wanted.every(has);
  return { references: isUpToDate ? undefined : [...others, ...wanted], isConflicting };
}

const isSameObject = (a: OwnerReference, b: OwnerReference): boolean =>
  a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name;
