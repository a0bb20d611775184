import type { Dialect } from './dialect.ts';

/** The labels of nodes that have a meaning for the product, by who may set them. */
export interface NodeLabels {
  /**
   * Labels of these domains, and of those below them, are the product's: nodes may set only the ones that follow. Those of
   * `node-restriction.<domain>`, which keep nodes apart, are among them and never a node's.
   */
  readonly domains: readonly string[];
  /** Domains, with those below them, that are for what nodes say of themselves. */
  readonly ownDomains: readonly string[];
  /** Single labels that nodes may set. */
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
    // Older names of these, which today's agents still set.
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
