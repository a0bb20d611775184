import type { Dialect } from './dialect.ts';

/** What the programs of a cluster are called, in the names of their users, roles and signers. */
interface Components {
  readonly apiServer: string;
  readonly scheduler: string;
  /** Makes services reachable on every node. */
  readonly proxy: string;
  /** Resolves names of services. */
  readonly dns: string;
  /** Joins the APIs of several servers. */
  readonly aggregator: string;
  /** Runs the pods of a node. */
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

/** The names of a dialect's programs; that of the controller manager stands in the dialect itself. */
export const components = ({ name }: Dialect): Components => all[name];
