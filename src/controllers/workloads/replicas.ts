import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { inSlices } from '../../base/time/in-slices.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { PodTemplateSpec } from '../../kinds/core/pod/pod-template-spec.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Selector } from '../../meta/selectors.ts';
import type { InformedContext } from '../controller.ts';
import { claim } from './claim.ts';
import { byDeletion } from './deletion-order.ts';
import { byController, collectionOf, controllerOf, type ObjectKind, podKind } from './owner.ts';
import { isTerminatingNamespace, PodControl } from './pod-control.ts';
import { isActive, nextAvailableMs } from './pod-state.ts';
import { type ReplicaStatus, replicaStatusAfter } from './replica-status.ts';
import { runAll, slowStart } from './slow-start.ts';
import { WorkloadController } from './workload-controller.ts';
import { writeStatus } from './write-status.ts';

/** What a controller of replicas reads of an object. */
interface ReplicaOwner {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly selector: Selector | undefined;
  readonly template: PodTemplateSpec;
  readonly status: ReplicaStatus;
}

/** A kind that keeps a number of equal pods. */
interface ReplicaKind {
  readonly kind: ObjectKind;
  readonly queue: string;
  readonly read: (object: ApiObject) => ReplicaOwner;
}

const parallel = 5;

/** Keeps as many pods of each object as it wants: replica sets and replication controllers alike. */
export const startReplicas = (context: InformedContext, kind: ReplicaKind): Closable => new Replicas(context, kind);

class Replicas implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ReplicaKind;
  readonly #pods: SharedInformer;
  readonly #control: PodControl;
  readonly #controller: WorkloadController;

  constructor(context: InformedContext, kind: ReplicaKind) {
    this.#context = context;
    this.#kind = kind;
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: kind.kind, queue: kind.queue, parallel, dependents: [podKind] },
      selectorOf: (owner) => kind.read(owner).selector,
      pass: (owner, key) => this.#pass(owner, key),
    });
    const { signal } = this.#controller;
    this.#control = new PodControl({ ...context, ownerKind: kind.kind, pods: this.#pods, signal });
  }

  async #pass(owner: ApiObject, key: string): Promise<void> {
    const { client, clock } = this.#context;
    const { signal } = this.#controller;
    const { kind } = this.#kind;
    const { selector, minReadySeconds, replicas, template, status: before } = this.#kind.read(owner);
    if (!selector) return;
    const isCandidate = (object: ApiObject): boolean => isActive(asPod(object));
    const options = { client, clock, signal, informer: this.#pods, dependents: podKind, isCandidate };
    const claimed = await claim({ kind, owner, selector }, options);
    const isLeaving = owner.metadata.deletionTimestamp !== undefined;
    const failure = isLeaving ? undefined : await this.#manage(owner, claimed);
    const pods = claimed.map(asPod);
    await new TimeSlice(clock).rest();
    const { generation } = owner.metadata;
    const now = clock.now();
    const status = replicaStatusAfter(before, {
      pods,
      replicas,
      minReadySeconds,
      template,
      generation,
      failure,
      nowMs: now,
    });
    await writeStatus({ client, kind, object: owner, status, informer: this.#controller.owners, signal });
    if (failure) throw failure.error;
    const waitMs = nextAvailableMs(pods, minReadySeconds, now);
    if (waitMs !== undefined) this.#controller.addAfter(key, Math.min(waitMs, limits.controllerTimerMsMax));
  }

  /** Creates pods that are missing, or deletes those that are too many. Gives the first failure. */
  async #manage(owner: ApiObject, claimed: readonly ApiObject[]): Promise<{ readonly error: unknown } | undefined> {
    const { replicas, template } = this.#kind.read(owner);
    const { signal } = this.#controller;
    const missing = Math.min(replicas - claimed.length, limits.podsPerPassMax);
    if (missing > 0) {
      const result = await slowStart(missing, () => this.#create(owner, template), signal);
      return 'error' in result ? { error: result.error } : undefined;
    }
    const surplus = Math.min(claimed.length - replicas, limits.podsPerPassMax);
    if (surplus <= 0) return undefined;
    const [error, ...others] = await runAll(
      (await this.#inOrder(owner, claimed)).slice(0, surplus).map((pod) => () => this.#control.delete(owner, pod)),
      signal,
    );
    return error === undefined && others.length === 0 ? undefined : { error };
  }

  async #create(owner: ApiObject, template: PodTemplateSpec): Promise<void> {
    try {
      await this.#control.create(owner, { template });
    } catch (error) {
      if (!isTerminatingNamespace(error)) throw error;
    }
  }

  async #inOrder(owner: ApiObject, claimed: readonly ApiObject[]): Promise<readonly ApiObject[]> {
    const objects = new Map<Pod, ApiObject>(claimed.map((object) => [asPod(object), object]));
    const { dialect, clock } = this.#context;
    const order = { dialect, nowMs: clock.now(), related: this.#related(owner) };
    const ordered = await inSlices(byDeletion([...objects.keys()], order), clock);
    return ordered.flatMap((pod) => objects.get(pod) ?? []);
  }

  /** Pods of all objects that have the same controller as this one. */
  #related(owner: ApiObject): readonly Pod[] {
    const controller = controllerOf(owner);
    if (!controller) return [];
    return this.#controller.owners
      .indexed(byController, controller.uid)
      .flatMap(({ metadata: { uid = '' } }) => this.#pods.indexed(byController, uid))
      .map(asPod);
  }

  close(): void {
    this.#controller.close();
  }
}
