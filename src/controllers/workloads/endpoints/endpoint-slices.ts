import { getOrAdd } from '../../../base/collections/get-or-add.ts';
import type { Closable } from '../../../base/disposable.ts';
import { TimeSlice } from '../../../base/time/time-slice.ts';
import { hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { endpointNames } from '../../../dialect/workload-names.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { isHeadless, specOf } from '../../../kinds/core/service/service-spec.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import type { InformedContext } from '../../controller.ts';
import {
  aboutOf,
  byController,
  collectionOf,
  controllerReference,
  type ObjectKind,
  pathOf,
  podKind,
} from '../owner.ts';
import { isTerminatingNamespace, messageOf } from '../pod-control.ts';
import { isReady } from '../pod-state.ts';
import { WorkloadController } from '../workload-controller.ts';
import {
  addressOf,
  followPods,
  hostnameOf,
  isReachable,
  podsOf,
  portsFinder,
  selectorOfService,
  serviceKind,
  targetOf,
} from './service-endpoints.ts';
import { planSlices, type SliceContent, type SliceEndpoint } from './slice-plan.ts';
import { TriggerTimes } from './trigger-times.ts';

interface GivenMetadata {
  readonly labels: Readonly<Record<string, string>>;
  /** Time of the change that is written. */
  readonly trigger: string | undefined;
}

type SlicesOf = SliceContent & { readonly endpoints: SliceEndpoint[] };

/** Traffic stays in the zone of the endpoint. Ones that are not ready get none, as published. */
const withHint = (endpoint: SliceEndpoint): SliceEndpoint =>
  endpoint.conditions.ready && endpoint.zone !== undefined
    ? { ...endpoint, hints: { forZones: [{ name: endpoint.zone }] } }
    : endpoint;

const nodeKind = { apiVersion: 'v1', kind: 'Node', resource: 'nodes' } as const;
const parallel = 5;

/** Keeps the endpoint slices of services with a selector, one or more for each family and set of ports. */
export const startEndpointSlices = (context: InformedContext): Closable => new EndpointSlices(context);

class EndpointSlices implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ObjectKind;
  readonly #pods: SharedInformer;
  readonly #nodes: SharedInformer;
  readonly #slices: SharedInformer;
  readonly #controller: WorkloadController;
  readonly #following: Closable;
  readonly #triggers = new TriggerTimes();

  constructor(context: InformedContext) {
    this.#context = context;
    const apiVersion = `${context.dialect.group('discovery')}/v1`;
    this.#kind = { apiVersion, kind: 'EndpointSlice', resource: 'endpointslices' };
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#nodes = context.informers.of(collectionOf(nodeKind));
    this.#slices = context.informers.of(collectionOf(this.#kind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: serviceKind, queue: 'endpoint_slice', parallel, dependents: [podKind, nodeKind, this.#kind] },
      selectorOf: () => undefined,
      pass: (service, key) => this.#pass(service, key),
      gone: (key) => this.#triggers.forget(key),
    });
    this.#following = followPods(this.#pods, this.#controller);
  }

  async #pass(service: ApiObject, key: string): Promise<void> {
    if (!selectorOfService(service) || service.metadata.deletionTimestamp !== undefined) return;
    const { events } = this.#context;
    const { signal } = this.#controller;
    const { uid = '', namespace } = service.metadata;
    const existing = this.#slices.indexed(byController, uid).filter((slice) => this.#isManaged(slice));
    const labels = this.#labels(service);
    const turn = new TimeSlice(this.#context.clock);
    const pods = podsOf(service, this.#pods).map(asPod);
    const given = { labels, trigger: this.#triggers.next(key, service, pods) };
    try {
      const wanted = await this.#wanted(service, pods, turn);
      if (turn.over) await turn.next();
      for (const { slice, content } of planSlices(existing, wanted)) {
        if (turn.over) await turn.next();
        if (!content && slice) await this.#delete(slice);
        else if (content) await this.#write(service, slice, content, given);
      }
    } catch (error) {
      if (signal.aborted || isTerminatingNamespace(error)) return;
      const message = `Error updating Endpoint Slices for Service ${namespace}/${nameOf(service)}: ${messageOf(error)}`;
      const about = aboutOf(serviceKind, service);
      events.record({ about, type: 'Warning', reason: 'FailedToUpdateEndpointSlices', message });
      throw error;
    }
  }

  #isManaged({ metadata }: ApiObject): boolean {
    const { managedBy, manager } = endpointNames(this.#context.dialect);
    return metadata.labels?.[managedBy] === manager && metadata.deletionTimestamp === undefined;
  }

  #labels(service: ApiObject): Readonly<Record<string, string>> {
    const { serviceName, managedBy, manager, headless } = endpointNames(this.#context.dialect);
    const { [headless]: _, ...labels } = service.metadata.labels ?? {};
    const isWithoutAddress = isHeadless(specOf(service));
    return {
      ...labels,
      ...(isWithoutAddress && { [headless]: '' }),
      [serviceName]: nameOf(service),
      [managedBy]: manager,
    };
  }

  /** All endpoints by family and ports; a family without any has a slice that is empty. */
  async #wanted(service: ApiObject, pods: readonly Pod[], slice: TimeSlice): Promise<readonly SliceContent[]> {
    const spec = specOf(service);
    const { ipFamilies = ['IPv4'], publishNotReadyAddresses = false } = spec;
    const portsOf = portsFinder(spec);
    const staysClose = spec.trafficDistribution === 'PreferClose';
    const families = ipFamilies.map((addressType) => ({ addressType, groups: new Map<string, SlicesOf>() }));
    for (const pod of pods) {
      if (slice.over) await slice.next();
      if (!isReachable(pod)) continue;
      const { ports, key } = portsOf(pod);
      for (const { addressType, groups } of families) {
        const address = addressOf(pod, addressType);
        if (address === undefined) continue;
        const group = getOrAdd(groups, key, () => ({ addressType, ports, endpoints: [] }));
        const endpoint = this.#endpoint(service, pod, address, publishNotReadyAddresses);
        group.endpoints.push(staysClose ? withHint(endpoint) : endpoint);
      }
    }
    return families.flatMap(({ addressType, groups }): readonly SliceContent[] =>
      groups.size > 0 ? [...groups.values()] : [{ addressType, ports: [], endpoints: [] }],
    );
  }

  #endpoint(service: ApiObject, pod: Pod, address: string, publishNotReady: boolean): SliceEndpoint {
    const serving = isReady(pod);
    const terminating = Boolean(pod.metadata?.deletionTimestamp);
    const { nodeName } = pod.spec ?? {};
    const zone =
      nodeName && this.#nodes.get(`/${nodeName}`)?.metadata.labels?.[endpointNames(this.#context.dialect).zone];
    const hostname = hostnameOf(pod, service);
    return {
      addresses: [address],
      conditions: { ready: publishNotReady || (serving && !terminating), serving, terminating },
      ...(hostname !== undefined && { hostname }),
      ...(nodeName && { nodeName }),
      targetRef: targetOf(pod),
      ...(zone && { zone }),
    };
  }

  async #write(
    service: ApiObject,
    slice: ApiObject | undefined,
    content: SliceContent,
    { labels, trigger }: GivenMetadata,
  ): Promise<void> {
    const { client } = this.#context;
    const { signal } = this.#controller;
    const { namespace = '' } = service.metadata;
    const { apiVersion, kind } = this.#kind;
    const isSame =
      slice &&
      equalValues(slice['endpoints'] ?? [], content.endpoints) &&
      equalValues(slice.metadata.labels ?? {}, labels);
    if (isSame) return;
    const { triggerTime } = endpointNames(this.#context.dialect);
    const { [triggerTime]: _, ...others } = slice?.metadata.annotations ?? {};
    const annotations = { ...others, ...(trigger !== undefined && { [triggerTime]: trigger }) };
    const metadata = slice
      ? { ...slice.metadata, labels, annotations }
      : {
          generateName: `${nameOf(service)}-`,
          namespace,
          labels,
          annotations,
          ownerReferences: [controllerReference(serviceKind, service)],
        };
    const object = { apiVersion, kind, metadata, ...content };
    const written = slice
      ? await client.update<ApiObject>(pathOf(this.#kind, slice), object, signal)
      : await client.create<ApiObject>(collectionOf(this.#kind, namespace), object, signal);
    await this.#slices.reached(written.metadata.resourceVersion, signal);
  }

  async #delete(slice: ApiObject): Promise<void> {
    const { signal } = this.#controller;
    const { namespace = '', name = '', uid } = slice.metadata;
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
    try {
      await this.#context.client.delete(pathOf(this.#kind, slice), options, signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
    await this.#slices.deleted(`${namespace}/${name}`, uid, signal);
  }

  close(): void {
    this.#following.close();
    this.#controller.close();
  }
}
