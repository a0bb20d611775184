import type { Dialect } from './dialect.ts';

/** Well-known node labels, by whether a node may set them on itself (the NodeRestriction rules). */
export interface NodeLabels {
  /**
   * Reserved label domains, including their subdomains. Of these a node may set only the labels in `ownDomains` and `own`;
   * labels of `node-restriction.<domain>`, which isolate workloads, are never among them.
   */
  readonly domains: readonly string[];
  /** Label domains, including their subdomains, that nodes may set. */
  readonly ownDomains: readonly string[];
  /** Individual labels that nodes may set. */
  readonly own: ReadonlySet<string>;
}

const labelsOf = (domain: string, domains: readonly string[], agent: string): NodeLabels => ({
  domains,
  ownDomains: [`${agent}.${domain}`, `node.${domain}`],
  own: new Set([
    `${domain}/hostname`,
    `${domain}/os`,
    `${domain}/arch`,
    `topology.${domain}/zone`,
    `topology.${domain}/region`,
    // Deprecated forms of the labels above, which kubelets still set.
    `beta.${domain}/os`,
    `beta.${domain}/arch`,
    `beta.${domain}/instance-type`,
    `failure-domain.beta.${domain}/zone`,
    `failure-domain.beta.${domain}/region`,
  ]),
});

const all: Readonly<Record<Dialect['name'], NodeLabels>> = {
  orch: labelsOf('orch.io', ['orch.io'], 'node-agent'),
  kubernetes: labelsOf('kubernetes.io', ['kubernetes.io', 'k8s.io'], 'kubelet'),
};

export const nodeLabels = ({ name }: Dialect): NodeLabels => all[name];
