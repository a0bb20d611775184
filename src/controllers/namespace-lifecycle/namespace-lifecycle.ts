import { type BackoffPolicy, backoffMs } from '../../base/backoff.ts';
import { pause } from '../../base/clock.ts';
import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { conditionsAfter, type NamespaceCondition } from './conditions.ts';
import { type Attempt, emptyNamespace, type Remainder } from './empty-namespace.ts';

interface Namespace extends ApiObject {
  spec: { finalizers?: string[] };
  status?: { conditions?: NamespaceCondition[] };
}

const parallel = 10;
/**
 * Pauses between attempts while content waits for others. A watch of what is left ends a pause early, so that they matter
 * only where that fails.
 */
const pauses: BackoffPolicy = { firstMs: 500, maxMs: 15_000 };

/** From the first object that went to the next attempt, in milliseconds. */
const settleMs = 50;

/**
 * Deletes the content of namespaces that are being deleted, then lets them go (spec section 3.2). What is in the way
 * stands in the namespace's status.
 */
export const startNamespaceLifecycle = (context: ControllerContext): Closable => new NamespaceLifecycle(context);

class NamespaceLifecycle implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ClosableStack();
  readonly #stop = new AbortController();
  readonly #queue: WorkQueue<string>;
  /** By namespace: how often it was not empty yet, and what ends the watches of what was left. */
  readonly #waiting = new Map<string, { readonly attempts: number; readonly stop: AbortController }>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#held.add({ close: () => this.#stop.abort(new Error('the controller was stopped')) });
    this.#queue = this.#held.add(new WorkQueue({ ...context, parallel, work: (name) => this.#work(name) }));
    this.#held.add(
      new Informer({
        ...context,
        path: '/api/v1/namespaces',
        select: ({ metadata }) => metadata.deletionTimestamp !== undefined,
        changed: (key, terminating) => this.#see(key.slice(1), terminating),
      }),
    );
  }

  #see(name: string, terminating: boolean | undefined): void {
    // Our own changes of the status come back here: whoever waits already is woken by what it waits for.
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
      if (this.#stop.signal.aborted) return;
      if (!hasReason(error, 'NotFound')) throw error;
      this.#forget(name);
    }
  }

  async #attempt(name: string): Promise<void> {
    const { client, clock, dialect } = this.#context;
    const path = `/api/v1/namespaces/${encodeURIComponent(name)}`;
    const namespace = await client.get<Namespace>(path, this.#stop.signal);
    const finalizers = namespace.spec.finalizers ?? [];
    if (namespace.metadata.deletionTimestamp === undefined || !finalizers.includes(dialect.name)) {
      return this.#forget(name);
    }
    const attempt = await emptyNamespace(name, { client, clock, signal: this.#stop.signal });
    const latest = await this.#report(path, namespace, attempt);
    if (!attempt.empty) return this.#wait(name, attempt);
    const others = finalizers.filter((other) => other !== dialect.name);
    await client.update(`${path}/finalize`, { ...latest, spec: { finalizers: others } }, this.#stop.signal);
    this.#forget(name);
  }

  /**
   * Gives the namespace with its conditions as they are now, or as it was where there is no room for them: neither a full
   * disk nor an object that is as large as it may be keeps a namespace from going.
   */
  async #report(path: string, namespace: Namespace, { findings }: Attempt): Promise<Namespace> {
    const { client, clock, logger } = this.#context;
    const conditions = conditionsAfter(namespace.status?.conditions ?? [], findings, clock.now());
    if (!conditions) return namespace;
    const changed = { ...namespace, status: { ...namespace.status, conditions } };
    try {
      return await client.update<Namespace>(`${path}/status`, changed, this.#stop.signal);
    } catch (error) {
      if (!hasReason(error, 'ServiceUnavailable') && !hasReason(error, 'RequestEntityTooLarge')) throw error;
      logger.debug('the status of a namespace could not be written', { namespace: namespace.metadata.name, error });
      return namespace;
    }
  }

  /** Until something of what is left has gone; at most for a pause, which grows. */
  #wait(name: string, { remainders, findings }: Attempt): void {
    const before = this.#waiting.get(name);
    before?.stop.abort(new Error('another attempt was made'));
    const attempts = (before?.attempts ?? 0) + 1;
    const stop = new AbortController();
    this.#waiting.set(name, { attempts, stop });
    for (const each of remainders) void this.#watch(name, each, AbortSignal.any([stop.signal, this.#stop.signal]));
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
        // What goes seldom goes alone.
        await pause(this.#context.clock, settleMs, signal);
        if (!signal.aborted) this.#queue.add(name);
        return;
      }
    } catch {
      // The pause ends the wait all the same.
    }
  }

  close(): void {
    this.#held.close();
  }
}
