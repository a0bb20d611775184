import { limits } from '../../../base/limits.ts';
import { components } from '../../../dialect/components.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, forbidden, invalid, notSupported, required } from '../../../meta/field-error.ts';
import { isCidr, isDnsLabel, isDnsSubdomain, isIpAddress, isQualifiedName } from '../../../meta/formats.ts';
import { parseIpAddress, specialAddressProblems } from '../../../meta/ip-address.ts';
import { validateLabels } from '../../meta/metadata-validation.ts';
import { failing, validatePort } from '../pod/validation/field-checks.ts';
import { clusterIpErrors } from './cluster-ip-errors.ts';
import type { ServiceSpec, ServiceStatus } from './service-schema.ts';
import { isExternallyAccessible, isHeadless, isReachedByNodes, isTrafficPolicy, needsHealthCheck, specOf, trafficPolicies } from './service-spec.ts';

/** Port of the agent of a node, which must not be reached from outside. */
const agentPort = 10_250;
const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'";

/** Annotations of services, some of which stand for fields that came later. */
export const topologyMode = ({ domain }: Dialect): string => `service.${domain}/topology-mode`;
export const topologyHints = ({ domain }: Dialect): string => `service.${domain}/topology-aware-hints`;
const sourceRanges = ({ domain }: Dialect): string => `service.beta.${domain}/load-balancer-source-ranges`;

/** Errors of a service, in the words and the order of kube-apiserver. */
export function serviceErrors(object: ApiObject, dialect: Dialect): FieldError[] {
  const spec = specOf(object);
  return [
    ...topologyErrors(object, dialect),
    ...(hasPorts(spec) || isHeadless(spec) || spec.type === 'ExternalName' ? [] : [required('spec.ports')]),
    ...typeErrors(spec, dialect),
    ...portsErrors(spec),
    ...validateLabels(spec.selector ?? {}, 'spec.selector'),
    ...affinityErrors(spec),
    ...clusterIpErrors(spec),
    ...errorsOfEach(spec.externalIPs ?? [], externalIpErrors),
    ...nodePortErrors(spec),
    ...sourceRangeErrors(object, dialect),
    ...loadBalancerErrors(spec),
    ...externalTrafficErrors(spec),
    ...internalTrafficErrors(spec),
  ];
}

const hasPorts = ({ ports = [] }: ServiceSpec): boolean => ports.length > 0;

function topologyErrors({ metadata: { annotations = {} } }: ApiObject, dialect: Dialect): FieldError[] {
  const [mode, hints] = [annotations[topologyMode(dialect)], annotations[topologyHints(dialect)]];
  if (mode === undefined || hints === undefined || mode === hints) return [];
  return [invalid(`metadata.annotations[${topologyMode(dialect)}]`, mode, `must match annotations[${topologyHints(dialect)}] when both are specified`)];
}

function typeErrors(spec: ServiceSpec, dialect: Dialect): FieldError[] {
  switch (spec.type) {
    case 'LoadBalancer':
      return [...errorsOfEach(spec.ports ?? [], ({ port = 0 }, index) => exposedPortErrors(port, `spec.ports[${index}]`, dialect)), ...notHeadless(spec)];
    case 'NodePort':
      return notHeadless(spec);
    case 'ExternalName':
      return externalNameErrors(spec);
    default:
      return [];
  }
}

const exposedPortErrors = (port: number, path: string, dialect: Dialect): FieldError[] =>
  port === agentPort ? [invalid(path, port, `may not expose port ${agentPort} externally since it is used by ${components(dialect).nodeAgent}`)] : [];

const notHeadless = (spec: ServiceSpec): FieldError[] => (isHeadless(spec) ? [invalid('spec.clusterIPs[0]', spec.clusterIPs?.[0], `may not be set to 'None' for ${spec.type} services`)] : []);

function externalNameErrors({ clusterIPs = [], ipFamilies = [], ipFamilyPolicy, externalName = '' }: ServiceSpec): FieldError[] {
  const unset = 'may not be set for ExternalName services';
  const name = externalName.replace(/\.$/, '');
  return [
    ...(clusterIPs.length > 0 ? [forbidden('spec.clusterIPs', unset)] : []),
    ...(ipFamilies.length > 0 ? [forbidden('spec.ipFamilies', unset)] : []),
    ...(ipFamilyPolicy === undefined ? [] : [forbidden('spec.ipFamilyPolicy', unset)]),
    ...(name === '' ? [required('spec.externalName')] : failing(isDnsSubdomain, 'spec.externalName', name)),
  ];
}

function portsErrors({ ports = [] }: ServiceSpec): FieldError[] {
  const names = new Set<string>();
  return errorsOfEach(ports, ({ name = '', port = 0, protocol, targetPort = 0, appProtocol }, index) => {
    const path = `spec.ports[${index}]`;
    const isRepeated = names.has(name);
    names.add(name);
    return [
      ...(name !== '' ? [...failing(isDnsLabel, `${path}.name`, name), ...(isRepeated ? [duplicate(`${path}.name`, name)] : [])] : ports.length > 1 ? [required(`${path}.name`)] : []),
      ...validatePort(port, `${path}.port`),
      ...(protocol === undefined ? [required(`${path}.protocol`)] : []),
      ...validatePort(targetPort, `${path}.targetPort`),
      ...(appProtocol === undefined ? [] : failing(isQualifiedName, `${path}.appProtocol`, appProtocol)),
    ];
  });
}

function affinityErrors({ sessionAffinity, sessionAffinityConfig }: ServiceSpec): FieldError[] {
  const path = 'spec.sessionAffinityConfig';
  if (sessionAffinity === undefined) return [required('spec.sessionAffinity')];
  if (sessionAffinity === 'None') return sessionAffinityConfig ? [forbidden(path, 'must not be set when session affinity is None')] : [];
  if (sessionAffinity !== 'ClientIP') return [];
  const isNeeded = 'when session affinity type is ClientIP';
  if (!sessionAffinityConfig) return [required(path, isNeeded)];
  const { clientIP } = sessionAffinityConfig;
  if (!clientIP) return [required(`${path}.clientIP`, isNeeded)];
  const { timeoutSeconds } = clientIP;
  if (timeoutSeconds === undefined) return [required(`${path}.clientIP.timeoutSeconds`, isNeeded)];
  const { affinitySecondsMax } = limits;
  if (timeoutSeconds > 0 && timeoutSeconds <= affinitySecondsMax) return [];
  return [invalid(`${path}.clientIP.timeoutSeconds`, timeoutSeconds, `must be greater than 0 and less than ${affinitySecondsMax}`)];
}

function externalIpErrors(address: string, index: number): FieldError[] {
  const path = `spec.externalIPs[${index}]`;
  const errors = failing(isIpAddress, path, address);
  return errors.length > 0 ? errors : failing(specialAddressProblems, path, address);
}

/** Go prints the repeated port as the struct that it is. */
const shownPort = (protocol: string, port: number): string =>
  `core.ServicePort{Name:"", Protocol:${JSON.stringify(protocol)}, AppProtocol:(*string)(nil), Port:${port}, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}`;

function nodePortErrors({ type, ports = [] }: ServiceSpec): FieldError[] {
  const [nodePorts, seen] = [new Set<string>(), new Set<string>()];
  const isNew = (set: Set<string>, key: string): boolean => set.size < set.add(key).size;
  return [
    ...(type === undefined ? [required('spec.type')] : []),
    ...errorsOfEach(ports, ({ nodePort = 0 }, index) => (type === 'ClusterIP' && nodePort !== 0 ? [forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")] : [])),
    ...errorsOfEach(ports, ({ protocol, nodePort = 0 }, index) => (nodePort === 0 || isNew(nodePorts, `${protocol} ${nodePort}`) ? [] : [duplicate(`spec.ports[${index}].nodePort`, nodePort)])),
    ...errorsOfEach(ports, ({ protocol = '', port = 0 }, index) =>
      isNew(seen, `${protocol} ${port}`) ? [] : [{ ...duplicate(`spec.ports[${index}]`, { protocol, port }), shown: shownPort(protocol, port) }],
    ),
  ];
}

function sourceRangeErrors({ metadata, ...object }: ApiObject, dialect: Dialect): FieldError[] {
  const { type, loadBalancerSourceRanges = [] } = specOf({ metadata, ...object });
  const annotation = sourceRanges(dialect);
  const annotated = metadata.annotations?.[annotation];
  if (loadBalancerSourceRanges.length > 0) {
    const path = 'spec.LoadBalancerSourceRanges';
    return [...(type === 'LoadBalancer' ? [] : [forbidden(path, onlyLoadBalancer)]), ...errorsOfEach(loadBalancerSourceRanges, (range, index) => failing(isCidr, `${path}[${index}]`, range.trim()))];
  }
  if (annotated === undefined) return [];
  const path = `metadata.annotations[${annotation}]`;
  const ranges = annotated.trim() === '' ? [] : annotated.split(',');
  return [...(type === 'LoadBalancer' ? [] : [forbidden(path, onlyLoadBalancer)]), ...errorsOfEach(ranges, (range) => failing(isCidr, path, range.trim()))];
}

function loadBalancerErrors({ type, allocateLoadBalancerNodePorts, loadBalancerClass }: ServiceSpec): FieldError[] {
  if (type === 'LoadBalancer') {
    return [
      ...(allocateLoadBalancerNodePorts === undefined ? [required('allocateLoadBalancerNodePorts')] : []),
      ...(loadBalancerClass === undefined ? [] : failing(isQualifiedName, 'spec.loadBalancerClass', loadBalancerClass)),
    ];
  }
  return [
    ...(allocateLoadBalancerNodePorts === undefined ? [] : [forbidden('spec.allocateLoadBalancerNodePorts', onlyLoadBalancer)]),
    ...(loadBalancerClass === undefined ? [] : [forbidden('spec.loadBalancerClass', onlyLoadBalancer)]),
  ];
}

function externalTrafficErrors(spec: ServiceSpec): FieldError[] {
  const { externalTrafficPolicy, healthCheckNodePort = 0 } = spec;
  const policyPath = 'spec.externalTrafficPolicy';
  const portPath = 'spec.healthCheckNodePort';
  const ofPolicy = isExternallyAccessible(spec)
    ? policyErrors(externalTrafficPolicy, policyPath)
    : externalTrafficPolicy !== undefined && [invalid(policyPath, externalTrafficPolicy, 'may only be set for externally-accessible services')];
  const ofPort = needsHealthCheck(spec)
    ? healthCheckNodePort === 0
      ? [required(portPath)]
      : validatePort(healthCheckNodePort, portPath)
    : healthCheckNodePort !== 0 && [invalid(portPath, healthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")];
  return [...(ofPolicy || []), ...(ofPort || [])];
}

function policyErrors(policy: string | undefined, path: string): FieldError[] {
  if (policy === undefined) return [required(path)];
  return isTrafficPolicy(policy) ? [] : [notSupported(path, policy, trafficPolicies)];
}

function internalTrafficErrors(spec: ServiceSpec): FieldError[] {
  const { type, internalTrafficPolicy, trafficDistribution } = spec;
  const isNeeded = type === 'ClusterIP' || isReachedByNodes(spec);
  return [
    ...(isNeeded && internalTrafficPolicy === undefined ? [required('spec.internalTrafficPolicy')] : []),
    ...(trafficDistribution === undefined || trafficDistribution === 'PreferClose' ? [] : [notSupported('spec.trafficDistribution', trafficDistribution, ['PreferClose'])]),
  ];
}

const ipModes = ['Proxy', 'VIP'];

/** Errors of a status that whoever makes load balancers writes. */
export function serviceStatusErrors({ loadBalancer: { ingress = [] } = {} }: ServiceStatus, { type }: ServiceSpec): FieldError[] {
  if (type !== 'LoadBalancer' && ingress.length > 0) return [forbidden('status.loadBalancer.ingress', "may only be used when `spec.type` is 'LoadBalancer'")];
  return errorsOfEach(ingress, ({ ip = '', hostname = '', ipMode }, index) => {
    const path = `status.loadBalancer.ingress[${index}]`;
    return [
      ...(ip === '' ? [] : failing(isIpAddress, `${path}.ip`, ip)),
      ...ipModeErrors(ip, ipMode, `${path}.ipMode`),
      ...(hostname === '' ? [] : failing(isDnsSubdomain, `${path}.hostname`, hostname)),
      ...(hostname !== '' && parseIpAddress(hostname) ? [invalid(`${path}.hostname`, hostname, 'must be a DNS name, not an IP address')] : []),
    ];
  });
}

function ipModeErrors(ip: string, mode: string | undefined, path: string): FieldError[] {
  if (mode === undefined) return ip === '' ? [] : [required(path, 'must be specified when `ip` is set')];
  if (ip === '') return [forbidden(path, 'may not be specified when `ip` is not set')];
  return ipModes.includes(mode) ? [] : [notSupported(path, mode, ipModes)];
}
