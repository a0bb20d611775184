/**
 * Domains whose names mean something to one of the products, with all below them. Nobody else may give meaning to such
 * names, whatever the dialect is: a configuration then stays good when the dialect changes.
 */
export const reservedDomains: readonly string[] = ['k8s.io', 'kubernetes.io', 'orch.io'];
