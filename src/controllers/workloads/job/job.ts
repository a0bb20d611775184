import { type Closable, ClosableStack } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import { inSlices } from '../../../base/time/in-slices.ts';
import { hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { WorkQueue } from '../../../client/work-queue.ts';
import { jobNames } from '../../../dialect/workload-names.ts';
import { asJob } from '../../../kinds/batch/job-schema.ts';
import { asPod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { formatTime } from '../../../meta/time.ts';
import type { InformedContext } from '../../controller.ts';
import { claim } from '../claim.ts';
import { byController, collectionOf, controllerOf, type ObjectKind, pathOf, podKind } from '../owner.ts';
import { PodControl } from '../pod-control.ts';
import { isFinished } from '../pod-state.ts';
import { selectorIn } from '../read-selector.ts';
import { WorkloadController } from '../workload-controller.ts';
import { type BackOff, noFailures } from './back-off.ts';
import { factsOf, finishOf, isSuspended, modeOf } from './job-facts.ts';
import { JobPass } from './job-pass.ts';

const parallel = 5;

/** What is known of a job from pass to pass. */
interface Memory {
  backOff: BackOff;
  /** UIDs of pods whose finalizer was removed, until that is seen. */
  readonly counted: Set<string>;
}

/** Runs the pods of jobs until they have succeeded, or failed, often enough. */
export const startJobs = (context: InformedContext): Closable => new Jobs(context);

class Jobs implements Closable {
  readonly #context: InformedContext;
  readonly #kind: ObjectKind;
  readonly #tracking: string;
  readonly #pods: SharedInformer;
  readonly #controller: WorkloadController;
  readonly #control: PodControl;
  readonly #held = new ClosableStack();
  /** Keys of pods that may have the finalizer, and no job that would remove it. */
  readonly #orphans: WorkQueue<string>;
  readonly #memory = new Map<string, Memory>();

  constructor(context: InformedContext) {
    this.#context = context;
    this.#kind = { apiVersion: `${context.dialect.group('batch')}/v1`, kind: 'Job', resource: 'jobs' };
    this.#tracking = jobNames(context.dialect).tracking;
    this.#pods = context.informers.of(collectionOf(podKind));
    this.#orphans = this.#held.add(
      new WorkQueue({ ...context, name: 'job_orphan_pod', parallel, work: (key) => this.#releaseOrphan(key) }),
    );
    this.#controller = this.#held.add(
      new WorkloadController(context, {
        ...{ kind: this.#kind, queue: 'job', parallel, dependents: [podKind] },
        selectorOf: (job) => (this.#isOurs(job) ? selectorIn(asJob(job).spec?.selector) : undefined),
        pass: (job, key) => this.#pass(job, key),
        gone: (key) => void this.#memory.delete(key),
      }),
    );
    const { signal } = this.#controller;
    this.#control = new PodControl({ ...context, ownerKind: this.#kind, pods: this.#pods, signal });
    this.#held.add(
      this.#pods.follow({
        changed: (key, now, before) => {
          const [had, has] = [before, now].map((pod) => this.#isCounted(pod));
          if (had !== has) this.#context.jobMetrics?.tracking(has ? 'add' : 'delete');
          if (now?.metadata.finalizers?.includes(this.#tracking)) this.#orphans.add(key);
        },
        synced: () => this.#synced(),
      }),
    );
    this.#held.add(
      this.#controller.owners.follow({
        changed: (_key, now, before) => this.#jobChanged(now, before),
        synced: () => this.#synced(),
      }),
    );
  }

  async #pass(stored: ApiObject, key: string): Promise<void> {
    const { spec = {}, status = {} } = asJob(stored);
    if (!this.#isOurs(stored)) return;
    if (finishOf(status)) {
      this.#memory.delete(key);
      return;
    }
    const selector = selectorIn(spec.selector);
    if (!selector) return;
    const { client, clock, dialect } = this.#context;
    const { signal, owners } = this.#controller;
    const options = { client, clock, signal, informer: this.#pods, dependents: podKind, finalizers: [this.#tracking] };
    const pods = await claim({ kind: this.#kind, owner: stored, selector }, options);
    const memory = this.#memoryOf(key);
    const byUid = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    for (const uid of memory.counted) {
      if (!byUid.get(uid)?.metadata.finalizers?.includes(this.#tracking)) memory.counted.delete(uid);
    }
    const nowMs = clock.now();
    const begins = status.startTime === undefined && !isSuspended(spec);
    const job = begins ? { ...stored, status: { ...status, startTime: formatTime(nowMs) } } : stored;
    const facts = await inSlices(factsOf({ job, pods, dialect, nowMs, counted: memory.counted }), clock);
    const pass = new JobPass(
      {
        ...{ client, clock, dialect, events: this.#context.events, kind: this.#kind, owners, signal },
        metrics: this.#context.jobMetrics,
        control: this.#control,
        backOff: memory.backOff,
        keepBackOff: (backOff) => {
          memory.backOff = backOff;
        },
        untrack: async ({ object, uid }) => {
          await this.#untrack(object, signal);
          memory.counted.add(uid);
        },
        waitAtMost: (ms) => this.#controller.addAfter(key, Math.min(Math.max(ms, 1), limits.controllerTimerMsMax)),
      },
      facts,
      stored,
    );
    await this.#observed(pass, facts.isIndexed);
  }

  async #observed(pass: JobPass, isIndexed: boolean): Promise<void> {
    const { clock, jobMetrics } = this.#context;
    const startedMs = clock.monotonic();
    let failed = true;
    try {
      await pass.run();
      failed = false;
    } finally {
      const seconds = (clock.monotonic() - startedMs) / 1_000;
      jobMetrics?.passed({ mode: modeOf(isIndexed), action: pass.action, failed, seconds });
    }
  }

  #memoryOf(key: string): Memory {
    const known = this.#memory.get(key) ?? { backOff: noFailures, counted: new Set() };
    this.#memory.set(key, known);
    return known;
  }

  /** Removes the finalizer, and waits until that is seen. */
  async #untrack(pod: ApiObject, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const patch = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [this.#tracking] } };
    try {
      const patched = await this.#context.client.strategicPatch(pathOf(podKind, pod), patch, signal);
      await this.#pods.reached(patched.metadata.resourceVersion, signal);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }

  /** Whether a pod has ended and is still to be counted. */
  #isCounted(pod: ApiObject | undefined): boolean {
    return pod?.metadata.finalizers?.includes(this.#tracking) === true && isFinished(asPod(pod));
  }

  #isOurs(job: ApiObject): boolean {
    const { managedBy } = asJob(job).spec ?? {};
    return managedBy === undefined || managedBy === jobNames(this.#context.dialect).manager;
  }

  /** Pods of a job that is over or gone have nobody else who lets them go. */
  #jobChanged(now: ApiObject | undefined, before: ApiObject | undefined): void {
    if (now && !finishOf(asJob(now).status ?? {})) return;
    const uid = (now ?? before)?.metadata.uid ?? '';
    for (const { metadata } of this.#pods.indexed(byController, uid)) {
      if (metadata.finalizers?.includes(this.#tracking)) this.#orphans.add(`${metadata.namespace}/${metadata.name}`);
    }
  }

  #synced(): void {
    if (!this.#isSynced) return;
    for (const [key, { metadata }] of this.#pods.entries()) {
      if (metadata.finalizers?.includes(this.#tracking)) this.#orphans.add(key);
    }
  }

  get #isSynced(): boolean {
    return this.#pods.synced && this.#controller.owners.synced;
  }

  async #releaseOrphan(key: string): Promise<void> {
    // As a pass over a job: other followers come first.
    await Promise.resolve();
    const pod = this.#pods.get(key);
    if (!this.#isSynced || !pod?.metadata.finalizers?.includes(this.#tracking)) return;
    const owner = controllerOf(pod);
    if (owner) {
      if (owner.kind !== this.#kind.kind || owner.apiVersion !== this.#kind.apiVersion) return;
      const job = this.#controller.owners.get(`${pod.metadata.namespace}/${owner.name}`);
      if (job?.metadata.uid === owner.uid && !(this.#isOurs(job) && finishOf(asJob(job).status ?? {}))) return;
    }
    await this.#untrack(pod, this.#controller.signal);
  }

  close(): void {
    this.#held.close();
  }
}
