import type { PoolMetrics } from '../../allocation.ts';

/** Metrics of the addresses and ports of services, under the names of kube-apiserver. `scope`: `static` if the client chose the value. */

const addresses = 'kube_apiserver_clusterip_allocator';
const ports = 'kube_apiserver_nodeport_allocator';
const lastLook = 'as last compared with the services';

export const addressMetrics: PoolMetrics = {
  allocations: { name: `${addresses}_allocation_total`, help: 'Addresses that services were given.', labels: ['cidr', 'scope'] },
  failures: { name: `${addresses}_allocation_errors_total`, help: 'Addresses that services could not be given.', labels: ['cidr', 'scope'] },
  held: { name: `${addresses}_allocated_ips`, help: `Addresses that services hold, ${lastLook}.`, labels: ['cidr'] },
  free: { name: `${addresses}_available_ips`, help: `Addresses that are free, ${lastLook}.`, labels: ['cidr'] },
};

export const portMetrics: PoolMetrics = {
  allocations: { name: `${ports}_allocation_total`, help: 'Ports of nodes that services were given.', labels: ['scope'] },
  failures: { name: `${ports}_allocation_errors_total`, help: 'Ports of nodes that services could not be given.', labels: ['scope'] },
  held: { name: `${ports}_allocated_ports`, help: `Ports of nodes that services hold, ${lastLook}.`, labels: [] },
  free: { name: `${ports}_available_ports`, help: `Ports of nodes that are free, ${lastLook}.`, labels: [] },
};
