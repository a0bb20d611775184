/**
 * Domains, including their subdomains, that are reserved for the products. Custom names must not use any of them,
 * whatever the dialect, so that a configuration stays valid when the dialect changes.
 */
export const reservedDomains: readonly string[] = ['k8s.io', 'kubernetes.io', 'orch.io'];
