import type { Closable } from '../../base/disposable.ts';
import type { SharedInformer } from '../../client/shared-informers.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { selectsLabels } from '../../kinds/meta/label-selector.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Selector } from '../../meta/selectors.ts';
import type { InformedContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { byNamespace, collectionOf, controllerOf, type ObjectKind } from './owner.ts';

interface WorkloadControllerOptions {
  /** The kind that is looked after. */
  readonly kind: ObjectKind;
  /** Name of the queue in metrics, as in kube-controller-manager. */
  readonly queue: string;
  /** Objects that passes are made over at once. */
  readonly parallel: number;
  /** Kinds of which objects belong to those that are looked after. A change of one has its controller looked at. */
  readonly dependents: readonly ObjectKind[];
  /** Selects orphans that an object may adopt; undefined if it adopts none. */
  readonly selectorOf: (owner: ApiObject) => Selector | undefined;
  /**
   * One pass over an object that exists. It must not end before the informers have what it wrote (`SharedInformer.reached` and
   * `deleted`), so that the next pass counts it; if it rejects, it is repeated with growing pauses. Must not change the object.
   */
  readonly pass: (owner: ApiObject, key: string) => Promise<void>;
  /** Told once an object is gone. */
  readonly gone?: (key: string) => void;
}

/**
 * Calls for a pass over an object whenever it, or something that belongs to it, has changed. There is never more than one pass
 * over one object at a time, and none before all collections have been listed.
 */
export class WorkloadController implements Closable {
  readonly owners: SharedInformer;
  readonly #options: WorkloadControllerOptions;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  readonly #informers: readonly SharedInformer[];

  constructor(context: InformedContext, options: WorkloadControllerOptions) {
    this.#options = options;
    const { queue: name, parallel, kind, dependents } = options;
    this.#queue = this.#held.add(new WorkQueue({ ...context, name, parallel, work: (key) => this.#pass(key) }));
    this.owners = context.informers.of(collectionOf(kind));
    const others = dependents.map((each) => context.informers.of(collectionOf(each)));
    this.#informers = [this.owners, ...others];
    const synced = (): void => this.#synced();
    this.#held.add(this.owners.follow({ changed: (key, now) => this.#ownerChanged(key, now), synced }));
    for (const informer of others) {
      this.#held.add(informer.follow({ changed: (_key, now, before) => this.#dependentChanged(now, before), synced }));
    }
  }

  /** Aborts when the controller is closed. */
  get signal(): AbortSignal {
    return this.#held.signal;
  }

  add(key: string): void {
    this.#queue.add(key);
  }

  addAfter(key: string, delayMs: number): void {
    this.#queue.addAfter(key, delayMs);
  }

  #synced(): void {
    if (this.#isSynced) for (const [key] of this.owners.entries()) this.#queue.add(key);
  }

  get #isSynced(): boolean {
    return this.#informers.every(({ synced }) => synced);
  }

  async #pass(key: string): Promise<void> {
    // Work begins within the report of a change; other followers, and the rest of a new list, come first.
    await Promise.resolve();
    const owner = this.owners.get(key);
    if (owner && this.#isSynced) await this.#options.pass(owner, key);
  }

  #ownerChanged(key: string, now: ApiObject | undefined): void {
    if (now) {
      this.#queue.add(key);
      return;
    }
    this.#queue.forget(key);
    this.#options.gone?.(key);
  }

  #dependentChanged(now: ApiObject | undefined, before: ApiObject | undefined): void {
    const [owner, former] = [now && controllerOf(now), before && controllerOf(before)];
    const namespace = (now ?? before)?.metadata.namespace ?? '';
    for (const reference of [owner, former?.uid === owner?.uid ? undefined : former]) {
      if (reference?.kind !== this.#options.kind.kind) continue;
      const key = `${namespace}/${reference.name}`;
      if (this.owners.get(key)?.metadata.uid === reference.uid) this.#queue.add(key);
    }
    if (now && !owner && isNewlyOrphan(now, before)) this.#offer(now, namespace);
  }

  /** Lets all that select an orphan look at it. */
  #offer({ metadata: { labels, deletionTimestamp } }: ApiObject, namespace: string): void {
    if (deletionTimestamp !== undefined || !labels) return;
    for (const owner of this.owners.indexed(byNamespace, namespace)) {
      const selector = this.#options.selectorOf(owner);
      if (selector && selectsLabels(selector, labels)) this.#queue.add(`${namespace}/${owner.metadata.name}`);
    }
  }

  close(): void {
    this.#held.close();
  }
}

/** New, disowned, or with other labels. */
const isNewlyOrphan = ({ metadata }: ApiObject, before: ApiObject | undefined): boolean =>
  !before ||
  controllerOf(before) !== undefined ||
  JSON.stringify(before.metadata.labels) !== JSON.stringify(metadata.labels);
