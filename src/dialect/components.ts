import type { Dialect } from './dialect.ts';

/** Names of the cluster's components, as they appear in user, role and signer names. */
interface Components {
  readonly apiServer: string;
  readonly scheduler: string;
  /** The service proxy that runs on every node. */
  readonly proxy: string;
  /** The cluster DNS. */
  readonly dns: string;
  /** The API aggregation layer. */
  readonly aggregator: string;
  /** The agent that runs pods on a node. */
  readonly nodeAgent: string;
}

const all: Readonly<Record<Dialect['name'], Components>> = {
  orch: {
    apiServer: 'apiserver',
    scheduler: 'orch-scheduler',
    proxy: 'orch-proxy',
    dns: 'orch-dns',
    aggregator: 'orch-aggregator',
    nodeAgent: 'node-agent',
  },
  kubernetes: {
    apiServer: 'kube-apiserver',
    scheduler: 'kube-scheduler',
    proxy: 'kube-proxy',
    dns: 'kube-dns',
    aggregator: 'kube-aggregator',
    nodeAgent: 'kubelet',
  },
};

/** Component names of a dialect. The controller manager's name is in `Dialect` itself. */
export const components = ({ name }: Dialect): Components => all[name];
