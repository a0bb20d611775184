import { type FieldError, invalid, invalidTexts } from '../../../meta/field-error.ts';
import { familyOf } from '../../../meta/ip-address.ts';
import { clusterIpErrors } from './cluster-ip-errors.ts';
import type { ServiceSpec } from './service-schema.ts';
import { isNone, sameClusterIps, sameFamilies } from './service-spec.ts';

/** Families of addresses that there are, the default first. */
type Families = readonly string[];

/**
 * Fills in the families of a service and their policy. A service that prefers two families neither gets nor loses one
 * because the cluster changed: only a change of its own policy, families or addresses does that.
 */
export function fillFamilies(spec: ServiceSpec, old: ServiceSpec | undefined, families: Families): readonly FieldError[] {
  if (spec.type === 'ExternalName' || staysPreferring(spec, old)) return [];
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (isAlone(spec) ? 'RequireDualStack' : 'SingleStack');
  const unfit = clusterIpErrors(spec);
  if (unfit.length > 0) return unfit;
  const errors = [...(old ? release(spec, old) : []), ...policyErrors(spec), ...inferFamilies(spec, families)];
  if (errors.length > 0) return errors;
  if (isAlone(spec)) {
    setFamilies(spec, families, 2);
    return [];
  }
  const unknown = unknownErrors(spec, families);
  if (unknown.length === 0) setFamilies(spec, families, families.length);
  return unknown;
}

/** Headless and without a selector: somebody else gives it endpoints, of any family. */
const isAlone = ({ clusterIP, selector = {} }: ServiceSpec): boolean => isNone(clusterIP) && Object.keys(selector).length === 0;

const addressed = ['ClusterIP', 'NodePort', 'LoadBalancer'];

/** True for an update that leaves the families of a service to the cluster, as they are. */
export function staysPreferring(spec: ServiceSpec, old: ServiceSpec | undefined): boolean {
  if (!old || old.type !== spec.type || !addressed.includes(spec.type ?? '')) return false;
  const prefers = spec.ipFamilyPolicy === 'PreferDualStack' && (old.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack';
  return prefers && sameClusterIps(spec, old) && sameFamilies(spec, old);
}

const policyPath = 'spec.ipFamilyPolicy';

/** One family is enough, if the policy says so now. */
function release(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  const { ipFamilyPolicy, clusterIPs = [], ipFamilies = [] } = spec;
  if (ipFamilyPolicy === 'SingleStack') {
    if (clusterIPs.length > 1 && sameClusterIps(spec, old)) spec.clusterIPs = clusterIPs.slice(0, 1);
    if (ipFamilies.length > 1 && sameFamilies(spec, old)) spec.ipFamilies = ipFamilies.slice(0, 1);
    return [];
  }
  const isFewer = (now: readonly string[], before: readonly string[] = []): boolean => now.length > 0 && now.length < before.length;
  const problem = (what: string): FieldError => invalid(policyPath, ipFamilyPolicy, `must be 'SingleStack' to release the secondary ${what}`);
  return [...(isFewer(clusterIPs, old.clusterIPs) ? [problem('cluster IP')] : []), ...(isFewer(ipFamilies, old.ipFamilies) ? [problem('IP family')] : [])];
}

function policyErrors({ ipFamilyPolicy, clusterIPs = [], ipFamilies = [] }: ServiceSpec): FieldError[] {
  if (ipFamilyPolicy !== 'SingleStack') return [];
  const problem = (what: string): FieldError => invalid(policyPath, ipFamilyPolicy, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`);
  return [...(clusterIPs.length === 2 ? [problem('cluster IPs')] : []), ...(ipFamilies.length === 2 ? [problem('IP families')] : [])];
}

/** Given addresses say what their families are. */
function inferFamilies(spec: ServiceSpec, families: Families): FieldError[] {
  const { clusterIPs = [] } = spec;
  const errors: FieldError[] = [];
  for (const [index, address] of clusterIPs.entries()) {
    if (isNone(address)) break;
    const { ipFamilies = [] } = spec;
    const family = familyOf(address);
    if (index < ipFamilies.length) continue;
    if (families.includes(family)) spec.ipFamilies = [...ipFamilies, family];
    else errors.push(invalidTexts(`spec.clusterIPs[${index}]`, clusterIPs, `${family} is not configured on this cluster`));
  }
  return errors;
}

function unknownErrors({ ipFamilyPolicy, ipFamilies = [] }: ServiceSpec, families: Families): FieldError[] {
  const isMissing = ipFamilyPolicy === 'RequireDualStack' && families.length < 2;
  return [
    ...(isMissing ? [invalid(policyPath, ipFamilyPolicy, 'this cluster is not configured for dual-stack services')] : []),
    ...ipFamilies.flatMap((family, index) => (families.includes(family) ? [] : [invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')])),
  ];
}

/** The default family, and the other one if the policy wants two and so many are possible. */
function setFamilies(spec: ServiceSpec, [first = 'IPv4']: Families, possible: number): void {
  const [family = first, second] = spec.ipFamilies ?? [];
  const other = family === 'IPv4' ? 'IPv6' : 'IPv4';
  const wantsTwo = spec.ipFamilyPolicy !== 'SingleStack' && possible === 2;
  spec.ipFamilies = [family, ...(second === undefined ? (wantsTwo ? [other] : []) : [second])];
}
