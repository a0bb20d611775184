import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';
import { type Revision, type Store, StoreError } from '../store/store.ts';

/** Callers that wait for the cache to reach a revision. */
export class RevisionWaiters {
  readonly #clock: Clock;
  readonly #waiting = new Set<{ readonly revision: Revision; finish(reached: boolean): void }>();
  #revision: Revision = 0;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  advance(revision: Revision): void {
    this.#revision = revision;
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.finish(true);
  }

  /** Resolves to false after `waitMs`, on abort, and when the cache is closed. */
  wait(revision: Revision, waitMs: number, signal?: AbortSignal): Promise<boolean> {
    if (revision <= this.#revision) return Promise.resolve(true);
    if (this.#closed || waitMs <= 0 || signal?.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      let timer: Closable | undefined;
      const abort = () => waiter.finish(false);
      const waiter = {
        revision,
        finish: (reached: boolean) => {
          this.#waiting.delete(waiter);
          timer?.close();
          signal?.removeEventListener('abort', abort);
          resolve(reached);
        },
      };
      this.#waiting.add(waiter);
      signal?.addEventListener('abort', abort, { once: true });
      timer = this.#clock.after(waitMs, abort);
    });
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiting) waiter.finish(false);
  }
}

/**
 * Reads the store's head revision, shared by concurrent callers. A read that was already in flight may have been answered
 * before a write that the caller knows of, so callers share the read after it.
 */
export class HeadReader {
  readonly #store: Pick<Store, 'head'>;
  #current: Promise<Revision> | undefined;
  #next: Promise<Revision> | undefined;

  constructor(store: Pick<Store, 'head'>) {
    this.#store = store;
  }

  read(): Promise<Revision> {
    if (!this.#current) return this.#start();
    this.#next ??= this.#current.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#next;
  }

  #start(): Promise<Revision> {
    this.#next = undefined;
    const head = this.#store.head();
    this.#current = head;
    const done = () => {
      if (this.#current === head) this.#current = undefined;
    };
    head.then(done, done);
    return head;
  }
}

/** Waits until the cache contains all writes acknowledged before the call. See WatchCache.fresh. */
export async function awaitFresh(heads: HeadReader, waiters: RevisionWaiters, signal?: AbortSignal): Promise<Revision> {
  signal?.throwIfAborted();
  const head = await abortable(heads.read(), signal);
  if (await waiters.wait(head, limits.requestMsMax, signal)) return head;
  signal?.throwIfAborted();
  throw new StoreError('unavailable', `the cache has not reached revision ${head} of the store`, { revision: head });
}

/** Rejects as soon as the signal aborts; the promise's later result is dropped. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
