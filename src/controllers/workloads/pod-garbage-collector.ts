import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { hasReason } from '../../client/api-client.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { nodeNames } from '../../dialect/simulation-names.ts';
import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { formatTime } from '../../meta/time.ts';
import type { InformedContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import type { Condition } from './conditions.ts';
import { collectionOf, pathOf, podKind } from './owner.ts';
import { messageOf } from './pod-control.ts';
import { isFinished } from './pod-state.ts';
import { runAll } from './slow-start.ts';

const nodeKind = { apiVersion: 'v1', kind: 'Node', resource: 'nodes' } as const;

type Reason = 'terminated' | 'out-of-service' | 'orphaned' | 'unscheduled';

interface Surroundings {
  /** Nodes that exist, by name. */
  readonly nodes: ReadonlyMap<string, ApiObject>;
  /** Nodes that do not exist, and did not for as long as is waited. */
  readonly gone: ReadonlySet<string>;
  /** Finished pods that are kept. */
  readonly kept: number;
  readonly dialect: Dialect;
}

/** Which pods nobody else will remove, and why: the rules of kube-controller-manager. */
export function garbageOf(
  pods: readonly Pod[],
  { nodes, gone, kept, dialect }: Surroundings,
): ReadonlyMap<Pod, Reason> {
  const garbage = new Map<Pod, Reason>();
  for (const pod of pods) {
    const { nodeName = '' } = pod.spec ?? {};
    const isLeaving = Boolean(pod.metadata?.deletionTimestamp);
    const node = nodes.get(nodeName);
    if (isLeaving && node && isOutOfService(node, dialect)) garbage.set(pod, 'out-of-service');
    else if (gone.has(nodeName)) garbage.set(pod, 'orphaned');
    else if (isLeaving && nodeName === '') garbage.set(pod, 'unscheduled');
  }
  const finished = pods.filter((pod) => isFinished(pod) && !garbage.has(pod)).sort(byEvictionAndAge);
  for (const pod of finished.slice(0, Math.max(finished.length - kept, 0))) garbage.set(pod, 'terminated');
  return garbage;
}

const isOutOfService = (node: ApiObject, dialect: Dialect): boolean => {
  const { taints = [] } = (node['spec'] ?? {}) as { readonly taints?: readonly { readonly key?: string }[] };
  const { conditions = [] } = (node['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  return !isReady && taints.some(({ key }) => key === nodeNames(dialect).outOfService);
};

/** Evicted ones first, then older ones. */
const byEvictionAndAge = (a: Pod, b: Pod): number =>
  Number(isEvicted(b)) - Number(isEvicted(a)) ||
  compare(a.metadata?.creationTimestamp, b.metadata?.creationTimestamp) ||
  compare(a.metadata?.name, b.metadata?.name);

const isEvicted = ({ status }: Pod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted';

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0);

/** Removes pods that no node agent will: of nodes that are gone, terminating without a node, and finished ones beyond a number. */
export const startPodGarbageCollector = (context: InformedContext): Closable => new PodGarbageCollector(context);

class PodGarbageCollector implements Closable {
  readonly #context: InformedContext;
  readonly #held = new ControllerStack();
  readonly #pods: SharedInformer;
  readonly #nodes: SharedInformer;
  /** Nodes that pods name and that do not exist: since when, monotonic. */
  readonly #missing = new Map<string, number>();
  #timer: Closable | undefined;

  constructor(context: InformedContext) {
    this.#context = context;
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#nodes = context.informers.of(collectionOf(nodeKind));
    this.#held.add(this.#pods.follow({ changed: () => undefined, synced: () => void this.#run() }));
    this.#held.add(this.#nodes.follow({ changed: () => undefined, synced: () => void this.#run() }));
  }

  /** Passes over all pods, with pauses between them. */
  async #run(): Promise<void> {
    if (!this.#pods.synced || !this.#nodes.synced || this.#held.isClosed) return;
    const { clock, logger } = this.#context;
    try {
      await this.#pass();
    } catch (error) {
      if (!this.#held.isClosed) logger.debug('pods are collected again later', { error: messageOf(error) });
    }
    this.#timer?.close();
    if (!this.#held.isClosed) this.#timer = clock.after(limits.podCollectionMs, () => void this.#run());
  }

  async #pass(): Promise<void> {
    const { dialect } = this.#context;
    const nodes = new Map(Array.from(this.#nodes.entries(), ([key, node]) => [key.slice(1), node]));
    const objects = new Map(Array.from(this.#pods.entries(), ([, object]) => [asPod(object), object]));
    const pods = [...objects.keys()];
    const gone = await this.#goneNodes(pods, nodes);
    const garbage = garbageOf(pods, { nodes, gone, kept: limits.finishedPodsMax, dialect });
    const [error] = await runAll(
      Array.from(garbage, ([pod, reason]) => async () => {
        const object = objects.get(pod);
        if (object) await this.#remove(object, pod, reason);
      }),
      this.#held.signal,
    );
    if (error !== undefined) throw error;
  }

  /** Nodes that pods name and that have been missing for long; each is asked for once more. */
  async #goneNodes(pods: readonly Pod[], nodes: ReadonlyMap<string, ApiObject>): Promise<ReadonlySet<string>> {
    const { client, clock } = this.#context;
    const named = new Set(
      pods.map(({ spec }) => spec?.nodeName ?? '').filter((name) => name !== '' && !nodes.has(name)),
    );
    for (const name of this.#missing.keys()) if (!named.has(name)) this.#missing.delete(name);
    const gone = new Set<string>();
    for (const name of named) {
      const since = this.#missing.get(name);
      if (since === undefined) this.#missing.set(name, clock.monotonic());
      else if (clock.monotonic() - since >= limits.missingNodeMs) {
        const node = await client.find(`${collectionOf(nodeKind)}/${encodeURIComponent(name)}`, this.#held.signal);
        if (!node) gone.add(name);
      }
    }
    return gone;
  }

  /** Marks a pod as failed that has not finished, then removes it without waiting for anybody. */
  async #remove(object: ApiObject, pod: Pod, reason: Reason): Promise<void> {
    const { client, clock } = this.#context;
    const { signal } = this.#held;
    const { uid } = object.metadata;
    const disruption = {
      ...{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' },
      ...{ message: 'PodGC: node no longer exists', lastProbeTime: null, lastTransitionTime: formatTime(clock.now()) },
    };
    const status = { phase: 'Failed', ...(reason === 'orphaned' && { conditions: [disruption] }) };
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0, preconditions: { uid } };
    try {
      if (!isFinished(pod))
        await client.strategicPatch(pathOf(podKind, object, 'status'), { metadata: { uid }, status }, signal);
      await client.delete(pathOf(podKind, object), options, signal);
    } catch (error) {
      // Gone, or another one under its name.
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  close(): void {
    this.#timer?.close();
    this.#held.close();
  }
}
