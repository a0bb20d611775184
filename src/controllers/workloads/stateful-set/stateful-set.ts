import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import { TimeSlice } from '../../../base/time/time-slice.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { setNames } from '../../../dialect/workload-names.ts';
import { asStatefulSet } from '../../../kinds/apps/stateful-set.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import type { InformedContext } from '../../controller.ts';
import { claim } from '../claim.ts';
import { scaled } from '../deployment/rollout-arithmetic.ts';
import { templateHash } from '../deployment/template-hash.ts';
import { byController, collectionOf, type ObjectKind, podKind } from '../owner.ts';
import { isTerminatingNamespace } from '../pod-control.ts';
import { nextAvailableMs } from '../pod-state.ts';
import { selectorIn } from '../read-selector.ts';
import { slowStart } from '../slow-start.ts';
import { limitRevisions, templateIn, templateRevisions } from '../template-revisions.ts';
import { WorkloadController } from '../workload-controller.ts';
import { writeStatus } from '../write-status.ts';
import { ordinalOf, statefulCounts, stepOf, surplusToDelete, toUpdate } from './numbered-pods.ts';
import { claimKind, isWanted, StatefulPods } from './stateful-pods.ts';

const parallel = 5;
/** Until a claim is looked at again that goes with a former pod. */
const staleClaimMs = 1_000;

/** Keeps the numbered pods of stateful sets, each with its name and its claims. */
export const startStatefulSets = (context: InformedContext): Closable => new StatefulSets(context);

/** A stateful set in one pass. */
interface Pass {
  readonly owner: ApiObject;
  readonly key: string;
  readonly current: ApiObject;
  readonly update: ApiObject;
  readonly order: { readonly isOrdered: boolean; readonly minReadySeconds: number; readonly nowMs: number };
}

class StatefulSets implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ObjectKind;
  readonly #revisionKind: ObjectKind;
  readonly #pods: SharedInformer;
  readonly #revisions: SharedInformer;
  readonly #controller: WorkloadController;
  readonly #writes: StatefulPods;

  constructor(context: InformedContext) {
    this.#context = context;
    const apiVersion = `${context.dialect.group('apps')}/v1`;
    this.#kind = { apiVersion, kind: 'StatefulSet', resource: 'statefulsets' };
    this.#revisionKind = { apiVersion, kind: 'ControllerRevision', resource: 'controllerrevisions' };
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#revisions = context.informers.of(collectionOf(this.#revisionKind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: this.#kind, queue: 'statefulset', parallel, dependents: [podKind, this.#revisionKind, claimKind] },
      selectorOf: (owner) => selectorIn(asStatefulSet(owner).spec?.selector),
      pass: (owner, key) => this.#pass(owner, key),
    });
    const { signal } = this.#controller;
    const claims = context.informers.of(collectionOf(claimKind));
    this.#writes = new StatefulPods({ ...context, kind: this.#kind, pods: this.#pods, claims, signal });
  }

  async #pass(owner: ApiObject, key: string): Promise<void> {
    const { client, clock, dialect } = this.#context;
    const { signal, owners } = this.#controller;
    const { spec, status } = asStatefulSet(owner);
    const selector = selectorIn(spec?.selector);
    if (!selector || owner.metadata.deletionTimestamp !== undefined) return;
    const isCandidate = (pod: ApiObject): boolean => ordinalOf(nameOf(pod), nameOf(owner)) !== undefined;
    const claiming = { client, clock, signal, informer: this.#pods, dependents: podKind, isCandidate };
    await claim({ kind: this.#kind, owner, selector }, claiming);
    const { template = {} } = spec ?? {};
    const history = { client, clock, revisionKind: this.#revisionKind, revisions: this.#revisions, owners, signal };
    const hash = templateHash({ spec: { template } }, status?.collisionCount ?? 0);
    const { dataHash } = setNames(dialect);
    const of = {
      kind: this.#kind,
      owner,
      selector,
      template,
      status: { replicas: 0, ...status },
      hash,
      hashLabel: dataHash,
    };
    const { present: update, duplicates, former } = await templateRevisions(of, history);
    const all = [...duplicates, ...former];
    const current = all.find((each) => nameOf(each) === status?.currentRevision) ?? update;
    const isOrdered = spec?.podManagementPolicy !== 'Parallel';
    const order = { isOrdered, minReadySeconds: spec?.minReadySeconds ?? 0, nowMs: clock.now() };
    const pass = { owner, key, current, update, order };
    let failure: { readonly error: unknown } | undefined;
    try {
      await this.#manage(pass);
    } catch (error) {
      if (!isTerminatingNamespace(error)) failure = { error };
    }
    await this.#report(pass);
    const used = new Set([nameOf(current), nameOf(update), ...this.#podsOf(owner).map(this.#revisionOf)]);
    const unused = all.filter((each) => !used.has(nameOf(each)));
    await limitRevisions(unused, { limit: spec?.revisionHistoryLimit ?? 10, isUsed: () => false }, history);
    if (failure) throw failure.error;
  }

  #podsOf({ metadata: { uid = '' } }: ApiObject): readonly Pod[] {
    return this.#pods.indexed(byController, uid).map(asPod);
  }

  readonly #revisionOf = ({ metadata }: Pod): string | undefined =>
    metadata?.labels?.[setNames(this.#context.dialect).revisionHash];

  /** The pods by their numbers, highest first. */
  #numbered(owner: ApiObject): readonly (readonly [ordinal: number, pod: ApiObject])[] {
    return this.#pods
      .indexed(byController, owner.metadata.uid ?? '')
      .flatMap((pod) => {
        const ordinal = ordinalOf(nameOf(pod), nameOf(owner));
        return ordinal === undefined ? [] : [[ordinal, pod] as const];
      })
      .sort(([a], [b]) => b - a);
  }

  /** First the wanted pods, then those that are too many, then a step of the roll-out. In order, each waits for the one before. */
  async #manage(pass: Pass): Promise<void> {
    const { owner, order } = pass;
    if (!(await this.#keepWanted(pass))) return;
    const surplus = this.#numbered(owner).flatMap(([ordinal, pod]) => (isWanted(owner, ordinal) ? [] : [pod]));
    for (const pod of surplus) await this.#writes.ownClaims(owner, pod);
    await this.#deleteAll(owner, surplusToDelete(surplus.map(asPod), order));
    if (order.isOrdered && surplus.length > 0) return;
    await this.#rollOver(pass);
  }

  /** False if the rest has to wait. */
  async #keepWanted(pass: Pass): Promise<boolean> {
    const { owner, order } = pass;
    const { replicas = 0, ordinals } = asStatefulSet(owner).spec ?? {};
    const found = new Map(this.#numbered(owner));
    const first = ordinals?.start ?? 0;
    const slice = new TimeSlice(this.#context.clock);
    const keep = async (ordinal: number): Promise<boolean> => {
      if (slice.over) await slice.next();
      const pod = found.get(ordinal);
      switch (stepOf(pod && asPod(pod), order)) {
        case 'create':
          await this.#create(pass, ordinal);
          return false;
        case 'delete':
          if (pod) await this.#writes.delete(owner, pod);
          return false;
        case 'wait':
          return false;
        case 'settle':
          if (pod) await this.#writes.settle(owner, pod);
          return true;
      }
    };
    if (order.isOrdered) {
      for (let index = 0; index < replicas; index++) if (!(await keep(first + index))) return false;
      return true;
    }
    const due: number[] = [];
    let missing = 0;
    for (let index = 0; index < replicas && missing < limits.podsPerPassMax; index++) {
      if (!found.has(first + index)) missing += 1;
      due.push(first + index);
    }
    const work = async (index: number): Promise<void> => {
      await keep(due[index] ?? first);
    };
    const result = await slowStart(due.length, work, this.#controller.signal);
    if ('error' in result) throw result.error;
    // The pods that were made call for the next pass.
    return due.length === replicas;
  }

  async #create(pass: Pass, ordinal: number): Promise<void> {
    const { owner, key, current, update } = pass;
    const { spec, status } = asStatefulSet(owner);
    const { type, rollingUpdate } = spec?.updateStrategy ?? {};
    const kept = rollingUpdate ? (rollingUpdate.partition ?? 0) : (status?.currentReplicas ?? 0);
    const isKept = type === 'RollingUpdate' && ordinal < (spec?.ordinals?.start ?? 0) + kept;
    const revision = isKept ? current : update;
    const made = { template: templateIn(revision), revision: nameOf(revision) };
    if (!(await this.#writes.create(owner, ordinal, made))) this.#controller.addAfter(key, staleClaimMs);
  }

  async #rollOver({ owner, update }: Pass): Promise<void> {
    const { replicas = 0, ordinals, updateStrategy } = asStatefulSet(owner).spec ?? {};
    if (updateStrategy?.type === 'OnDelete') return;
    const { partition = 0, maxUnavailable } = updateStrategy?.rollingUpdate ?? {};
    const found = new Map(this.#numbered(owner));
    const pods = Array.from({ length: replicas }, (_, index) => {
      const pod = found.get((ordinals?.start ?? 0) + index);
      return pod && asPod(pod);
    });
    const most = maxUnavailable === undefined ? undefined : Math.max(scaled(maxUnavailable, replicas, Math.floor), 1);
    const wanted = { revision: nameOf(update), revisionOf: this.#revisionOf, partition, maxUnavailable: most };
    await this.#deleteAll(owner, toUpdate(pods, wanted));
  }

  async #deleteAll(owner: ApiObject, pods: readonly Pod[]): Promise<void> {
    const names = new Set(pods.map(({ metadata }) => metadata?.name));
    for (const [, pod] of this.#numbered(owner)) if (names.has(nameOf(pod))) await this.#writes.delete(owner, pod);
  }

  async #report({ owner, key, current, update, order }: Pass): Promise<void> {
    const { client } = this.#context;
    const { signal, owners: informer } = this.#controller;
    const { spec, status: before } = asStatefulSet(owner);
    const rollsTo = spec?.updateStrategy?.type === 'RollingUpdate' ? (spec.replicas ?? 0) : undefined;
    const pods = this.#podsOf(owner);
    const revisions = { current: nameOf(current), update: nameOf(update) };
    const status = {
      ...before,
      ...statefulCounts(pods, { order, revisionOf: this.#revisionOf, ...revisions, rollsTo }),
      ...{ observedGeneration: owner.metadata.generation, collisionCount: before?.collisionCount ?? 0 },
    };
    await writeStatus({ client, kind: this.#kind, object: owner, status, informer, signal });
    const waitMs = nextAvailableMs(pods, order.minReadySeconds, order.nowMs);
    if (waitMs !== undefined) this.#controller.addAfter(key, Math.min(waitMs, limits.controllerTimerMsMax));
  }

  close(): void {
    this.#controller.close();
  }
}
