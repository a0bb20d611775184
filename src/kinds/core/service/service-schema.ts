import { always, bool, documentedEnum, enumOf, type Infer, int32, intOrString, list, map, mergeList, opt, ptr, string, struct } from '../../../schema/schema.ts';
import { condition } from '../../meta/condition.ts';
import { kindSchema } from '../../meta/kind-schema.ts';

const servicePort = struct('api.core.v1.ServicePort', 'A port that a service offers.', {
  name: opt(1, string(), 'Name of the port, a DNS label. Required if there are several.'),
  protocol: opt(2, enumOf('TCP', 'UDP', 'SCTP'), 'Transport protocol.', { default: 'TCP' }),
  appProtocol: ptr(6, string(), 'Application protocol: an IANA service name, or a name with a domain.'),
  port: always(3, int32(), 'Number of the port.'),
  targetPort: always(4, intOrString(), 'Number or name of the port of the pods. Default: `port`.', { documented: 'optional' }),
  nodePort: opt(5, int32(), 'Port of every node, for services of type `NodePort` and `LoadBalancer`. Allocated unless given.'),
});

const clientIpConfig = struct('api.core.v1.ClientIPConfig', 'Session affinity by the address of the client.', {
  timeoutSeconds: ptr(1, int32(), 'How long a client stays with a pod, from 1 to 86400 s. Default: 10800 (3 hours).'),
});

const sessionAffinityConfig = struct('api.core.v1.SessionAffinityConfig', 'Settings of session affinity.', {
  clientIP: ptr(1, clientIpConfig, 'Settings of affinity by the address of the client.'),
});

const serviceSpec = struct('api.core.v1.ServiceSpec', 'What a service offers, and to whom.', {
  ports: opt(1, mergeList('port', servicePort, { mapKeys: ['port', 'protocol'], duplicatesAllowed: true }), 'Ports of the service.'),
  selector: opt(2, map(string(), { mapType: 'atomic' }), 'Labels of the pods that take the traffic. Without it, somebody else keeps the endpoints.'),
  clusterIP: opt(3, string(), 'Address of the service, the first of `clusterIPs`. Allocated unless given; `None` for a headless service. Cannot change.'),
  clusterIPs: opt(18, list(string()), 'Addresses of the service, at most one of each family.'),
  type: opt(4, enumOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'), 'How the service is reached.', { default: 'ClusterIP' }),
  externalIPs: opt(5, list(string()), 'Addresses of which nodes take traffic for the service; somebody else routes it there.'),
  sessionAffinity: opt(7, enumOf('ClientIP', 'None'), '`ClientIP`: a client stays with one pod.', { default: 'None' }),
  loadBalancerIP: opt(8, string(), 'Address that the load balancer should have, if its provider can do so. Deprecated: providers read annotations of their own.'),
  loadBalancerSourceRanges: opt(9, list(string()), 'Clients that the load balancer lets in, as CIDR values.'),
  externalName: opt(10, string(), 'DNS name that the service stands for, in the type `ExternalName`.'),
  externalTrafficPolicy: opt(11, documentedEnum('Cluster', 'Local'), '`Local`: traffic from outside goes only to pods of the node that it came to, and keeps its source.'),
  healthCheckNodePort: opt(12, int32(), 'Port of every node that tells load balancers whether it has pods of the service. Allocated unless given; cannot change.'),
  publishNotReadyAddresses: opt(13, bool(), 'Endpoints count as ready even if they are not.'),
  sessionAffinityConfig: ptr(14, sessionAffinityConfig, 'Settings of session affinity.'),
  ipFamilies: opt(19, list(documentedEnum('', 'IPv4', 'IPv6')), 'Families of the addresses: `IPv4`, `IPv6` or both. The first cannot change.'),
  ipFamilyPolicy: ptr(17, documentedEnum('PreferDualStack', 'RequireDualStack', 'SingleStack'), '`SingleStack`, `PreferDualStack`, or `RequireDualStack`, which fails in a cluster with one family.'),
  allocateLoadBalancerNodePorts: ptr(20, bool(), 'Whether ports of the nodes are allocated for a load balancer. Default: true.'),
  loadBalancerClass: ptr(21, string(), 'Who makes the load balancer. Default: whoever does so in this cluster. Cannot change while the type is `LoadBalancer`.'),
  internalTrafficPolicy: ptr(22, enumOf('Cluster', 'Local'), '`Local`: traffic of a node goes only to pods of that node.'),
  trafficDistribution: ptr(23, string(), '`PreferClose`: endpoints near the client are preferred.'),
});

const portStatus = struct('api.core.v1.PortStatus', 'State of a port of a load balancer.', {
  port: always(1, int32(), 'Number of the port.'),
  protocol: always(2, documentedEnum('SCTP', 'TCP', 'UDP'), '`TCP`, `UDP` or `SCTP`.'),
  error: ptr(3, string(), 'Reason why the port does not work, in CamelCase or with a domain.'),
});

const loadBalancerIngress = struct('api.core.v1.LoadBalancerIngress', 'A place where a load balancer takes traffic.', {
  ip: opt(1, string(), 'Its address, if it has one.'),
  hostname: opt(2, string(), 'Its name, if it is known by name.'),
  ipMode: ptr(3, string(), '`VIP`: nodes see the address as the destination. `Proxy`: they see their own.'),
  ports: opt(4, list(portStatus), 'State of its ports.'),
});

const loadBalancerStatus = struct('api.core.v1.LoadBalancerStatus', 'State of a load balancer.', {
  ingress: opt(1, list(loadBalancerIngress), 'Where it takes traffic.'),
});

const serviceStatus = struct('api.core.v1.ServiceStatus', 'State of a service.', {
  loadBalancer: always(1, loadBalancerStatus, 'The load balancer in front of it.'),
  conditions: opt(2, mergeList('type', condition, { duplicatesAllowed: true }), 'What is known of its state.'),
});

export const serviceSchema = kindSchema('api.core.v1.Service', 'A name and an address for a set of pods.', {
  spec: always(2, serviceSpec, 'What is wanted.'),
  status: always(3, serviceStatus, 'What there is.'),
});

export type ServiceSpec = Infer<typeof serviceSpec>;
export type ServicePort = Infer<typeof servicePort>;
export type ServiceStatus = Infer<typeof serviceStatus>;
