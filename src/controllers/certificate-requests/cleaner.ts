import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { parseStored } from '../../codec/json.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { type Due, dueOf } from './request-due.ts';
import { signingRequestPath } from './signing-request.ts';

/**
 * Deletes certificate signing requests that nobody needs any more, as the certificatesigningrequest-cleaner-controller of
 * kube-controller-manager does, but when they are due instead of once an hour: what was denied, failed or issued after an
 * hour, what nobody has decided about after a day, what has an expired certificate at once.
 */
export const startCertificateRequestCleaner = (context: ControllerContext): Closable => new Cleaner(context);

const parallel = 5;

class Cleaner implements Closable {
  readonly #context: ControllerContext;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  readonly #requests: Informer<Due>;
  #timer: Closable = { close() {} };
  #passAtMs = Number.POSITIVE_INFINITY;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#held.add({ close: () => this.#timer.close() });
    this.#queue = this.#held.add(new WorkQueue({ ...context, parallel, work: (key) => this.#delete(key) }));
    const read = new DueReader();
    this.#requests = this.#held.add(
      new Informer({
        ...context,
        path: signingRequestPath(context.dialect),
        // Certificates are read while the list is parsed, which is done in slices.
        readItem: (bytes) => read.prepared(parseStored(bytes) as ApiObject),
        select: (object) => read.due(object),
        changed: (key, due) => {
          if (due) this.#passBy(due.atMs);
          else this.#queue.forget(key);
        },
      }),
    );
    this.#passBy(Number.POSITIVE_INFINITY);
  }

  /** Schedules a pass no later than that, and than `limits.controllerTimerMsMax` from now. */
  #passBy(atMs: number): void {
    const now = this.#context.clock.now();
    const passAtMs = Math.min(atMs, now + limits.controllerTimerMsMax);
    if (passAtMs >= this.#passAtMs) return;
    this.#passAtMs = passAtMs;
    this.#timer.close();
    this.#timer = this.#context.clock.after(Math.max(0, passAtMs - now), () => this.#pass());
  }

  #pass(): void {
    const now = this.#context.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const key of this.#requests.keys()) {
      const atMs = this.#requests.get(key)?.atMs ?? Number.POSITIVE_INFINITY;
      if (atMs <= now) this.#queue.add(key);
      else next = Math.min(next, atMs);
    }
    this.#passAtMs = Number.POSITIVE_INFINITY;
    this.#passBy(next);
  }

  async #delete(key: string): Promise<void> {
    const due = this.#requests.get(key);
    const { client, clock, logger, dialect } = this.#context;
    if (!due || due.atMs > clock.now()) return;
    const { uid, resourceVersion, because } = due;
    const name = key.slice(1);
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid, resourceVersion } };
    try {
      await client.delete(signingRequestPath(dialect, { name }), options, this.#held.signal);
      logger.debug('a certificate request was deleted', { request: name, because });
    } catch (error) {
      // Somebody changed or deleted the request: a watch reports it.
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
    }
  }

  close(): void {
    this.#held.close();
  }
}

/** Reads when requests are due, each once. */
class DueReader {
  readonly #read = new WeakMap<ApiObject, Due>();

  prepared(object: ApiObject): ApiObject {
    this.#read.set(object, dueOf(object));
    return object;
  }

  due(object: ApiObject): Due {
    return this.#read.get(object) ?? dueOf(object);
  }
}
