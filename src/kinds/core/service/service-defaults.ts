import type { ApiObject } from '../../../meta/api-object.ts';
import { typed } from '../../typed.ts';
import { serviceSchema } from './service-schema.ts';
import { isExternallyAccessible, isTrafficPolicy } from './service-spec.ts';

const affinitySeconds = 10_800;

/** Defaults that depend on other fields, above all on the type. */
export function setServiceDefaults(object: ApiObject): void {
  const { spec, status } = typed(serviceSchema, object);
  if (!spec) return;
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig;
  if (spec.sessionAffinity === 'ClientIP' && spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined) {
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } };
  }
  for (const port of spec.ports ?? []) {
    if (port.targetPort === 0 || port.targetPort === '' || port.targetPort === undefined)
      port.targetPort = port.port ?? 0;
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'ClusterIP' || spec.type === 'NodePort' || spec.type === 'LoadBalancer')
    spec.internalTrafficPolicy ??= 'Cluster';
  // What is no policy stays, and is refused.
  if (spec.type === 'ExternalName' && isTrafficPolicy(spec.internalTrafficPolicy)) delete spec.internalTrafficPolicy;
  if (spec.type !== 'LoadBalancer') return;
  spec.allocateLoadBalancerNodePorts ??= true;
  for (const place of status?.loadBalancer?.ingress ?? []) {
    if (place.ip) place.ipMode ??= 'VIP';
  }
}
