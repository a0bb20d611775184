import { always, documentedEnum, type Infer, inline, int32, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { typedLocalObjectReference } from '../core/references.ts';
import { kindSchema } from '../meta/kind-schema.ts';

const serviceBackendPort = struct(
  'api.networking.v1.ServiceBackendPort',
  'A port of a service, by name or by number.',
  {
    name: opt(1, string(), 'Name of the port.'),
    number: opt(2, int32(), 'Number of the port.'),
  },
  { structType: 'atomic' },
);

const serviceBackend = struct('api.networking.v1.IngressServiceBackend', 'A service that takes the traffic.', {
  name: always(1, string(), 'Name of the service, in the namespace of the ingress.'),
  port: always(2, serviceBackendPort, 'Port of the service.'),
});

const ingressBackend = struct('api.networking.v1.IngressBackend', 'What takes the traffic: a service or another object.', {
  resource: ptr(3, typedLocalObjectReference, 'An object in the namespace of the ingress, in the place of a service.'),
  service: ptr(4, serviceBackend, 'A service.'),
});

const httpIngressPath = struct('api.networking.v1.HTTPIngressPath', 'A path, and where requests for it go.', {
  path: opt(1, string(), 'The path, from `/` on. Required unless the type is `ImplementationSpecific`.'),
  pathType: ptr(3, documentedEnum('Exact', 'ImplementationSpecific', 'Prefix'), '`Exact`, `Prefix` (by segments of the path) or `ImplementationSpecific`.', { documented: 'required' }),
  backend: always(2, ingressBackend, 'What takes the requests.', { documented: 'required' }),
});

const httpIngressRuleValue = struct('api.networking.v1.HTTPIngressRuleValue', 'Where HTTP requests go by their paths.', {
  paths: always(1, list(httpIngressPath), 'Paths and their backends.', { documented: 'required' }),
});

const ingressRuleValue = struct('api.networking.v1.IngressRuleValue', 'Where requests to a host go.', {
  http: ptr(1, httpIngressRuleValue, 'Where HTTP requests go; without it, all go to the default backend.'),
});

const ingressRule = struct('api.networking.v1.IngressRule', 'A host, and where requests to it go.', {
  host: opt(1, string(), 'Host of the requests, or `*.` and a domain; empty for all hosts.'),
  ...inline(2, ingressRuleValue),
});

const ingressTls = struct('api.networking.v1.IngressTLS', 'A certificate, and the hosts that it is for.', {
  hosts: opt(1, list(string()), 'Hosts of the certificate. Default: those that the controller takes for it.'),
  secretName: opt(2, string(), 'Secret with the certificate and its key.'),
});

const ingressSpec = struct('api.networking.v1.IngressSpec', 'Where requests from outside go.', {
  defaultBackend: ptr(1, ingressBackend, 'What takes requests that no rule is for. Required if there are no rules.'),
  tls: opt(2, list(ingressTls), 'Certificates. Several for one host are told apart by the name in the TLS handshake.'),
  rules: opt(3, list(ingressRule), 'Hosts and where requests to them go.'),
  ingressClassName: ptr(4, string(), 'Class of the ingress, which says what controller serves it.'),
});

const ingressPortStatus = struct('api.networking.v1.IngressPortStatus', 'State of a port of a load balancer.', {
  port: always(1, int32(), 'Number of the port.'),
  protocol: always(2, documentedEnum('SCTP', 'TCP', 'UDP'), '`TCP`, `UDP` or `SCTP`.'),
  error: ptr(3, string(), 'Reason why the port does not work, in CamelCase or with a domain.'),
});

const ingressLoadBalancerIngress = struct('api.networking.v1.IngressLoadBalancerIngress', 'A place where a load balancer takes requests.', {
  ip: opt(1, string(), 'Its address, if it has one.'),
  hostname: opt(2, string(), 'Its name, if it is known by name.'),
  ports: opt(4, list(ingressPortStatus), 'State of its ports.'),
});

const ingressLoadBalancerStatus = struct('api.networking.v1.IngressLoadBalancerStatus', 'State of a load balancer.', {
  ingress: opt(1, list(ingressLoadBalancerIngress), 'Where it takes requests.'),
});

const ingressStatus = struct('api.networking.v1.IngressStatus', 'State of an ingress.', {
  loadBalancer: always(1, ingressLoadBalancerStatus, 'The load balancer in front of it.'),
});

export const ingressSchema = kindSchema('api.networking.v1.Ingress', 'Rules by which requests from outside reach services.', {
  spec: always(2, ingressSpec, 'What is wanted.'),
  status: always(3, ingressStatus, 'What there is.'),
});

export type IngressSpec = Infer<typeof ingressSpec>;
export type IngressBackend = Infer<typeof ingressBackend>;
export type IngressRule = Infer<typeof ingressRule>;
export type HttpIngressPath = Infer<typeof httpIngressPath>;
export type IngressStatus = Infer<typeof ingressStatus>;
