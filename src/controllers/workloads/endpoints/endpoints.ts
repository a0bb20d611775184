import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import { TimeSlice } from '../../../base/time/time-slice.ts';
import { hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { endpointNames } from '../../../dialect/workload-names.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { isHeadless, specOf } from '../../../kinds/core/service/service-spec.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import type { InformedContext } from '../../controller.ts';
import { aboutOf, collectionOf, type ObjectKind, pathOf, podKind } from '../owner.ts';
import { isTerminatingNamespace, messageOf } from '../pod-control.ts';
import { isReady } from '../pod-state.ts';
import { WorkloadController } from '../workload-controller.ts';
import { packSubsets, type ReadyAddress, truncated } from './endpoint-subsets.ts';
import {
  addressOf,
  followPods,
  hostnameOf,
  isReachable,
  needsPorts,
  podsOf,
  portsFinder,
  selectorOfService,
  serviceKind,
  targetOf,
} from './service-endpoints.ts';
import { TriggerTimes } from './trigger-times.ts';

const endpointsKind: ObjectKind = { apiVersion: 'v1', kind: 'Endpoints', resource: 'endpoints' };
const parallel = 5;

const keyOf = ({ metadata: { namespace = '', name = '' } }: ApiObject): string => `${namespace}/${name}`;

/** Keeps the Endpoints of services with a selector: an object of the name of each, with the addresses of its pods. */
export const startEndpoints = (context: InformedContext): Closable => new EndpointsController(context);

class EndpointsController implements Closable {
  readonly #context: InformedContext;
  readonly #pods: SharedInformer;
  readonly #endpoints: SharedInformer;
  readonly #controller: WorkloadController;
  readonly #following: readonly Closable[];
  readonly #triggers = new TriggerTimes();

  constructor(context: InformedContext) {
    this.#context = context;
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#endpoints = context.informers.of(collectionOf(endpointsKind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: serviceKind, queue: 'endpoint', parallel, dependents: [podKind, endpointsKind] },
      selectorOf: () => undefined,
      pass: (service) => this.#pass(service),
      gone: (key) => {
        this.#triggers.forget(key);
        void this.#remove(key);
      },
    });
    const changed = (key: string): void => this.#controller.add(key);
    this.#following = [followPods(this.#pods, this.#controller), this.#endpoints.follow({ changed })];
  }

  async #pass(service: ApiObject): Promise<void> {
    if (!selectorOfService(service)) return;
    const { dialect } = this.#context;
    const { headless, overCapacity, triggerTime } = endpointNames(dialect);
    const slice = new TimeSlice(this.#context.clock);
    const pods = podsOf(service, this.#pods).map(asPod);
    const trigger = this.#triggers.next(keyOf(service), service, pods);
    const entries = await this.#addresses(service, pods, slice);
    if (slice.over) await slice.next();
    const all = packSubsets(entries);
    const { subsets, isTruncated } = truncated(all, limits.endpointsAddressesMax);
    const { namespace = '', name = '', labels = {} } = service.metadata;
    const found = this.#endpoints.get(keyOf(service));
    const { [overCapacity]: _, [triggerTime]: triggered, ...annotations } = found?.metadata.annotations ?? {};
    const before = { ...(triggered !== undefined && { [triggerTime]: triggered }) };
    const wanted = {
      labels: { ...labels, ...(isHeadless(specOf(service)) && { [headless]: '' }) },
      annotations: { ...annotations, ...(isTruncated && { [overCapacity]: 'truncated' }) },
    };
    const isSame =
      found &&
      equalValues(found['subsets'] ?? [], subsets) &&
      equalValues(found.metadata.labels ?? {}, wanted.labels) &&
      equalValues(found.metadata.annotations ?? {}, { ...wanted.annotations, ...before });
    if (isSame) return;
    const { apiVersion, kind } = endpointsKind;
    const annotated = { ...wanted.annotations, ...(trigger !== undefined && { [triggerTime]: trigger }) };
    const metadata = { ...(found?.metadata ?? { name, namespace }), ...wanted, annotations: annotated };
    await this.#write(service, { apiVersion, kind, ...found, metadata, subsets }, found !== undefined);
  }

  async #addresses(service: ApiObject, pods: readonly Pod[], slice: TimeSlice): Promise<readonly ReadyAddress[]> {
    const spec = specOf(service);
    const { publishNotReadyAddresses = false, ipFamilies = ['IPv4'] } = spec;
    const portsOf = portsFinder(spec);
    const entries: ReadyAddress[] = [];
    for (const pod of pods) {
      if (slice.over) await slice.next();
      if (!isReachable(pod) || (pod.metadata?.deletionTimestamp && !publishNotReadyAddresses)) continue;
      const ip = addressOf(pod, ipFamilies[0] ?? 'IPv4');
      if (ip === undefined) continue;
      const { ports, key: portsKey } = portsOf(pod);
      if (ports.length === 0 && needsPorts(spec)) continue;
      const hostname = hostnameOf(pod, service);
      const { nodeName } = pod.spec ?? {};
      const named = { ...(hostname !== undefined && { hostname }), ...(nodeName && { nodeName }) };
      const address = { ip, ...named, targetRef: targetOf(pod) };
      entries.push({ address, isReady: publishNotReadyAddresses || isReady(pod), ports, portsKey });
    }
    return entries;
  }

  async #write(service: ApiObject, endpoints: ApiObject, exists: boolean): Promise<void> {
    const { client, events } = this.#context;
    const { signal } = this.#controller;
    const { namespace = '' } = service.metadata;
    try {
      const written = exists
        ? await client.update<ApiObject>(pathOf(endpointsKind, endpoints), endpoints, signal)
        : await client.create<ApiObject>(collectionOf(endpointsKind, namespace), endpoints, signal);
      await this.#endpoints.reached(written.metadata.resourceVersion, signal);
    } catch (error) {
      if (signal.aborted || isTerminatingNamespace(error)) return;
      const [reason, text] = exists
        ? ['FailedToUpdateEndpoint', 'Failed to update endpoint']
        : ['FailedToCreateEndpoint', 'Failed to create endpoint for service'];
      const message = `${text} ${namespace}/${nameOf(service)}: ${messageOf(error)}`;
      events.record({ about: aboutOf(endpointsKind, endpoints), type: 'Warning', reason, message });
      throw error;
    }
  }

  /** Endpoints go with their service. */
  async #remove(key: string): Promise<void> {
    const found = this.#endpoints.get(key);
    if (!found) return;
    const { client, logger } = this.#context;
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: found.metadata.uid } };
    try {
      await client.delete(pathOf(endpointsKind, found), options, this.#controller.signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound', 'Conflict')) logger.debug('endpoints stay behind', { key, error });
    }
  }

  close(): void {
    for (const each of this.#following) each.close();
    this.#controller.close();
  }
}
