import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { nodeNames } from '../../dialect/simulation-names.ts';
import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import { type ApiObject, nameOf } from '../../meta/api-object.ts';
import { formatMicroTime, formatTime } from '../../meta/time.ts';
import type { InformedContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { aboutOf, collectionOf, pathOf, podKind } from '../workloads/owner.ts';
import { mayRunOn, type PlacedNode, placedNode } from '../workloads/placement.ts';
import { isFinished } from '../workloads/pod-state.ts';
import { hostAddress, isSimulated, nodeObject, nodeStatus } from './node-object.ts';
import { PodAddresses } from './pod-addresses.ts';
import { nextStep } from './pod-life.ts';

const nodeKind = { apiVersion: 'v1', kind: 'Node', resource: 'nodes' } as const;
const parallel = 16;
const nodesByDefault = 3;

/** Times of node agents, as published: how often the lease is renewed, how long it counts, how often the status is reported. */
const leaseMs = 10_000;
const leaseSeconds = 40;
const statusMs = 5 * 60_000;

/**
 * Registers nodes that run nothing, and does what a scheduler and the agents of those nodes do: places pods on them, takes the
 * pods through their phases on a schedule, and removes those that were deleted. Not for clusters with a scheduler of their own.
 */
export const startSimulatedNodes = (context: InformedContext): Closable => new SimulatedNodes(context);

class SimulatedNodes implements Closable {
  readonly #context: InformedContext;
  readonly #held = new ControllerStack();
  readonly #nodes: SharedInformer;
  readonly #pods: SharedInformer;
  readonly #podQueue: WorkQueue<string>;
  readonly #nodeQueue: WorkQueue<string>;
  readonly #addresses = new PodAddresses();
  /** By name of the node: when its status was last reported, and its lease last renewed, monotonic. */
  readonly #reported = new Map<string, number>();
  readonly #renewed = new Map<string, number>();
  /** Pods without a place, by key. */
  readonly #waiting = new Set<string>();
  #turn = 0;

  constructor(context: InformedContext) {
    this.#context = context;
    this.#nodes = context.informers.of(collectionOf(nodeKind));
    this.#pods = context.informers.of(collectionOf(podKind));
    const queue = (name: string, work: (key: string) => Promise<void>) =>
      this.#held.add(new WorkQueue<string>({ ...context, name: `simulated_nodes_${name}`, parallel, work }));
    this.#podQueue = queue('pods', (key) => this.#podPass(key));
    this.#nodeQueue = queue('nodes', (name) => this.#nodePass(name));
    const synced = (): void => this.#synced();
    this.#held.add(this.#nodes.follow({ changed: (key, now) => this.#nodeChanged(key, now), synced }));
    this.#held.add(this.#pods.follow({ changed: (key, now, before) => this.#podChanged(key, now, before), synced }));
  }

  /** Nodes that somebody deletes stay away until the next start. */
  #synced(): void {
    if (!this.#nodes.synced || !this.#pods.synced) return;
    const { simulatedNodes = nodesByDefault, dialect } = this.#context;
    for (let index = 0; index < simulatedNodes; index++) {
      const { metadata } = nodeObject(index, dialect);
      if (!this.#nodes.get(`/${metadata.name}`)) this.#nodeQueue.add(`${newNode}${index}`);
    }
    for (const [key] of this.#pods.entries()) this.#podQueue.add(key);
  }

  #nodeChanged(key: string, now: ApiObject | undefined): void {
    const name = key.slice(1);
    if (now && isSimulated(now)) {
      this.#nodeQueue.add(name);
      for (const pod of this.#waiting) this.#podQueue.add(pod);
    } else {
      this.#nodeQueue.forget(name);
      this.#reported.delete(name);
      this.#renewed.delete(name);
    }
  }

  #podChanged(key: string, now: ApiObject | undefined, before: ApiObject | undefined): void {
    if (before && before.metadata.uid !== now?.metadata.uid) this.#addresses.release(before.metadata.uid ?? '');
    if (now) {
      this.#podQueue.add(key);
      return;
    }
    this.#podQueue.forget(key);
    this.#waiting.delete(key);
  }

  /** Registers a node, or reports that it is alive, and comes back when the next report is due. */
  async #nodePass(name: string): Promise<void> {
    const { client, dialect } = this.#context;
    const { signal } = this.#held;
    if (name.startsWith(newNode)) {
      try {
        await client.create(collectionOf(nodeKind), nodeObject(Number(name.slice(newNode.length)), dialect), signal);
      } catch (error) {
        if (!hasReason(error, 'AlreadyExists')) throw error;
      }
      return;
    }
    const node = this.#nodes.get(`/${name}`);
    if (!node) return;
    await this.#reportStatus(node);
    await this.#open(node);
    await this.#renewLease(node);
    this.#nodeQueue.addAfter(name, leaseMs);
  }

  async #reportStatus(node: ApiObject): Promise<void> {
    const { client, clock, dialect } = this.#context;
    const name = nameOf(node);
    const last = this.#reported.get(name);
    if (last !== undefined && clock.monotonic() - last < statusMs) return;
    this.#reported.set(name, clock.monotonic());
    const status = nodeStatus(node, dialect, clock.now());
    await client.strategicPatch(pathOf(nodeKind, node, 'status'), { status }, this.#held.signal);
  }

  /** Removes the taint that admission gives new nodes until they are ready. */
  async #open(node: ApiObject): Promise<void> {
    const { client, dialect } = this.#context;
    const { notReady } = nodeNames(dialect);
    const { resourceVersion } = node.metadata;
    const taints = placedNode(node).taints.filter(({ key }) => key !== notReady);
    if (taints.length === placedNode(node).taints.length) return;
    try {
      const patch = { metadata: { resourceVersion }, spec: { taints: taints.length > 0 ? taints : null } };
      await client.mergePatch(pathOf(nodeKind, node), patch, this.#held.signal);
    } catch (error) {
      // A watch reports the state that it has by now, or that it is gone.
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  /** A change of the node has it looked at as well: the lease is renewed when its time has come. */
  async #renewLease(node: ApiObject): Promise<void> {
    const { client, clock, dialect } = this.#context;
    const { signal } = this.#held;
    const name = nameOf(node);
    const renewed = this.#renewed.get(name);
    if (renewed !== undefined && clock.monotonic() - renewed < leaseMs) return;
    this.#renewed.set(name, clock.monotonic());
    const apiVersion = `${dialect.group('coordination')}/v1`;
    const location = { apiVersion, resource: 'leases', namespace: dialect.namespaces.nodeLease };
    const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime: formatMicroTime(clock.now()) };
    try {
      await client.mergePatch(resourcePath({ ...location, name }), { spec }, signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid ?? '' }];
      await client.create(resourcePath(location), { metadata: { name, ownerReferences }, spec }, signal);
    }
  }

  async #podPass(key: string): Promise<void> {
    // Work begins within the report of a change; the rest of a new list comes first.
    await Promise.resolve();
    const object = this.#pods.get(key);
    if (!object || !this.#nodes.synced) return;
    const pod = asPod(object);
    const { nodeName = '' } = pod.spec ?? {};
    if (nodeName === '') return this.#place(key, object, pod);
    const node = this.#nodes.get(`/${nodeName}`);
    if (node && isSimulated(node)) await this.#live(key, object, node);
  }

  async #live(key: string, object: ApiObject, node: ApiObject): Promise<void> {
    const { client, clock } = this.#context;
    const { signal } = this.#held;
    const pod = asPod(object);
    const { uid = '' } = object.metadata;
    const hostIP = hostAddress(node);
    const podIP = pod.spec?.hostNetwork ? hostIP : this.#addresses.of(uid, node, pod.status?.podIP);
    const step = nextStep(pod, { podIP, hostIP }, clock.now());
    try {
      switch (step.type) {
        case 'status': {
          const patch = { metadata: { uid }, status: step.status };
          const written = await client.strategicPatch<ApiObject>(pathOf(podKind, object, 'status'), patch, signal);
          return await this.#pods.reached(written.metadata.resourceVersion, signal);
        }
        case 'remove': {
          const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0, preconditions: { uid } };
          return await client.delete(pathOf(podKind, object), options, signal);
        }
        case 'wait':
          return this.#podQueue.addAfter(key, Math.min(step.ms, limits.controllerTimerMsMax));
        case 'none':
      }
    } catch (error) {
      // Gone, or another one of that name: a watch reports either.
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  /** Places a pod on the next node where it may run, in turn. */
  async #place(key: string, object: ApiObject, pod: Pod): Promise<void> {
    const { client, events } = this.#context;
    const { signal } = this.#held;
    const { schedulingGates = [], schedulerName } = pod.spec ?? {};
    const isPlaced = schedulerName !== 'default-scheduler' || schedulingGates.length > 0 || isFinished(pod);
    if (isPlaced || object.metadata.deletionTimestamp !== undefined) return;
    const node = this.#nodeFor(pod);
    if (!node) return this.#leaveWaiting(key, object, pod);
    const { name = '', namespace = '', uid } = object.metadata;
    try {
      const binding = { metadata: { name, namespace, uid }, target: { kind: 'Node', name: node.name } };
      await client.create(pathOf(podKind, object, 'binding'), binding, signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
      return;
    }
    this.#waiting.delete(key);
    const message = `Successfully assigned ${namespace}/${name} to ${node.name}`;
    events.record({ about: aboutOf(podKind, object), type: 'Normal', reason: 'Scheduled', message });
  }

  #nodeFor(pod: Pod): PlacedNode | undefined {
    const nodes = this.#simulated;
    const closed = nodeNames(this.#context.dialect).unschedulable;
    for (let tried = 0; tried < nodes.length; tried++) {
      this.#turn = (this.#turn + 1) % nodes.length;
      const node = nodes[this.#turn];
      if (node && mayRunOn(pod, node, closed)) return node;
    }
    return undefined;
  }

  get #simulated(): readonly PlacedNode[] {
    return Array.from(this.#nodes.entries(), ([, node]) => node)
      .filter(isSimulated)
      .map(placedNode);
  }

  /** Says why the pod waits, once; a change of a node has it looked at again. */
  async #leaveWaiting(key: string, object: ApiObject, pod: Pod): Promise<void> {
    const { client, clock, events } = this.#context;
    this.#waiting.add(key);
    const count = this.#simulated.length;
    const message = `0/${count} nodes are available`;
    const before = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    if (before?.status === 'False' && before.message === message) return;
    events.record({ about: aboutOf(podKind, object), type: 'Warning', reason: 'FailedScheduling', message });
    const condition = {
      ...{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastProbeTime: null },
      lastTransitionTime: formatTime(clock.now()),
    };
    const patch = { metadata: { uid: object.metadata.uid }, status: { conditions: [condition] } };
    try {
      await client.strategicPatch(pathOf(podKind, object, 'status'), patch, this.#held.signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  close(): void {
    this.#held.close();
  }
}

/** Begins the key of a node that is to be registered, in place of a name; names of nodes have no slash. */
const newNode = 'new/';
