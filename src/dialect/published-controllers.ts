/** Controllers of Kubernetes whose names contain a product name. The same in both dialects. */
export const publishedControllers = {
  servingBundlePublisher: 'kube-apiserver-serving-clustertrustbundle-publisher-controller',
} as const;
