import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';

/** A claim that a pod uses. */
interface UsedClaim {
  /** `namespace/name` */
  readonly key: string;
  /** uid of the pod that the claim must have been made for; undefined: any claim of the name. */
  readonly madeFor: string | undefined;
}

/** The claims of one pod. */
export type UsedClaims = readonly UsedClaim[];

const noClaims: UsedClaims = [];

/**
 * The claims that a pod keeps: those of its volumes, from when it is on a node, since node agents start no pod with a claim
 * that is being deleted. What was made for an ephemeral volume is needed until the node agent is done with the pod.
 */
export function usedClaims(object: ApiObject): UsedClaims {
  const { spec } = asPod(object);
  if (!spec?.nodeName || !spec.volumes) return noClaims;
  const { namespace = '', name: podName = '', uid = '' } = object.metadata;
  const claims: UsedClaim[] = [];
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes) {
    if (persistentVolumeClaim) {
      claims.push({ key: `${namespace}/${persistentVolumeClaim.claimName}`, madeFor: undefined });
    } else if (ephemeral && !isShutDown(object)) {
      claims.push({ key: `${namespace}/${podName}-${name}`, madeFor: uid });
    }
  }
  return claims.length === 0 ? noClaims : claims;
}

const isShutDown = ({ metadata }: ApiObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0;

/** Which pods use which claims. */
export class ClaimUsers {
  /** By key of the claim: what of it each pod uses, by name. */
  readonly #users = new Map<string, Map<string, UsedClaim>>();

  /** A pod used `before`, and uses `now`. */
  replace(pod: string, before: UsedClaims, now: UsedClaims): void {
    for (const { key } of before) {
      const users = this.#users.get(key);
      users?.delete(pod);
      if (users?.size === 0) this.#users.delete(key);
    }
    for (const each of now) getOrAdd(this.#users, each.key, () => new Map<string, UsedClaim>()).set(pod, each);
  }

  /** `controller`: uid of the object that the claim was made for, if any. */
  has(key: string, controller: string | undefined): boolean {
    for (const { madeFor } of this.#users.get(key)?.values() ?? []) {
      if (madeFor === undefined || madeFor === controller) return true;
    }
    return false;
  }
}
