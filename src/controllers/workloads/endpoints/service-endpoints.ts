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
import { selectorIn, type WorkloadController } from '../workload-controller.ts';

/** What both kinds of endpoints of a service have in common. */

export const serviceKind: ObjectKind = { apiVersion: 'v1', kind: 'Service', resource: 'services' };

/** The selector of a service whose endpoints are found here: others name their own. */
export function selectorOfService(service: ApiObject) {
  const { type, selector } = specOf(service);
  return type === 'ExternalName' || !selector ? undefined : selectorIn({ matchLabels: selector });
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

/** Ports of the pod for those of the service; what the pod does not have is left out. */
export const portsOf = ({ ports = [] }: ServiceSpec, pod: Pod): readonly FoundPort[] =>
  ports.flatMap((port) => {
    const found = numberOf(port, pod);
    if (found === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, port: found, protocol, ...(appProtocol !== undefined && { appProtocol }) }];
  });

function numberOf({ targetPort, port, protocol = 'TCP' }: ServicePort, { spec }: Pod): number | undefined {
  if (typeof targetPort !== 'string') return targetPort || port;
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  for (const { ports = [] } of [...(spec?.containers ?? []), ...sidecars]) {
    const found = ports.find((each) => each.name === targetPort && (each.protocol ?? 'TCP') === protocol);
    if (found) return found.containerPort;
  }
  return undefined;
}

/** A service without an address that has no ports stands for the addresses alone. */
export const needsPorts = (spec: ServiceSpec): boolean => !(isHeadless(spec) && (spec.ports ?? []).length === 0);
