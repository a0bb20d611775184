import type { ServicePort, ServiceSpec } from './service-schema.ts';
import { isExternallyAccessible, isReachedByNodes, needsClusterIp, needsHealthCheck, sameClusterIps, sameFamilies } from './service-spec.ts';

/**
 * What follows from a change of a service. Its fields depend on each other, and clients that know only some of them, or send
 * what they once created, are to be understood: kube-apiserver does the same, in this order.
 */

/** Brings `clusterIPs` in line with `clusterIP`, which is all that old clients know. */
export function alignClusterIps(spec: ServiceSpec, old: ServiceSpec | undefined): void {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (!old) {
    if (clusterIP !== '' && clusterIPs.length === 0) spec.clusterIPs = [clusterIP];
    return;
  }
  const { clusterIP: before = '', clusterIPs: allBefore = [] } = old;
  if (allBefore.length > 0 && clusterIPs.length === 0 && clusterIP === before) spec.clusterIPs = [...allBefore];
  if (clusterIP === before || !sameClusterIps(spec, old)) return;
  if (clusterIP === '') delete spec.clusterIPs;
  else spec.clusterIPs = [clusterIP];
}

/** Keeps allocated values that the client does not send, so that it may send again what it once created. */
export function keepAllocated(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    if (!spec.clusterIP && old.clusterIP) spec.clusterIP = old.clusterIP;
    if ((spec.clusterIPs ?? []).length === 0 && old.clusterIPs) spec.clusterIPs = [...old.clusterIPs];
  }
  if (getsNodePorts(old) && getsNodePorts(spec)) keepNodePorts(spec.ports ?? [], old.ports ?? []);
  if (needsHealthCheck(old) && needsHealthCheck(spec) && !spec.healthCheckNodePort && old.healthCheckNodePort) {
    spec.healthCheckNodePort = old.healthCheckNodePort;
  }
}

const getsNodePorts = (spec: ServiceSpec): boolean => isReachedByNodes(spec) && (spec.type === 'NodePort' || spec.allocateLoadBalancerNodePorts !== false);

/** By the name of the port, unless another port of the service now has the number. */
function keepNodePorts(ports: readonly ServicePort[], before: readonly ServicePort[]): void {
  const now = nodePortsOf(ports);
  const kept = new Set([...nodePortsOf(before)].filter((each) => now.has(each)));
  const byName = new Map(before.map(({ name = '', nodePort = 0 }) => [name, nodePort]));
  for (const port of ports) {
    const former = byName.get(port.name ?? '') ?? 0;
    if (!port.nodePort && former !== 0 && !kept.has(former)) port.nodePort = former;
  }
}

const nodePortsOf = (ports: readonly ServicePort[] = []): ReadonlySet<number> => new Set(ports.flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort])));

/** Drops what the new type has no use for, unless the client changed it as well, which is an error then. */
export function dropUnused(spec: ServiceSpec, old: ServiceSpec): void {
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if (spec.clusterIP === old.clusterIP && sameClusterIps(spec, old)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameFamilies(spec, old)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  const before = nodePortsOf(old.ports);
  if (isReachedByNodes(old) && !isReachedByNodes(spec) && [...nodePortsOf(spec.ports)].every((each) => before.has(each))) {
    for (const port of spec.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheck(old) && !needsHealthCheck(spec) && spec.healthCheckNodePort === old.healthCheckNodePort) delete spec.healthCheckNodePort;
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (spec.allocateLoadBalancerNodePorts === old.allocateLoadBalancerNodePorts) delete spec.allocateLoadBalancerNodePorts;
    if (spec.loadBalancerClass === old.loadBalancerClass) delete spec.loadBalancerClass;
  }
  if (isExternallyAccessible(old) && !isExternallyAccessible(spec) && spec.externalTrafficPolicy === old.externalTrafficPolicy) delete spec.externalTrafficPolicy;
}
