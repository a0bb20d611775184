import type { Closable } from '../../../base/disposable.ts';
import { hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { WorkQueue } from '../../../client/work-queue.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { type LabelSelector, selectsLabels } from '../../../kinds/meta/label-selector.ts';
import { asBudget } from '../../../kinds/policy/pod-disruption-budget.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { formatTime, parseTime } from '../../../meta/time.ts';
import type { InformedContext } from '../../controller.ts';
import { aboutOf, byNamespace, collectionOf, type ObjectKind, pathOf, podKind } from '../owner.ts';
import { messageOf } from '../pod-control.ts';
import { isFinished } from '../pod-state.ts';
import { selectorOrAll } from '../read-selector.ts';
import { WorkloadController } from '../workload-controller.ts';
import { writeStatus } from '../write-status.ts';
import { budgetStatusAfter, evictionMs, expectedBy, failedStatus, needsScale } from './budget-status.ts';
import { scaleOfControllers } from './controller-scale.ts';

const parallel = 5;

/** Keeps the status of disruption budgets: how many of their pods may be evicted now. */
export const startDisruption = (context: InformedContext): Closable => new Disruption(context);

class Disruption implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ObjectKind;
  readonly #controller: WorkloadController;
  readonly #stale: WorkQueue<string>;
  readonly #pods: SharedInformer;
  readonly #known: ReadonlyMap<string, SharedInformer>;
  readonly #replicaSets: SharedInformer;
  readonly #following: Closable;

  constructor(context: InformedContext) {
    this.#context = context;
    const { dialect, informers } = context;
    const apps = dialect.group('apps');
    this.#kind = {
      apiVersion: `${dialect.group('policy')}/v1`,
      kind: 'PodDisruptionBudget',
      resource: 'poddisruptionbudgets',
    };
    const of = (kind: string, resource: string): ObjectKind => ({ apiVersion: `${apps}/v1`, kind, resource });
    const scaled = [
      of('Deployment', 'deployments'),
      of('ReplicaSet', 'replicasets'),
      of('StatefulSet', 'statefulsets'),
    ];
    const controllers = { apiVersion: 'v1', kind: 'ReplicationController', resource: 'replicationcontrollers' };
    this.#replicaSets = informers.of(collectionOf(of('ReplicaSet', 'replicasets')));
    this.#known = new Map([
      ...scaled.map((each) => [`${apps}/${each.kind}`, informers.of(collectionOf(each))] as const),
      [`/${controllers.kind}`, informers.of(collectionOf(controllers))],
    ]);
    this.#pods = informers.of(collectionOf(podKind));
    this.#controller = new WorkloadController(context, {
      ...{ kind: this.#kind, queue: 'disruption', parallel, dependents: [podKind, ...scaled, controllers] },
      selectorOf: () => undefined,
      pass: (owner, key) => this.#pass(owner, key),
    });
    this.#stale = new WorkQueue({
      ...{ ...context, name: 'stale_pod_disruption', parallel },
      work: (key) => this.#forgetDisruption(key),
    });
    this.#following = this.#pods.follow({ changed: (key, now, before) => this.#podChanged(key, now, before) });
  }

  #podChanged(key: string, now: ApiObject | undefined, before: ApiObject | undefined): void {
    const namespace = (now ?? before)?.metadata.namespace ?? '';
    for (const budget of this.#controller.owners.indexed(byNamespace, namespace)) {
      const isConcerned = [now, before].some((pod) => pod && isSelected(budget, pod));
      if (isConcerned) this.#controller.add(`${namespace}/${budget.metadata.name}`);
    }
    if (now && staleMs(asPod(now), this.#context.clock.now()) !== undefined) this.#stale.add(key);
    else this.#stale.forget(key);
  }

  async #pass(owner: ApiObject, key: string): Promise<void> {
    const { client, clock, events } = this.#context;
    const { owners, signal } = this.#controller;
    const budget = asBudget(owner);
    const report = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      events.record({ about: aboutOf(this.#kind, owner), type, reason, message });
    const write = (status: object) =>
      writeStatus({ client, kind: this.#kind, object: owner, status, informer: owners, signal });
    const objects = this.#pods
      .indexed(byNamespace, owner.metadata.namespace ?? '')
      .filter((pod) => isSelected(owner, pod));
    if (objects.length === 0) report('Normal', 'NoPods', 'No matching pods found');
    let scale = 0;
    try {
      if (needsScale(budget)) {
        const options = { client, signal, known: this.#known, replicaSets: this.#replicaSets };
        const found = await scaleOfControllers(objects, options);
        ({ scale } = found);
        if (found.unmanaged.length > 0) report('Warning', 'UnmanagedPods', unmanagedText(budget.spec?.selector ?? {}));
      }
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to calculate the number of expected pods: ${messageOf(error)}`;
      report('Warning', 'CalculateExpectedPodCountFailed', message);
      await write(failedStatus(budget, messageOf(error), clock.now()));
      return;
    }
    const pods = objects.map(asPod);
    const expected = expectedBy(budget, pods.length, scale);
    const { status, waitMs } = budgetStatusAfter({ budget, pods, expected, nowMs: clock.now() });
    await write(status);
    if (waitMs !== undefined) this.#controller.addAfter(key, waitMs);
  }

  /** A pod whose eviction did not come about is no longer said to be evicted. */
  async #forgetDisruption(key: string): Promise<void> {
    const { client, clock } = this.#context;
    const object = this.#pods.get(key);
    const waitMs = object && staleMs(asPod(object), clock.now());
    if (!object || waitMs === undefined) return;
    if (waitMs > 0) {
      this.#stale.addAfter(key, waitMs);
      return;
    }
    const condition = { type: 'DisruptionTarget', status: 'False', lastTransitionTime: formatTime(clock.now()) };
    const patch = {
      metadata: { uid: object.metadata.uid },
      status: { conditions: [{ ...condition, reason: null, message: null }] },
    };
    try {
      await client.strategicPatch(pathOf(podKind, object, 'status'), patch, this.#controller.signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  close(): void {
    this.#following.close();
    this.#stale.close();
    this.#controller.close();
  }
}

/** An empty selector selects all pods of the namespace, an absent one none. */
function isSelected(budget: ApiObject, { metadata }: ApiObject): boolean {
  const parsed = selectorOrAll(asBudget(budget).spec?.selector);
  return parsed !== undefined && selectsLabels(parsed, metadata.labels);
}

/** Milliseconds until a pod that is said to be evicted, and stays, is no longer; undefined if it is not, or leaves. */
function staleMs(pod: Pod, nowMs: number): number | undefined {
  const said = pod.status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  if (!said || pod.metadata?.deletionTimestamp || isFinished(pod)) return undefined;
  return Math.max((parseTime(said.lastTransitionTime ?? '') ?? 0) + evictionMs - nowMs, 0);
}

/** The published text, with the selector as one language prints it. */
const unmanagedText = (selector: LabelSelector): string =>
  `Pods selected by this PodDisruptionBudget (selector: ${selectorText(selector)}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.`;

function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${value},`);
  const expressions = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}
