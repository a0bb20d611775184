import type { Closable } from '../../base/disposable.ts';
import { hasCause, hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { observedPass, type PublishOutcome } from '../publish-outcome.ts';

/** An object that every namespace must have. */
interface KeptObject {
  /** Told of each pass over a namespace. */
  readonly passed?: ((outcome: PublishOutcome) => void) | undefined;
  /** Name of the queue in metrics. */
  readonly queue: string;
  /** Plural name of the core resource, as in the path: `serviceaccounts`. */
  readonly resource: string;
  readonly name: string;
  /** The object as created; its metadata has no namespace. */
  readonly object: Omit<ApiObject, 'metadata'> & { readonly metadata: ObjectMeta };
  /** Returns the corrected object, or undefined if it needs no change. Default: any existing object is correct. */
  readonly mend?: (found: ApiObject) => ApiObject | undefined;
}

const parallel = 8;

/** Keeps the object in every active namespace: recreates it when deleted and, with `mend`, reverts changes. */
export const keepInNamespaces = (context: ControllerContext, kept: KeptObject): Closable => new Keeper(context, kept);

class Keeper implements Closable {
  readonly #context: ControllerContext;
  readonly #kept: KeptObject;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  /** Whether each namespace is active. */
  readonly #namespaces: Informer<boolean>;
  /** The existing objects; `true` if `mend` is not given and the content does not matter. */
  readonly #objects: Informer<ApiObject | true>;

  constructor(context: ControllerContext, kept: KeptObject) {
    this.#context = context;
    this.#kept = kept;
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: kept.queue, parallel, work: (name) => this.#pass(name) }),
    );
    this.#objects = this.#held.add(
      new Informer({
        ...context,
        client: context.reader,
        path: resourcePath({ resource: kept.resource, fieldSelector: `metadata.name=${kept.name}` }),
        select: (object) => (kept.mend ? object : true),
        changed: (key) => this.#queue.add(key.slice(0, key.indexOf('/'))),
        // Namespaces that were listed earlier could not be checked until now.
        synced: () => {
          for (const key of this.#namespaces.keys()) this.#queue.add(key.slice(1));
        },
      }),
    );
    this.#namespaces = this.#held.add(
      new Informer({
        ...context,
        client: context.reader,
        path: resourcePath({ resource: 'namespaces' }),
        select: ({ metadata }) => metadata.deletionTimestamp === undefined,
        changed: (key, active) => {
          if (active) this.#queue.add(key.slice(1));
        },
      }),
    );
  }

  #pass(namespace: string): Promise<void> {
    return observedPass(() => this.#keep(namespace), this.#context.clock, this.#kept.passed);
  }

  async #keep(namespace: string): Promise<void> {
    if (!this.#objects.synced || !this.#namespaces.get(`/${namespace}`)) return;
    const found = this.#objects.get(`${namespace}/${this.#kept.name}`);
    if (found === undefined) return this.#create(namespace);
    const mended = found === true ? undefined : this.#kept.mend?.(found);
    if (mended) await this.#update(namespace, mended);
  }

  async #update(namespace: string, mended: ApiObject): Promise<void> {
    const { client, logger } = this.#context;
    const { resource, name } = this.#kept;
    try {
      await client.update(this.#path(namespace, name), mended, this.#held.signal);
    } catch (error) {
      // Another client changed or deleted the object: a watch reports either.
      if (hasReason(error, 'Conflict', 'NotFound')) return;
      if (!hasReason(error, 'Invalid')) throw error;
      // The object is immutable: retrying is useless until somebody changes or deletes it.
      logger.warn('an object that every namespace has cannot be mended', { namespace, resource, name, error });
    }
  }

  async #create(namespace: string): Promise<void> {
    const { client } = this.#context;
    try {
      await client.create(this.#path(namespace), this.#kept.object, this.#held.signal);
    } catch (error) {
      // The namespace is terminating, or another client created the object: a watch reports either.
      const settled = hasReason(error, 'AlreadyExists', 'NotFound') || hasCause(error, 'NamespaceTerminating');
      if (!settled) throw error;
    }
  }

  #path(namespace: string, name?: string): string {
    return resourcePath({ resource: this.#kept.resource, namespace, name });
  }

  close(): void {
    this.#held.close();
  }
}
