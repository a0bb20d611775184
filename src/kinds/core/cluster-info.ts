/**
 * The ConfigMap of the public namespace that tells joining nodes how to reach the cluster, and proves it to holders of a
 * bootstrap token (spec section 5.4).
 */
export const clusterInfo = {
  name: 'cluster-info',
  /** Key of the kubeconfig, which is signed. */
  contentKey: 'kubeconfig',
  /** Prefix of the keys of signatures; the token id follows. */
  signaturePrefix: 'jws-kubeconfig-',
} as const;
