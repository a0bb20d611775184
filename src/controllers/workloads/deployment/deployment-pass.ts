import { hasReason } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import { workloadNames } from '../../../dialect/workload-names.ts';
import { asDeployment } from '../../../kinds/apps/deployment.ts';
import { asReplicaSet } from '../../../kinds/apps/replica-set.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import type { InformedContext } from '../../controller.ts';
import { claim } from '../claim.ts';
import { type Condition, withCondition } from '../conditions.ts';
import { aboutOf, collectionOf, controllerOf, controllerReference, type ObjectKind, pathOf } from '../owner.ts';
import { isTerminatingNamespace, messageOf } from '../pod-control.ts';
import { selectorIn } from '../read-selector.ts';
import {
  isComplete,
  newCondition,
  nextCheckMs,
  pauseCondition,
  rolloutStatusAfter,
  type Status,
  statusAfter,
} from './deployment-status.ts';
import { equalTemplates, sizeOf } from './replica-set-state.ts';
import {
  annotationsForRollback,
  annotationsOfPresent,
  lastRevision,
  maxRevision,
  revisionOf,
  rollbackOf,
} from './revisions.ts';
import {
  boundsOf,
  byCreation,
  isScaled,
  newReplicas,
  type Resize,
  reduceFormer,
  scaleAll,
  sum,
  type Wanted,
} from './rollout-arithmetic.ts';
import { templateHash } from './template-hash.ts';

interface PassOptions extends Pick<InformedContext, 'client' | 'clock' | 'dialect' | 'events'> {
  readonly kind: ObjectKind;
  readonly setKind: ObjectKind;
  readonly owner: ApiObject;
  /** Deployments and replica sets. */
  readonly owners: SharedInformer;
  readonly sets: SharedInformer;
  readonly signal: AbortSignal;
  /** Whether pods of a replica set may still run. */
  readonly hasPods: (set: ApiObject) => boolean;
}

/** Number that stands for no limit, in fields with a default. */
const unlimited = 2 ** 31 - 1;

/** One pass over a deployment. Replica sets are written as they are decided on; the deployment itself once, at the end. */
export class DeploymentPass {
  readonly #options: PassOptions;
  readonly #owner: ApiObject;
  readonly #wanted: Wanted;
  readonly #nowMs: number;
  /** The status with the conditions of this pass, and the revision to note. */
  #status: Status;
  #revision: string | undefined;
  /** The set of the present template, and the others, older ones first. */
  #present: ApiObject | undefined;
  #former: readonly ApiObject[] = [];

  constructor(options: PassOptions) {
    this.#options = options;
    this.#owner = options.owner;
    this.#nowMs = options.clock.now();
    const { status = {}, spec } = asDeployment(options.owner);
    const { type, rollingUpdate: { maxSurge = 0, maxUnavailable = 0 } = {} } = spec?.strategy ?? {};
    const rolling = type === 'Recreate' ? undefined : { maxSurge, maxUnavailable };
    this.#status = status;
    this.#wanted = { replicas: spec?.replicas ?? 0, rolling };
  }

  /** Gives the milliseconds until the next pass, if one is due without a change. */
  async run(): Promise<number | undefined> {
    const { owner, client, clock, kind, setKind, sets: informer, signal, dialect } = this.#options;
    const { selector: field, paused = false } = this.#spec;
    const selector = selectorIn(field);
    if (!selector) return undefined;
    const claimed = await claim({ kind, owner, selector }, { client, clock, signal, informer, dependents: setKind });
    this.#sort(claimed);
    await this.#followPresent();
    if (owner.metadata.deletionTimestamp !== undefined) return this.#finish('counts');
    const pause =
      this.#deadlineSeconds === undefined
        ? undefined
        : pauseCondition({ paused, status: this.#status, nowMs: this.#nowMs });
    if (pause) this.#note(pause);
    if (paused) return this.#scale();
    const rollback = rollbackOf(owner, dialect);
    if (rollback !== undefined) return this.#rollBack(rollback);
    if (
      isScaled(
        this.#wanted,
        this.#all.map((set) => sizeOf(set, dialect)),
      )
    )
      return this.#scale();
    return this.#wanted.rolling ? this.#rollOver() : this.#recreate();
  }

  get #spec() {
    const { spec } = asDeployment(this.#owner);
    return { ...spec };
  }

  get #all(): readonly ApiObject[] {
    return [...this.#former, ...(this.#present ? [this.#present] : [])];
  }

  get #deadlineSeconds(): number | undefined {
    const { progressDeadlineSeconds } = this.#spec;
    return progressDeadlineSeconds === unlimited ? undefined : progressDeadlineSeconds;
  }

  /** Of several sets of the present template the oldest counts. */
  #sort(sets: readonly ApiObject[]): void {
    const { dialect } = this.#options;
    const inOrder = [...sets].sort((a, b) => byCreation(sizeOf(a, dialect), sizeOf(b, dialect)));
    this.#present = inOrder.find((set) =>
      equalTemplates(asReplicaSet(set).spec?.template, this.#spec.template, dialect),
    );
    this.#former = inOrder.filter((set) => set !== this.#present);
  }

  #note(condition: Condition): void {
    this.#status = { ...this.#status, conditions: withCondition(this.#status.conditions, condition) } as Status;
  }

  #report(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.events.record({ about: aboutOf(this.#options.kind, this.#owner), type, reason, message });
  }

  /** Gives the set of the present template, if there is one, the annotations of the deployment and the newest revision. */
  async #followPresent(): Promise<void> {
    const { dialect } = this.#options;
    if (!this.#present) return;
    const { metadata } = this.#present;
    const { minReadySeconds = 0 } = this.#spec;
    const annotations = this.#presentAnnotations(metadata.annotations);
    const spec = asReplicaSet(this.#present).spec;
    if (!equalValues(annotations, metadata.annotations ?? {}) || (spec?.minReadySeconds ?? 0) !== minReadySeconds) {
      const changed = { ...this.#present, metadata: { ...metadata, annotations }, spec: { ...spec, minReadySeconds } };
      this.#present = await this.#writeSet(changed);
    }
    this.#revision = annotations[workloadNames(dialect).revision];
    if (this.#deadlineSeconds === undefined || this.#status.conditions?.some(({ type }) => type === 'Progressing'))
      return;
    const message = `Found new replica set ${JSON.stringify(metadata.name)}`;
    this.#note(newCondition('Progressing', 'True', 'FoundNewReplicaSet', message, this.#nowMs));
  }

  #presentAnnotations(before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const { dialect } = this.#options;
    const newest = maxRevision(this.#former, dialect) + 1;
    return annotationsOfPresent(before, this.#owner.metadata.annotations ?? {}, newest, dialect);
  }

  /** Writes a replica set, and waits until it is seen. Another state of it than ours is a conflict. */
  async #writeSet(set: ApiObject): Promise<ApiObject> {
    const { client, setKind, sets, signal } = this.#options;
    const written = await client.update<ApiObject>(pathOf(setKind, set), set, signal);
    await sets.reached(written.metadata.resourceVersion, signal);
    return written;
  }

  /** Creates the set of the present template. */
  async #createPresent(): Promise<ApiObject> {
    const { client, dialect, kind, setKind, sets, signal } = this.#options;
    const { template = {}, selector = {}, minReadySeconds = 0 } = this.#spec;
    const { podTemplateHash } = workloadNames(dialect);
    const hash = templateHash(template, this.#status.collisionCount);
    const labels = { ...template.metadata?.labels, [podTemplateHash]: hash };
    const all = sum(this.#former, (set) => sizeOf(set, dialect).replicas);
    const replicas = newReplicas(this.#wanted, all, 0);
    const { namespace = '' } = this.#owner.metadata;
    const set = {
      apiVersion: setKind.apiVersion,
      kind: setKind.kind,
      metadata: {
        ...{ name: `${nameOf(this.#owner)}-${hash}`, namespace, labels },
        annotations: { ...this.#presentAnnotations(), ...this.#sizeAnnotations() },
        ownerReferences: [controllerReference(kind, this.#owner)],
      },
      spec: {
        ...{ replicas, minReadySeconds },
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [podTemplateHash]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
    let created: ApiObject;
    try {
      created = await client.create<ApiObject>(collectionOf(setKind, namespace), set, signal);
    } catch (error) {
      created = await this.#createFailed(set, error);
      this.#revision = created.metadata.annotations?.[workloadNames(dialect).revision];
      return created;
    }
    await sets.reached(created.metadata.resourceVersion, signal);
    const name = nameOf(created);
    if (replicas > 0)
      this.#report('Normal', 'ScalingReplicaSet', `Scaled up replica set ${name} from 0 to ${replicas}`);
    this.#revision = created.metadata.annotations?.[workloadNames(dialect).revision];
    if (this.#deadlineSeconds !== undefined) {
      const message = `Created new replica set ${JSON.stringify(name)}`;
      this.#note(newCondition('Progressing', 'True', 'NewReplicaSetCreated', message, this.#nowMs));
    }
    return created;
  }

  /** Gives the set if it is there and ours. Another one of its name is a collision, which gives the next attempt another name. */
  async #createFailed(set: ApiObject, error: unknown): Promise<ApiObject> {
    const { client, setKind, dialect, signal } = this.#options;
    if (hasReason(error, 'AlreadyExists')) {
      const found = await client.get<ApiObject>(pathOf(setKind, set), signal);
      const isOurs = controllerOf(found)?.uid === this.#owner.metadata.uid;
      if (isOurs && equalTemplates(asReplicaSet(found).spec?.template, this.#spec.template, dialect)) return found;
      this.#status = { ...this.#status, collisionCount: (this.#status.collisionCount ?? 0) + 1 };
      await this.#write(this.#status);
      throw error;
    }
    if (isTerminatingNamespace(error)) throw error;
    const reason = 'ReplicaSetCreateError';
    const message = `Failed to create new replica set ${JSON.stringify(nameOf(set))}: ${messageOf(error)}`;
    this.#report('Warning', reason, message);
    if (this.#deadlineSeconds !== undefined) {
      this.#note(newCondition('Progressing', 'False', reason, message, this.#nowMs));
      await this.#write(this.#status);
    }
    throw error;
  }

  #sizeAnnotations(): Readonly<Record<string, string>> {
    const { desiredReplicas, maxReplicas } = workloadNames(this.#options.dialect);
    const { replicas } = this.#wanted;
    return {
      [desiredReplicas]: String(replicas),
      [maxReplicas]: String(replicas + boundsOf(this.#wanted).maxSurge),
    };
  }

  /** Scales a set, and notes on it what the deployment wants as a whole. True if its size changed. */
  async #resize({ name, replicas }: Resize): Promise<boolean> {
    const set = this.#all.find((each) => nameOf(each) === name);
    if (!set) return false;
    const before = sizeOf(set, this.#options.dialect).replicas;
    const annotations = { ...set.metadata.annotations, ...this.#sizeAnnotations() };
    if (before === replicas && equalValues(annotations, set.metadata.annotations ?? {})) return false;
    const spec = { ...asReplicaSet(set).spec, replicas };
    const written = await this.#writeSet({ ...set, metadata: { ...set.metadata, annotations }, spec });
    if (set === this.#present) this.#present = written;
    else this.#former = this.#former.map((each) => (each === set ? written : each));
    if (before === replicas) return false;
    const direction = before < replicas ? 'up' : 'down';
    this.#report(
      'Normal',
      'ScalingReplicaSet',
      `Scaled ${direction} replica set ${name} from ${before} to ${replicas}`,
    );
    return true;
  }

  /** The deployment is scaled, or paused: no roll-out goes on. */
  async #scale(): Promise<number | undefined> {
    const { dialect } = this.#options;
    const size = (set: ApiObject) => sizeOf(set, dialect);
    const present = this.#present && size(this.#present);
    const former = this.#former.map(size);
    const steps = scaleAll(this.#wanted, present, former, this.#status.replicas ?? 0);
    // The only set of a deployment keeps its annotations until its size changes.
    const isNoted = former.length + (present ? 1 : 0) > 0;
    if (isNoted) for (const step of steps) await this.#resize(step);
    if (this.#spec.paused) await this.#cleanUp();
    return this.#finish('counts');
  }

  async #rollOver(): Promise<number | undefined> {
    const { dialect } = this.#options;
    this.#present ??= await this.#createPresent();
    const size = (set: ApiObject) => sizeOf(set, dialect);
    const { replicas, name } = size(this.#present);
    const all = sum(this.#all, (set) => size(set).replicas);
    const grown = newReplicas(this.#wanted, all, replicas);
    if (grown !== replicas) {
      await this.#resize({ name, replicas: grown });
      return this.#finish('rollout');
    }
    const steps = reduceFormer(this.#wanted, size(this.#present), this.#former.map(size));
    for (const step of steps) await this.#resize(step);
    if (steps.length === 0 && this.#isComplete) await this.#cleanUp();
    return this.#finish('rollout');
  }

  async #recreate(): Promise<number | undefined> {
    const { dialect, hasPods } = this.#options;
    const active = this.#former.filter((set) => sizeOf(set, dialect).replicas > 0);
    for (const set of active) await this.#resize({ name: nameOf(set), replicas: 0 });
    const isRunning = this.#former.some((set) => (asReplicaSet(set).status?.replicas ?? 0) > 0 || hasPods(set));
    if (active.length > 0 || isRunning) return this.#finish('rollout');
    this.#present ??= await this.#createPresent();
    const { name, replicas } = sizeOf(this.#present, dialect);
    if (replicas !== this.#wanted.replicas) await this.#resize({ name, replicas: this.#wanted.replicas });
    if (this.#isComplete) await this.#cleanUp();
    return this.#finish('rollout');
  }

  get #isComplete(): boolean {
    const { status = {} } = asDeployment(this.#owner);
    return isComplete({ wanted: this.#wanted, generation: this.#owner.metadata.generation }, status);
  }

  /** Deletes the oldest sets without pods beyond the history that is kept. */
  async #cleanUp(): Promise<void> {
    const { client, dialect, setKind, sets, signal } = this.#options;
    const { revisionHistoryLimit = unlimited } = this.#spec;
    if (revisionHistoryLimit === unlimited) return;
    const staying = this.#former.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const surplus = staying.length - revisionHistoryLimit;
    const byRevision = staying.sort((a, b) => (revisionOf(a, dialect) ?? 0) - (revisionOf(b, dialect) ?? 0));
    for (const set of byRevision.slice(0, Math.max(surplus, 0))) {
      const { namespace, name, uid, generation = 0 } = set.metadata;
      const { spec, status } = asReplicaSet(set);
      if (spec?.replicas || status?.replicas || Number(status?.observedGeneration ?? 0) < generation) continue;
      try {
        await client.delete(
          pathOf(setKind, set),
          { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } },
          signal,
        );
      } catch (error) {
        if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
      }
      await sets.deleted(`${namespace}/${name}`, uid, signal);
      this.#former = this.#former.filter((each) => each !== set);
    }
  }

  /** Goes back to the template of a revision, 0 for the last one, as the annotation of the first version of the API asks. */
  async #rollBack(asked: number): Promise<number | undefined> {
    const { dialect } = this.#options;
    const wanted = asked === 0 ? lastRevision(this.#all, dialect) : asked;
    const set = wanted === 0 ? undefined : this.#all.find((each) => revisionOf(each, dialect) === wanted);
    const name = JSON.stringify(nameOf(this.#owner));
    if (!set) {
      const message = wanted === 0 ? 'Unable to find last revision.' : 'Unable to find the revision to rollback to.';
      this.#report('Warning', 'DeploymentRollbackRevisionNotFound', message);
      await this.#writeRolledBack({});
    } else if (equalTemplates(asReplicaSet(set).spec?.template, this.#spec.template, dialect)) {
      const message = `The rollback revision contains the same template as current deployment ${name}`;
      this.#report('Warning', 'DeploymentRollbackTemplateUnchanged', message);
      await this.#writeRolledBack({});
    } else {
      await this.#writeRolledBack({ set });
      this.#report('Normal', 'DeploymentRollback', `Rolled back deployment ${name} to revision ${wanted}`);
    }
    return undefined;
  }

  async #writeRolledBack({ set }: { readonly set?: ApiObject }): Promise<void> {
    const { client, dialect, kind, owners, signal } = this.#options;
    const { rollbackTo, podTemplateHash } = workloadNames(dialect);
    const { [rollbackTo]: _, ...annotations } = this.#owner.metadata.annotations ?? {};
    const metadata = { ...this.#owner.metadata, annotations };
    const changed: ApiObject = { ...this.#owner, metadata };
    if (set) {
      const { template = {} } = { ...asReplicaSet(set).spec };
      const { [podTemplateHash]: _hash, ...labels } = template.metadata?.labels ?? {};
      metadata.annotations = { ...annotationsForRollback(annotations, set.metadata.annotations ?? {}, dialect) };
      changed['spec'] = { ...this.#spec, template: { ...template, metadata: { ...template.metadata, labels } } };
    }
    const written = await client.update<ApiObject>(pathOf(kind, this.#owner), changed, signal);
    await owners.reached(written.metadata.resourceVersion, signal);
  }

  /** Writes the status, with counts alone or with the progress of the roll-out, and the revision of the deployment. */
  async #finish(what: 'counts' | 'rollout'): Promise<number | undefined> {
    const observed = {
      ...{ name: nameOf(this.#owner), generation: this.#owner.metadata.generation, wanted: this.#wanted },
      ...{ deadlineSeconds: this.#deadlineSeconds, before: this.#status, nowMs: this.#nowMs },
      ...{ present: this.#present, former: this.#former },
    };
    const status = what === 'counts' ? statusAfter(observed) : rolloutStatusAfter(observed);
    await this.#write(status);
    return what === 'rollout' ? nextCheckMs(observed, status) : undefined;
  }

  async #write(status: Status): Promise<void> {
    const { client, dialect, kind, owners, signal } = this.#options;
    const { metadata } = this.#owner;
    const { revision } = workloadNames(dialect);
    const annotations = {
      ...metadata.annotations,
      ...(this.#revision !== undefined && { [revision]: this.#revision }),
    };
    const isSame =
      equalValues(status, this.#owner['status'] ?? {}) && equalValues(annotations, metadata.annotations ?? {});
    if (isSame) return;
    const object = { ...this.#owner, metadata: { ...metadata, annotations }, status };
    const written = await client.update<ApiObject>(pathOf(kind, this.#owner, 'status'), object, signal);
    await owners.reached(written.metadata.resourceVersion, signal);
  }
}
