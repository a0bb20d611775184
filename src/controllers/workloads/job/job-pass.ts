import { isDeepStrictEqual } from 'node:util';
import { allAtOnce } from '../../../base/time/in-slices.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { jobNames } from '../../../dialect/workload-names.ts';
import { asJob, type JobStatus } from '../../../kinds/batch/job-schema.ts';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { formatTime } from '../../../meta/time.ts';
import type { ControllerContext } from '../../controller.ts';
import { conditionOf } from '../conditions.ts';
import { byDeletion } from '../deletion-order.ts';
import type { CreationReason, JobMetrics, PassAction } from '../job-metrics.ts';
import { aboutOf, type ObjectKind, pathOf } from '../owner.ts';
import { isTerminatingNamespace, type PodControl } from '../pod-control.ts';
import { isReady } from '../pod-state.ts';
import { runAll, slowStart } from '../slow-start.ts';
import { type BackOff, backOffAfter } from './back-off.ts';
import { completionOf, type Ending, endingOf, interimOf, untilDeadlineMs } from './ending.ts';
import { indexSetIn, sizeOf } from './index-set.ts';
import { isSuspended, type JobFacts, type JobPod, modeOf } from './job-facts.ts';
import { podOfIndex } from './pod-of-index.ts';
import { awaitingReplacement, type PodPlan, planOf } from './pod-plan.ts';
import { countedStatus, trackedStatus } from './uncounted-pods.ts';

interface PassOptions extends Pick<ControllerContext, 'client' | 'clock' | 'dialect' | 'events'> {
  readonly kind: ObjectKind;
  readonly owners: SharedInformer;
  readonly control: PodControl;
  readonly signal: AbortSignal;
  /** Lets a pod go, whose UID is then taken for counted until it is seen without the finalizer. */
  readonly untrack: (pod: JobPod) => Promise<void>;
  readonly backOff: BackOff;
  readonly keepBackOff: (backOff: BackOff) => void;
  readonly waitAtMost: (ms: number) => void;
  readonly metrics: JobMetrics | undefined;
}

interface Counts {
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
}

/** One pass over a job: creates or deletes pods, counts those that ended, and says in the status how far it is. */
export class JobPass {
  readonly #options: PassOptions;
  readonly #facts: JobFacts;
  readonly #at: string;
  /** As stored last. */
  #job: ApiObject;
  /** What the pass does, or did last, to pods. */
  action: PassAction = 'reconciling';

  /** `stored` is the job without the start time that the facts may have given it. */
  constructor(options: PassOptions, facts: JobFacts, stored: ApiObject) {
    this.#options = options;
    this.#facts = facts;
    this.#job = stored;
    this.#at = formatTime(facts.nowMs);
  }

  async run(): Promise<void> {
    const facts = this.#facts;
    const backOff = backOffAfter(this.#options.backOff, facts.newlySucceeded, facts.newlyFailed);
    const awaiting = awaitingReplacement(facts);
    const decided = endingOf(facts);
    const leftMs = decided ? undefined : untilDeadlineMs(facts);
    if (leftMs !== undefined) this.#options.waitAtMost(leftMs);
    const isLeaving = facts.job.metadata.deletionTimestamp !== undefined;
    const plan: PodPlan = decided
      ? { type: 'delete', pods: facts.pods.filter((pod) => pod.isActive) }
      : isLeaving
        ? { type: 'keep' }
        : planOf(facts, { backOff, awaiting, inOrder: (pods) => this.#inOrder(pods) });
    const done = await this.#carryOut(plan, awaiting, decided !== undefined);
    const counts = countsAfter(facts, done);
    const ending = decided ?? completionOf(facts, counts.active);
    // A job does not end while a pod of it may go on.
    const effective = decided && counts.active > 0 ? undefined : ending;
    let status: JobStatus = { ...facts.status, ...counts };
    if (!ending && !isLeaving) status = this.#suspendedOrResumed(status);
    await this.#count(status, { ending: effective, awaiting, counts, backOff });
    if (done.error !== undefined) throw done.error;
  }

  async #carryOut(plan: PodPlan, awaiting: ReadonlyMap<number, JobPod>, isEnding: boolean): Promise<Done> {
    const { signal, waitAtMost } = this.#options;
    if (!isEnding) this.action = actions[plan.type];
    if (plan.type === 'wait') waitAtMost(plan.ms);
    if (plan.type === 'create') {
      const { indexes } = plan;
      const result = await slowStart(indexes.length, (at) => this.#create(indexes[at], awaiting), signal);
      return { created: result.done, deleted: [], ...('error' in result && { error: result.error }) };
    }
    if (plan.type !== 'delete') return { created: 0, deleted: [] };
    const deleted: JobPod[] = [];
    const errors = await runAll(
      plan.pods.map((pod) => async () => {
        // Those of a job that ends are counted; those that are too many are not.
        if (!isEnding && pod.isTracked) await this.#options.untrack(pod);
        await this.#options.control.delete(this.#facts.job, pod.object);
        deleted.push(pod);
      }),
      signal,
    );
    return { created: 0, deleted, ...(errors.length > 0 && { error: errors[0] }) };
  }

  async #create(index: number | undefined, awaiting: ReadonlyMap<number, JobPod>): Promise<void> {
    const { control, dialect } = this.#options;
    const { job, spec } = this.#facts;
    const { tracking } = jobNames(dialect);
    const template = spec.template ?? {};
    const finalizers = template.metadata?.finalizers?.includes(tracking) ? [] : [tracking];
    const own = index === undefined ? {} : podOfIndex(this.#facts, dialect, index, awaiting.get(index));
    const reason = this.#creationReason();
    try {
      await control.create(job, { template, finalizers, ...own });
      this.#options.metrics?.podCreation(reason, 'succeeded');
    } catch (error) {
      this.#options.metrics?.podCreation(reason, 'failed');
      if (!isTerminatingNamespace(error)) throw error;
    }
  }

  #creationReason(): CreationReason {
    const { spec, failed, pods } = this.#facts;
    if (spec.podReplacementPolicy === 'Failed' && failed > 0) return 'recreate_failed';
    return failed > 0 || pods.some(({ isTerminating }) => isTerminating) ? 'recreate_terminating_or_failed' : 'new';
  }

  #inOrder(pods: readonly JobPod[]): readonly JobPod[] {
    const byPod = new Map<Pod, JobPod>(pods.map((each) => [each.pod, each]));
    const order = { dialect: this.#options.dialect, nowMs: this.#facts.nowMs, related: [] };
    return allAtOnce(byDeletion([...byPod.keys()], order)).flatMap((pod) => byPod.get(pod) ?? []);
  }

  /** A job that goes on begins anew: its deadline does not run while it is suspended. */
  #suspendedOrResumed(status: JobStatus): JobStatus {
    const before = conditionOf(status.conditions, 'Suspended')?.status === 'True';
    const now = isSuspended(this.#facts.spec);
    if (before === now) return status;
    const [reason, message] = now ? ['JobSuspended', 'Job suspended'] : ['JobResumed', 'Job resumed'];
    this.#event('Normal', now ? 'Suspended' : 'Resumed', message);
    const conditions = this.#with(status, { type: 'Suspended', status: now ? 'True' : 'False', reason, message });
    return { ...status, conditions, ...(!now && { startTime: this.#at }) };
  }

  #with({ conditions = [] }: JobStatus, { type, status = 'True', reason, message }: NewCondition) {
    const condition = { type, status, lastProbeTime: this.#at, lastTransitionTime: this.#at, reason, message };
    if (!conditionOf(conditions, type)) return [...conditions, condition];
    return conditions.map((each) => (each.type === type ? condition : each));
  }

  /** Notes pods that ended, lets them go, and counts them; then the job ends if it is to. */
  async #count(before: JobStatus, { ending, awaiting, counts, backOff }: CountOptions): Promise<void> {
    const withFinalizer = new Set(this.#facts.pods.flatMap(({ isTracked, uid }) => (isTracked ? uid : [])));
    const noted = trackedStatus(this.#facts, countedStatus(before, withFinalizer), { ending, awaiting });
    let { status } = noted;
    if (ending && !ending.isKnown) {
      status = { ...status, conditions: this.#with(status, { ...ending, type: interimOf(ending) }) };
    }
    await this.#write(status);
    this.#options.keepBackOff(backOff);
    const errors = await runAll(
      noted.ended.map((pod) => async () => {
        await this.#options.untrack(pod);
        withFinalizer.delete(pod.uid);
        if (pod.hasFailed && pod.verdict.action) this.#options.metrics?.policyApplied(pod.verdict.action);
      }),
      this.#options.signal,
    );
    status = countedStatus(status, withFinalizer);
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    const isOver = !noted.hasMore && errors.length === 0 && succeeded.length + failed.length + counts.terminating === 0;
    if (ending && isOver) {
      const completionTime = ending.type === 'Complete' && { completionTime: this.#at };
      status = { ...status, conditions: this.#with(status, ending), ...completionTime };
    }
    await this.#write(status);
    if (errors.length > 0) throw errors[0];
    if (ending && isOver) this.#reportEnd(ending, status);
  }

  #reportEnd({ type, reason, message }: Ending, { succeeded = 0 }: JobStatus): void {
    const mode = modeOf(this.#facts.isIndexed);
    this.#options.metrics?.finished(mode, type === 'Failed' ? 'failed' : 'succeeded', reason);
    if (type === 'Failed') {
      this.#event('Warning', reason, message);
      return;
    }
    if (succeeded > (this.#facts.completions ?? Number.POSITIVE_INFINITY)) {
      const text = 'Too many succeeded pods running after completion count reached';
      this.#event('Warning', 'TooManySucceededPods', text);
    }
    this.#event('Normal', 'Completed', 'Job completed');
  }

  /** Rejects if somebody else has written meanwhile: the next pass counts from what is stored then. */
  async #write(status: JobStatus): Promise<void> {
    const { client, kind, owners, signal } = this.#options;
    const next = withoutNothing(status);
    const before = asJob(this.#job).status ?? {};
    if (isDeepStrictEqual(before, next)) return;
    this.#job = await client.update<ApiObject>(
      pathOf(kind, this.#job, 'status'),
      { ...this.#job, status: next },
      signal,
    );
    this.#countFinished(before, next);
    await owners.reached(this.#job.metadata.resourceVersion, signal);
  }

  #countFinished(before: JobStatus, now: JobStatus): void {
    const { metrics } = this.#options;
    const { isIndexed, spec } = this.#facts;
    const grown = (name: 'succeeded' | 'failed'): number => (now[name] ?? 0) - (before[name] ?? 0);
    for (const end of ['succeeded', 'failed'] as const) metrics?.podsFinished(modeOf(isIndexed), end, grown(end));
    if (!isIndexed) return;
    const perIndex = spec.backoffLimitPerIndex !== undefined;
    const failed = ({ failedIndexes = '' }: JobStatus): number =>
      sizeOf(indexSetIn(failedIndexes, Number.POSITIVE_INFINITY));
    metrics?.indexesFinished('succeeded', perIndex, grown('succeeded'));
    metrics?.indexesFinished('failed', perIndex, failed(now) - failed(before));
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { events, kind } = this.#options;
    events.record({ about: aboutOf(kind, this.#job), type, reason, message });
  }
}

const actions = {
  create: 'pods_created',
  delete: 'pods_deleted',
  keep: 'tracking',
  wait: 'tracking',
} as const satisfies Record<PodPlan['type'], PassAction>;

interface Done {
  readonly created: number;
  readonly deleted: readonly JobPod[];
  readonly error?: unknown;
}

interface NewCondition {
  readonly type: string;
  readonly status?: string;
  readonly reason: string;
  readonly message: string;
}

interface CountOptions {
  readonly ending: Ending | undefined;
  readonly awaiting: ReadonlyMap<number, JobPod>;
  readonly counts: Counts;
  readonly backOff: BackOff;
}

function countsAfter({ pods }: JobFacts, { created, deleted }: Done): Counts {
  const active = pods.filter((pod) => pod.isActive);
  const ready = (all: readonly JobPod[]): number => all.filter(({ pod }) => isReady(pod)).length;
  return {
    active: active.length + created - deleted.length,
    ready: ready(active) - ready(deleted),
    terminating: pods.filter((pod) => pod.isTerminating).length + deleted.length,
  };
}

/** As the server stores it: counters of nothing and empty texts are absent, but those that say that they are counted. */
function withoutNothing({ active, succeeded, failed, completedIndexes, ...status }: JobStatus): JobStatus {
  return JSON.parse(
    JSON.stringify({
      ...status,
      ...(active && { active }),
      ...(succeeded && { succeeded }),
      ...(failed && { failed }),
      ...(completedIndexes && { completedIndexes }),
    }),
  );
}
