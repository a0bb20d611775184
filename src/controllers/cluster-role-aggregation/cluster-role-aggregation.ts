import type { Closable } from '../../base/disposable.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { aggregate, sameRules } from '../../kinds/rbac/aggregate.ts';
import { asClusterRole } from '../../kinds/rbac/cluster-role.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';

/**
 * Sets the rules of every cluster role with an aggregationRule to those of the roles it selects (spec section 5.8). A
 * change of any cluster role rechecks all aggregating roles; a role is written only if its rules differ, so that this
 * converges even if roles select each other.
 */
export const startClusterRoleAggregation = (context: ControllerContext): Closable => new Aggregation(context);

const parallel = 5;
/** Delay that batches changes, as at startup. */
const settleMs = 20;

class Aggregation implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  readonly #roles: Informer<ApiObject>;
  /** Keys of the roles that have an aggregationRule. */
  readonly #aggregating = new Set<string>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'ClusterRoleAggregator', parallel, work: (key) => this.#aggregate(key) }),
    );
    this.#roles = this.#held.add(
      new Informer({
        ...context,
        path: this.#path(),
        select: (object) => object,
        changed: (key, role) => this.#changed(key, role),
        synced: () => this.#addAll(),
      }),
    );
  }

  #changed(key: string, role: ApiObject | undefined): void {
    if (role && asClusterRole(role).aggregationRule) this.#aggregating.add(key);
    else this.#aggregating.delete(key);
    // Before the first list is complete, most roles would be missing.
    if (this.#roles.synced) this.#addAll();
  }

  #addAll(): void {
    for (const key of this.#aggregating) this.#queue.addAfter(key, settleMs);
  }

  async #aggregate(key: string): Promise<void> {
    const role = this.#roles.get(key);
    if (!role) return;
    const rules = aggregate(role, this.#all());
    if (!rules || sameRules(asClusterRole(role).rules ?? [], rules)) return;
    const changed = { ...role, rules };
    try {
      await this.#context.client.update(this.#path(role.metadata.name), changed, this.#held.signal);
    } catch (error) {
      // The role was changed or deleted meanwhile: a watch reports it.
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  *#all(): IterableIterator<ApiObject> {
    for (const key of this.#roles.keys()) {
      const role = this.#roles.get(key);
      if (role) yield role;
    }
  }

  #path(name?: string): string {
    const apiVersion = `${this.#context.dialect.group('rbac.authorization')}/v1`;
    return resourcePath({ apiVersion, resource: 'clusterroles', name });
  }

  close(): void {
    this.#held.close();
  }
}
