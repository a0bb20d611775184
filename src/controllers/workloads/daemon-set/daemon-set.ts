import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { setNames } from '../../../dialect/workload-names.ts';
import { asDaemonSet } from '../../../kinds/apps/daemon-set.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { PodTemplateSpec } from '../../../kinds/core/pod/pod-template-spec.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import type { InformedContext } from '../../controller.ts';
import { claim } from '../claim.ts';
import { scaled } from '../deployment/rollout-arithmetic.ts';
import { templateHash } from '../deployment/template-hash.ts';
import { aboutOf, byController, collectionOf, type ObjectKind, pathOf, podKind } from '../owner.ts';
import { type PlacedNode, placedNode } from '../placement.ts';
import { isTerminatingNamespace, PodControl } from '../pod-control.ts';
import { isFinished, nextAvailableMs } from '../pod-state.ts';
import { selectorIn } from '../read-selector.ts';
import { runAll, slowStart } from '../slow-start.ts';
import { deleteRevision, limitRevisions, type TemplateRevisions, templateRevisions } from '../template-revisions.ts';
import { WorkloadController } from '../workload-controller.ts';
import { writeStatus } from '../write-status.ts';
import {
  affinityTo,
  type DaemonNode,
  daemonCounts,
  daemonTolerations,
  fitOf,
  nodeWork,
  type Rollout,
  rolloutStep,
  targetNode,
} from './daemon-nodes.ts';
import { FailedPods } from './failed-pods.ts';

const nodeKind: ObjectKind = { apiVersion: 'v1', kind: 'Node', resource: 'nodes' };
const parallel = 2;

/** Keeps a pod of each daemon set on every node where it may run. */
export const startDaemonSets = (context: InformedContext): Closable => new DaemonSets(context);

/** A daemon set in one pass. */
interface Pass {
  readonly owner: ApiObject;
  readonly key: string;
  readonly template: PodTemplateSpec;
  /** Labels of pods of the present template. */
  readonly labels: Readonly<Record<string, string>>;
}

class DaemonSets implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ObjectKind;
  readonly #revisionKind: ObjectKind;
  readonly #pods: SharedInformer;
  readonly #nodes: SharedInformer;
  readonly #revisions: SharedInformer;
  readonly #controller: WorkloadController;
  readonly #control: PodControl;
  readonly #following: Closable;
  readonly #failed = new Map<string, FailedPods>();

  constructor(context: InformedContext) {
    this.#context = context;
    const apiVersion = `${context.dialect.group('apps')}/v1`;
    this.#kind = { apiVersion, kind: 'DaemonSet', resource: 'daemonsets' };
    this.#revisionKind = { apiVersion, kind: 'ControllerRevision', resource: 'controllerrevisions' };
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#nodes = context.informers.of(collectionOf(nodeKind));
    this.#revisions = context.informers.of(collectionOf(this.#revisionKind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: this.#kind, queue: 'daemonset', parallel, dependents: [podKind, this.#revisionKind, nodeKind] },
      selectorOf: (owner) => selectorIn(asDaemonSet(owner).spec?.selector),
      pass: (owner, key) => this.#pass(owner, key),
      gone: (key) => this.#failed.delete(key),
    });
    const { signal } = this.#controller;
    this.#control = new PodControl({ ...context, ownerKind: this.#kind, pods: this.#pods, signal });
    this.#following = this.#nodes.follow({ changed: (_key, now, before) => this.#nodeChanged(now, before) });
  }

  /** Has those daemon sets looked at whose pods may now run there, or may no longer. */
  #nodeChanged(now: ApiObject | undefined, before: ApiObject | undefined): void {
    const [after, former] = [now && placedNode(now), before && placedNode(before)];
    if (after && former && equalValues(after, former)) return;
    const fit = (object: ApiObject, node: PlacedNode | undefined) =>
      node && fitOf(asDaemonSet(object).spec?.template ?? {}, node, this.#context.dialect);
    for (const [key, object] of this.#controller.owners.entries()) {
      if (fit(object, after) !== fit(object, former)) this.#controller.add(key);
    }
  }

  async #pass(owner: ApiObject, key: string): Promise<void> {
    const { client, clock, dialect } = this.#context;
    const { signal, owners } = this.#controller;
    const { spec, status = {} } = asDaemonSet(owner);
    const selector = selectorIn(spec?.selector);
    if (!selector || owner.metadata.deletionTimestamp !== undefined) return;
    const { template = {} } = spec ?? {};
    const { revisionHash } = setNames(dialect);
    const history = { client, clock, revisionKind: this.#revisionKind, revisions: this.#revisions, owners, signal };
    const hash = templateHash(template, status.collisionCount ?? undefined);
    const of = { kind: this.#kind, owner, selector, template, status, hash, hashLabel: revisionHash };
    const revisions = await templateRevisions(of, history);
    await claim(
      { kind: this.#kind, owner, selector },
      { client, clock, signal, informer: this.#pods, dependents: podKind },
    );
    await this.#mergeDuplicates(owner, revisions, history);
    const pass = { owner, key, template, labels: this.#labelsOf(owner, revisions.present) };
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.#manage(pass);
      if (spec?.updateStrategy?.type === 'RollingUpdate') await this.#rollOver(pass);
      const used = new Set(this.#podsOf(owner).map(({ metadata }) => metadata?.labels?.[revisionHash]));
      const isUsed = ({ metadata }: ApiObject): boolean => used.has(metadata.labels?.[revisionHash]);
      await limitRevisions(revisions.former, { limit: spec?.revisionHistoryLimit ?? 0, isUsed }, history);
    } catch (error) {
      failure = { error };
    }
    await this.#report(pass);
    if (failure) throw failure.error;
  }

  /** The number of templates goes with the hash: pods made before there were revisions have the number alone. */
  #labelsOf({ metadata }: ApiObject, present: ApiObject): Readonly<Record<string, string>> {
    const { revisionHash, templateGeneration, templatesCounted } = setNames(this.#context.dialect);
    const count = metadata.annotations?.[templatesCounted] ?? '';
    return {
      ...(/^\d{1,15}$/.test(count) && { [templateGeneration]: count }),
      [revisionHash]: present.metadata.labels?.[revisionHash] ?? nameOf(present),
    };
  }

  /** Pods of a revision that there is twice get the label of the one that stays. */
  async #mergeDuplicates(
    owner: ApiObject,
    { present, duplicates }: TemplateRevisions,
    history: Parameters<typeof deleteRevision>[1],
  ): Promise<void> {
    const { client, signal } = history;
    const { revisionHash } = setNames(this.#context.dialect);
    const label = present.metadata.labels?.[revisionHash];
    for (const duplicate of duplicates) {
      for (const pod of this.#pods.indexed(byController, owner.metadata.uid ?? '')) {
        if (pod.metadata.labels?.[revisionHash] !== duplicate.metadata.labels?.[revisionHash]) continue;
        const patch = { metadata: { uid: pod.metadata.uid, labels: { [revisionHash]: label } } };
        const written = await client.mergePatch<ApiObject>(pathOf(podKind, pod), patch, signal);
        await this.#pods.reached(written.metadata.resourceVersion, signal);
      }
      await deleteRevision(duplicate, history);
    }
  }

  #podsOf({ metadata: { uid = '' } }: ApiObject): readonly Pod[] {
    return this.#pods.indexed(byController, uid).map(asPod);
  }

  /** All nodes with the pods of the daemon set, and those that only its pods know. */
  #nodesOf({ owner, template }: Pass): readonly DaemonNode[] {
    const pods = new Map<string, Pod[]>();
    for (const pod of this.#podsOf(owner)) {
      const node = targetNode(pod);
      // What has ended and is being deleted waits for its finalizers alone.
      if (node === undefined || (isFinished(pod) && pod.metadata?.deletionTimestamp)) continue;
      pods.set(node, [...(pods.get(node) ?? []), pod]);
    }
    const nodes: DaemonNode[] = Array.from(this.#nodes.entries(), ([, object]) => {
      const node = placedNode(object);
      const own = pods.get(node.name) ?? [];
      pods.delete(node.name);
      return { name: node.name, fit: fitOf(template, node, this.#context.dialect), exists: true, pods: own };
    });
    return [...nodes, ...Array.from(pods, ([name, own]) => ({ name, fit: 'none', exists: false, pods: own }) as const)];
  }

  #rolloutOf({ owner, labels }: Pass, nodes: readonly DaemonNode[]): Rollout {
    const { spec } = asDaemonSet(owner);
    const { type, rollingUpdate: { maxSurge = 0, maxUnavailable = 1 } = {} } = spec?.updateStrategy ?? {};
    const wanted = nodes.filter(({ fit }) => fit === 'run').length;
    const most = type === 'RollingUpdate' ? scaled(maxSurge, Math.max(wanted, 1), Math.ceil) : 0;
    const missing = scaled(maxUnavailable, wanted, Math.ceil);
    return {
      // A pod of before has the hash, or the number, of its template.
      isUpdated: ({ metadata }) => Object.entries(labels).some(([name, value]) => metadata?.labels?.[name] === value),
      minReadySeconds: spec?.minReadySeconds ?? 0,
      nowMs: this.#context.clock.now(),
      ...{ maxSurge: most, maxUnavailable: most === 0 && missing === 0 ? 1 : missing },
    };
  }

  async #manage(pass: Pass): Promise<void> {
    const nodes = this.#nodesOf(pass);
    const rollout = this.#rolloutOf(pass, nodes);
    const remove: Pod[] = [];
    const create: string[] = [];
    const failed = this.#failed.get(pass.key) ?? new FailedPods();
    this.#failed.set(pass.key, failed);
    failed.prune(pass.owner.metadata.generation, rollout.nowMs);
    for (const node of nodes) {
      const { isMissing, surplus, ended } = nodeWork(node, rollout);
      if (isMissing) create.push(node.name);
      remove.push(...surplus, ...this.#endedToRemove(pass, node.name, ended));
    }
    await this.#write(pass, remove, create);
  }

  /** Pods that have ended, but those that failed too soon after the last one. */
  #endedToRemove({ owner, key }: Pass, node: string, ended: readonly Pod[]): readonly Pod[] {
    const { clock, events } = this.#context;
    return ended.filter(({ metadata, status }) => {
      const isFailed = status?.phase === 'Failed';
      const waitMs = isFailed ? (this.#failed.get(key)?.waitMs(node, clock.now()) ?? 0) : 0;
      if (waitMs > 0) {
        this.#controller.addAfter(key, Math.min(waitMs, limits.controllerTimerMsMax));
        return false;
      }
      const [state, verb] = isFailed ? ['failed', 'kill'] : ['succeeded', 'delete'];
      events.record({
        ...{ about: aboutOf(this.#kind, owner), type: isFailed ? 'Warning' : 'Normal' },
        reason: isFailed ? 'FailedDaemonPod' : 'SucceededDaemonPod',
        message: `Found ${state} daemon pod ${metadata?.namespace}/${metadata?.name} on node ${node}, will try to ${verb} it`,
      });
      return true;
    });
  }

  async #rollOver(pass: Pass): Promise<void> {
    const nodes = this.#nodesOf(pass).filter(({ fit, pods }) => fit === 'run' || pods.length > 0);
    const { remove, create } = rolloutStep(nodes, this.#rolloutOf(pass, nodes));
    await this.#write(pass, remove, create);
  }

  /** Creates and deletes pods; what is too much for one pass comes with the next one, which the changes call for. */
  async #write({ owner, template, labels }: Pass, remove: readonly Pod[], create: readonly string[]): Promise<void> {
    const { dialect } = this.#context;
    const { signal } = this.#controller;
    const spec = template.spec ?? ({} as NonNullable<PodTemplateSpec['spec']>);
    const tolerations = daemonTolerations(spec, dialect);
    const made = await slowStart(
      Math.min(create.length, limits.podsPerPassMax),
      async (index) => {
        const affinity = affinityTo(spec, create[index] ?? '');
        try {
          await this.#control.create(owner, { template, labels, spec: { tolerations, affinity } });
        } catch (error) {
          if (!isTerminatingNamespace(error)) throw error;
        }
      },
      signal,
    );
    const names = new Set(remove.slice(0, limits.podsPerPassMax).map(({ metadata }) => metadata?.name));
    const objects = this.#pods.indexed(byController, owner.metadata.uid ?? '').filter((pod) => names.has(nameOf(pod)));
    const errors = await runAll(
      objects.map((pod) => () => this.#control.delete(owner, pod)),
      signal,
    );
    if ('error' in made) throw made.error;
    if (errors.length > 0) throw errors[0];
  }

  async #report(pass: Pass): Promise<void> {
    const { client } = this.#context;
    const { signal, owners: informer } = this.#controller;
    const { owner, key } = pass;
    const nodes = this.#nodesOf(pass);
    const rollout = this.#rolloutOf(pass, nodes);
    const { generation: observedGeneration } = owner.metadata;
    const status = { ...asDaemonSet(owner).status, ...daemonCounts(nodes, rollout), observedGeneration };
    await writeStatus({ client, kind: this.#kind, object: owner, status, informer, signal });
    const waitMs = nextAvailableMs(this.#podsOf(owner), rollout.minReadySeconds, rollout.nowMs);
    if (waitMs !== undefined) this.#controller.addAfter(key, Math.min(waitMs, limits.controllerTimerMsMax));
  }

  close(): void {
    this.#following.close();
    this.#controller.close();
  }
}
