import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, invalid, invalidTexts } from '../../../meta/field-error.ts';
import { addressText } from '../../../meta/ip-number.ts';
import { familyNumber } from '../../../meta/ip-range.ts';
import { AllocationFailure, type Claim, type Pools } from '../../allocation.ts';
import { shownAddress } from '../../networking/ip-address.ts';
import { typed } from '../../typed.ts';
import { validatePort } from '../pod/validation/field-checks.ts';
import { alignClusterIps, dropUnused, keepAllocated } from './service-changes.ts';
import { fillFamilies, staysPreferring } from './service-families.ts';
import { clusterIps, nodePorts } from './service-pools.ts';
import { type ServicePort, type ServiceSpec, serviceSchema } from './service-schema.ts';
import { isHeadless, isNone, isReachedByNodes, needsHealthCheck, specOf } from './service-spec.ts';

/** What a service holds, with the IPAddresses that show its addresses. */
export const shownServiceClaims =
  (dialect: Dialect) =>
  (object: ApiObject): readonly Claim[] =>
    serviceClaims(object).map((claim) => (claim.folder === clusterIps ? { ...claim, shown: shownAddress(dialect, claim.value, object.metadata) } : claim));

/** The addresses and ports that a service holds. Protocols do not count: a port of all nodes belongs to one service. */
export function serviceClaims(object: ApiObject): readonly Claim[] {
  const spec = specOf(object);
  const { type, clusterIPs = [], ports = [], healthCheckNodePort = 0 } = spec;
  if (type === 'ExternalName') return [];
  const held = new Set(isReachedByNodes(spec) ? ports.flatMap(({ nodePort = 0 }) => (nodePort === 0 ? [] : [nodePort])) : []);
  if (needsHealthCheck(spec) && healthCheckNodePort !== 0) held.add(healthCheckNodePort);
  return [
    ...clusterIPs.flatMap((address) => {
      const found = isNone(address) ? undefined : familyNumber(address);
      return found ? [{ folder: clusterIps, value: addressText(found.number, found.family) }] : [];
    }),
    ...[...held].map((port) => ({ folder: nodePorts, value: String(port) })),
  ];
}

type Errors = readonly FieldError[];

/** Fills in what a service is given, in the order of kube-apiserver: families, addresses, ports. */
export async function allocateService(object: ApiObject, before: ApiObject | undefined, pools: Pools): Promise<Errors> {
  const [spec, old] = [specOf(object), before && specOf(before)];
  if (old) keepAllocated(spec, old);
  alignClusterIps(spec, old);
  const families = pools.names.filter((name) => name !== nodePorts);
  for (const step of [() => fillFamilies(spec, old, families), () => fillAddresses(spec, old, pools), () => fillPorts(spec, old, pools)]) {
    const errors = await step();
    if (errors.length > 0) return errors;
  }
  await fillHealthCheckPort(spec, old, pools);
  if (old) dropUnused(spec, old);
  const { status } = typed(serviceSchema, object);
  if (status && spec.type !== 'LoadBalancer') status.loadBalancer = {};
  return [];
}

/** All addresses of a new service, and the second one of a service that gets a second family. */
async function fillAddresses(spec: ServiceSpec, old: ServiceSpec | undefined, pools: Pools): Promise<Errors> {
  if (spec.type === 'ExternalName' || isHeadless(spec) || staysPreferring(spec, old)) return [];
  const { ipFamilies = [] } = spec;
  const isNew = !old || old.type === 'ExternalName';
  const isExtended = !isNew && !isHeadless(old) && old.ipFamilies?.length === 1 && ipFamilies.length === 2;
  const given = spec.clusterIPs ?? [];
  const addresses = [...given];
  for (const [index, family] of ipFamilies.entries()) {
    if (!isNew && !(isExtended && index === 1)) continue;
    const asked = addresses[index];
    const found = await (asked ? pools.take(family, asked) : pools.choose(family));
    if ('value' in found) addresses[index] = asked || found.value;
    else if (asked) return [invalidTexts('spec.clusterIPs', given, `failed to allocate IP ${asked}: ${found.problem}`)];
    else throw new AllocationFailure(`failed to allocate a serviceIP: ${found.problem}`);
  }
  const [first] = addresses;
  if (isNew || isExtended) Object.assign(spec, first !== undefined && { clusterIP: first, clusterIPs: addresses });
  return [];
}

function fillPorts(spec: ServiceSpec, old: ServiceSpec | undefined, pools: Pools): Promise<Errors> {
  if (!isReachedByNodes(spec)) return Promise.resolve([]);
  const getsNew = spec.type === 'NodePort' || spec.allocateLoadBalancerNodePorts === true;
  const ports = (spec.ports ?? []).map((port, index) => ({ port, index })).filter(({ port }) => getsNew || port.nodePort);
  return old ? fillChangedPorts(ports, old, pools) : fillNewPorts(ports, pools);
}

interface IndexedPort {
  readonly port: ServicePort;
  readonly index: number;
}

/** Ports of a new service with the same number, for several protocols, share a port of the nodes. */
async function fillNewPorts(ports: readonly IndexedPort[], pools: Pools): Promise<Errors> {
  const shared = new Map<number, number>();
  for (const { port, index } of ports) {
    const number = port.port ?? 0;
    const other = shared.get(number);
    if (other !== undefined && (!port.nodePort || port.nodePort === other)) {
      port.nodePort = other;
      continue;
    }
    const asked = other === undefined ? ports.find(({ port: each }) => each.port === port.port && each.nodePort)?.port.nodePort : port.nodePort;
    const found = asked ? await takePort(asked, index, pools) : await choosePort(pools);
    if (typeof found !== 'number') return found;
    port.nodePort = other === undefined ? found : (port.nodePort ?? found);
    if (other === undefined) shared.set(number, found);
  }
  return [];
}

/** Ports that the service had stay its own. */
async function fillChangedPorts(ports: readonly IndexedPort[], old: ServiceSpec, pools: Pools): Promise<Errors> {
  const own = new Set((old.ports ?? []).map(({ nodePort = 0 }) => nodePort));
  for (const { port, index } of ports) {
    if (port.nodePort && own.has(port.nodePort)) continue;
    const found = port.nodePort ? await takePort(port.nodePort, index, pools) : await choosePort(pools);
    if (typeof found !== 'number') return found;
    port.nodePort = found;
    own.add(found);
  }
  return [];
}

async function takePort(port: number, index: number, pools: Pools): Promise<number | Errors> {
  const found = await pools.take(nodePorts, String(port));
  return 'problem' in found ? [invalid(`spec.ports[${index}].nodePort`, port, found.problem)] : port;
}

async function choosePort(pools: Pools): Promise<number> {
  const found = await pools.choose(nodePorts);
  if ('problem' in found) throw new AllocationFailure(`failed to allocate a nodePort: ${found.problem}`);
  return Number(found.value);
}

async function fillHealthCheckPort(spec: ServiceSpec, old: ServiceSpec | undefined, pools: Pools): Promise<void> {
  if (!needsHealthCheck(spec) || (old && needsHealthCheck(old))) return;
  const asked = spec.healthCheckNodePort ?? 0;
  // What is no port is refused as such.
  if (asked !== 0 && validatePort(asked, '').length > 0) return;
  const found = await (asked ? pools.take(nodePorts, String(asked)) : pools.choose(nodePorts));
  if ('value' in found) spec.healthCheckNodePort = Number(found.value);
  else throw new AllocationFailure(asked ? `failed to allocate requested HealthCheck NodePort ${asked}: ${found.problem}` : `failed to allocate a HealthCheck NodePort 0: ${found.problem}`);
}
