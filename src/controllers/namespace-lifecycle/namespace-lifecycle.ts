import type { Closable } from '../../base/disposable.ts';
import { type BackoffPolicy, backoffMs } from '../../base/time/backoff.ts';
import { pause } from '../../base/time/clock.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { conditionsAfter, type NamespaceCondition } from './conditions.ts';
import { type Attempt, emptyNamespace, type Remainder } from './empty-namespace.ts';

interface Namespace extends ApiObject {
  spec: { finalizers?: string[] };
  status?: { conditions?: NamespaceCondition[] };
}

const parallel = 10;
/** Pauses between attempts while objects remain. They matter only if the watches, which end them early, fail. */
const pauses: BackoffPolicy = { firstMs: 500, maxMs: 15_000 };

/** Delay from the first observed deletion to the next attempt, in milliseconds. */
const settleMs = 50;

/**
 * Deletes the content of terminating namespaces, then removes their finalizer (spec section 3.2). Obstacles are
 * reported in the namespace's conditions.
 */
export const startNamespaceLifecycle = (context: ControllerContext): Closable => new NamespaceLifecycle(context);

class NamespaceLifecycle implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  /** By namespace: number of attempts so far, and the controller that stops the watches of the remaining objects. */
  readonly #waiting = new Map<string, { readonly attempts: number; readonly stop: AbortController }>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'namespace', parallel, work: (name) => this.#work(name) }),
    );
    this.#held.add(
      new Informer({
        ...context,
        path: resourcePath({ resource: 'namespaces' }),
        select: ({ metadata }) => metadata.deletionTimestamp !== undefined,
        changed: (key, terminating) => this.#see(key.slice(1), terminating),
      }),
    );
  }

  #see(name: string, terminating: boolean | undefined): void {
    // The controller's own status updates trigger this event too; a waiting namespace is woken by its watches
    // instead.
    if (terminating && !this.#waiting.has(name)) this.#queue.add(name);
    if (terminating === undefined) this.#forget(name);
  }

  #forget(name: string): void {
    this.#waiting.get(name)?.stop.abort(new Error('the namespace is gone'));
    this.#waiting.delete(name);
  }

  async #work(name: string): Promise<void> {
    try {
      await this.#attempt(name);
    } catch (error) {
      if (this.#held.signal.aborted) return;
      if (!hasReason(error, 'NotFound')) throw error;
      this.#forget(name);
    }
  }

  async #attempt(name: string): Promise<void> {
    const { client, clock, dialect } = this.#context;
    const path = resourcePath({ resource: 'namespaces', name });
    const namespace = await client.get<Namespace>(path, this.#held.signal);
    const finalizers = namespace.spec.finalizers ?? [];
    if (namespace.metadata.deletionTimestamp === undefined || !finalizers.includes(dialect.name)) {
      return this.#forget(name);
    }
    const attempt = await emptyNamespace(name, { client, clock, dialect, signal: this.#held.signal });
    const latest = await this.#report(path, namespace, attempt);
    if (!attempt.empty) return this.#wait(name, attempt);
    const others = finalizers.filter((other) => other !== dialect.name);
    await client.update(`${path}/finalize`, { ...latest, spec: { finalizers: others } }, this.#held.signal);
    this.#forget(name);
  }

  /**
   * Writes the conditions. Returns the updated namespace, or the given one if there is no room for them: neither a
   * full disk nor an object of maximum size may block the deletion.
   */
  async #report(path: string, namespace: Namespace, { findings }: Attempt): Promise<Namespace> {
    const { client, clock, logger } = this.#context;
    const conditions = conditionsAfter(namespace.status?.conditions ?? [], findings, clock.now());
    if (!conditions) return namespace;
    const changed = { ...namespace, status: { ...namespace.status, conditions } };
    try {
      return await client.update<Namespace>(`${path}/status`, changed, this.#held.signal);
    } catch (error) {
      if (!hasReason(error, 'ServiceUnavailable', 'RequestEntityTooLarge')) throw error;
      logger.debug('the status of a namespace could not be written', { namespace: namespace.metadata.name, error });
      return namespace;
    }
  }

  /** Waits until a remaining object is deleted, at most for an increasing pause. */
  #wait(name: string, { remainders, findings }: Attempt): void {
    const before = this.#waiting.get(name);
    before?.stop.abort(new Error('another attempt was made'));
    const attempts = (before?.attempts ?? 0) + 1;
    const stop = new AbortController();
    this.#waiting.set(name, { attempts, stop });
    for (const each of remainders) void this.#watch(name, each, AbortSignal.any([stop.signal, this.#held.signal]));
    const pauseMs = backoffMs(pauses, attempts, this.#context.random);
    this.#queue.addAfter(name, pauseMs);
    const { logger } = this.#context;
    logger.debug('a namespace is not empty yet', { namespace: name, pauseMs, failures: findings.deletionFailures });
  }

  async #watch(name: string, { path, resourceVersion }: Remainder, signal: AbortSignal): Promise<void> {
    try {
      for await (const { type } of this.#context.client.watch(`${path}?watch=true&resourceVersion=${resourceVersion}`, {
        signal,
      })) {
        if (type !== 'DELETED') continue;
        // Deletions usually come in bursts.
        await pause(this.#context.clock, settleMs, signal);
        if (!signal.aborted) this.#queue.add(name);
        return;
      }
    } catch {
      // The pause ends the wait anyway.
    }
  }

  close(): void {
    this.#held.close();
  }
}
