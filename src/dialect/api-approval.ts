/**
 * The policy by which new APIs in the groups of a project are approved, as published: both dialects have the name of its
 * condition and its address.
 */
export const apiApproval = {
  condition: 'KubernetesAPIApprovalPolicyConformant',
  policy: 'https://github.com/kubernetes/enhancements/pull/1111',
} as const;
