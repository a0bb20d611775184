import type { Closable } from '../../../base/disposable.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ServicePort, ServiceSpec } from '../../../kinds/core/service/service-schema.ts';
import { isHeadless, specOf } from '../../../kinds/core/service/service-spec.ts';
import { selectsLabels } from '../../../kinds/meta/label-selector.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { parseIpAddress } from '../../../meta/ip-address.ts';
import { byNamespace, type ObjectKind } from '../owner.ts';
import { isFinished } from '../pod-state.ts';
import { selectorOfLabels } from '../read-selector.ts';
import type { WorkloadController } from '../workload-controller.ts';

/** What both kinds of endpoints of a service have in common. */

export const serviceKind: ObjectKind = { apiVersion: 'v1', kind: 'Service', resource: 'services' };

/** The selector of a service whose endpoints are found here: others name their own. */
export function selectorOfService(service: ApiObject) {
  const { type, selector } = specOf(service);
  return type === 'ExternalName' || !selector ? undefined : selectorOfLabels(selector);
}

/** Pods that the service selects. */
export function podsOf(service: ApiObject, pods: SharedInformer): readonly ApiObject[] {
  const selector = selectorOfService(service);
  if (!selector) return [];
  const { namespace = '' } = service.metadata;
  return pods.indexed(byNamespace, namespace).filter(({ metadata }) => selectsLabels(selector, metadata.labels));
}

/** Has a service looked at when a pod changes that it selects, or did. */
export const followPods = (pods: SharedInformer, controller: WorkloadController): Closable =>
  pods.follow({
    changed(_key, now, before) {
      const namespace = (now ?? before)?.metadata.namespace ?? '';
      for (const service of controller.owners.indexed(byNamespace, namespace)) {
        const selector = selectorOfService(service);
        const isConcerned = [now, before].some(
          (pod) => pod && selector && selectsLabels(selector, pod.metadata.labels),
        );
        if (isConcerned) controller.add(`${namespace}/${nameOf(service)}`);
      }
    },
  });

/** Whether a pod can take traffic at all: it has an address and is not over. */
export const isReachable = (pod: Pod): boolean => !isFinished(pod) && addressesOf(pod).length > 0;

const addressesOf = ({ status }: Pod): readonly string[] => {
  const all = (status?.podIPs ?? []).flatMap(({ ip }) => ip ?? []);
  return all.length > 0 ? all : status?.podIP ? [status.podIP] : [];
};

export const addressOf = (pod: Pod, family: string): string | undefined =>
  addressesOf(pod).find((each) => parseIpAddress(each)?.family === family.toLowerCase());

/** The host name that a pod has within the service; undefined if it has none. */
export const hostnameOf = ({ spec, metadata }: Pod, service: ApiObject): string | undefined =>
  spec?.hostname && spec.subdomain === nameOf(service) && metadata?.namespace === service.metadata.namespace
    ? spec.hostname
    : undefined;

export const targetOf = ({ metadata }: Pod) => ({
  ...{ kind: 'Pod', namespace: metadata?.namespace ?? '', name: metadata?.name ?? '', uid: metadata?.uid ?? '' },
});

/** A port of a pod for one of the service. */
export interface FoundPort {
  readonly name: string;
  readonly port: number;
  readonly protocol: string;
  readonly appProtocol?: string;
}

interface FoundPorts {
  readonly ports: readonly FoundPort[];
  /** Equal for equal ports. */
  readonly key: string;
}

/**
 * Finds ports of pods for those of a service; what a pod does not have is left out. Pods share what is found unless a port of
 * the service is a name, which each pod gives its own number.
 */
export function portsFinder({ ports = [] }: ServiceSpec): (pod: Pod) => FoundPorts {
  if (ports.some(({ targetPort }) => typeof targetPort === 'string')) {
    return (pod) => {
      const named = namedPorts(pod);
      return keyed(ports.flatMap((port) => foundPort(port, named)));
    };
  }
  const found = keyed(ports.flatMap((port) => foundPort(port, noPorts)));
  return () => found;
}

const keyed = (ports: readonly FoundPort[]): FoundPorts => ({ ports, key: JSON.stringify(ports) });

type NumbersByName = ReadonlyMap<string, number>;

const noPorts: NumbersByName = new Map();

function foundPort(service: ServicePort, named: NumbersByName): FoundPort | [] {
  const { name = '', protocol = 'TCP', appProtocol, targetPort } = service;
  const port = typeof targetPort === 'string' ? named.get(`${protocol} ${targetPort}`) : targetPort || service.port;
  if (port === undefined) return [];
  return { name, port, protocol, ...(appProtocol !== undefined && { appProtocol }) };
}

/** Numbers of the ports of containers and sidecars, by protocol and name. The first of a name counts. */
function namedPorts({ spec }: Pod): NumbersByName {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const numbers = new Map<string, number>();
  for (const { ports = [] } of [...(spec?.containers ?? []), ...sidecars]) {
    for (const { name, protocol = 'TCP', containerPort } of ports) {
      const key = `${protocol} ${name}`;
      if (name && containerPort && !numbers.has(key)) numbers.set(key, containerPort);
    }
  }
  return numbers;
}

/** A service without an address that has no ports stands for the addresses alone. */
export const needsPorts = (spec: ServiceSpec): boolean => !(isHeadless(spec) && (spec.ports ?? []).length === 0);
