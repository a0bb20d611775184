import type { ApiObject } from '../../../meta/api-object.ts';
import { typed } from '../../typed.ts';
import { type ServiceSpec, serviceSchema } from './service-schema.ts';

/** What several rules of a service ask of its spec. */

export const specOf = (object: ApiObject): ServiceSpec => typed(serviceSchema, object).spec ?? {};

/** The address of a service that has none. */
const headless = 'None';

export const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean => clusterIPs.length === 1 && clusterIPs[0] === headless;

/** The one address `None`, whatever the other fields say. */
export const isNone = (address: string | undefined): boolean => address === headless;

export const isExternallyAccessible = ({ type, externalIPs = [] }: ServiceSpec): boolean => type === 'LoadBalancer' || type === 'NodePort' || (type === 'ClusterIP' && externalIPs.length > 0);

export const needsClusterIp = ({ type }: ServiceSpec): boolean => type !== 'ExternalName';

export const isReachedByNodes = ({ type }: ServiceSpec): boolean => type === 'NodePort' || type === 'LoadBalancer';

export const trafficPolicies = ['Cluster', 'Local'] as const;
export const isTrafficPolicy = (policy: string | undefined): boolean => trafficPolicies.some((each) => each === policy);

/** Load balancers ask each node whether it has pods. */
export const needsHealthCheck = ({ type, externalTrafficPolicy }: ServiceSpec): boolean => type === 'LoadBalancer' && externalTrafficPolicy === 'Local';

export const sameTexts = (some: readonly string[] = [], others: readonly string[] = []): boolean => some.length === others.length && some.every((each, index) => each === others[index]);

export const sameClusterIps = (spec: ServiceSpec, other: ServiceSpec): boolean => sameTexts(spec.clusterIPs, other.clusterIPs);
export const sameFamilies = (spec: ServiceSpec, other: ServiceSpec): boolean => sameTexts(spec.ipFamilies, other.ipFamilies);
