import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Random } from '../../../base/random.ts';
import { type BackoffPolicy, backoffMs } from '../../../base/time/backoff.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Revision } from '../../store.ts';

interface ProgressRequestsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The position of the watch, and whether it is waiting for etcd; if its reader is busy, that is why it is behind. */
  readonly state: () => { readonly revision: Revision; readonly waiting: boolean };
  /** Requests progress from etcd for the watch; `repeats` times since it was last up to date. Does not throw. */
  readonly request: (repeats: number) => void;
}

/**
 * Decides when a watch requests progress from etcd: when the head is known to be beyond the watch and the watch,
 * although waiting, has not caught up after a short delay. That happens if writes outside the store's prefix advanced
 * the head. Repeats the request with back-off until the watch has caught up. An idle watch on an idle etcd requests
 * nothing.
 */
export class ProgressRequests implements Closable {
  readonly #options: ProgressRequestsOptions;
  #head: Revision = 0;
  #repeats = 0;
  #timer: Closable | undefined;
  #closed = false;

  constructor(options: ProgressRequestsOptions) {
    this.#options = options;
  }

  /** The head is at least `head`. */
  headMoved(head: Revision): void {
    if (head <= this.#head) return;
    this.#head = head;
    if (this.#timer === undefined) this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.close();
  }

  #arm(): void {
    if (this.#closed || this.#options.state().revision >= this.#head) return;
    const target = this.#head;
    const { clock, random } = this.#options;
    this.#timer = clock.after(backoffMs(repetition, this.#repeats + 1, random), () => {
      this.#timer = undefined;
      this.#check(target);
      this.#arm();
    });
  }

  #check(target: Revision): void {
    const { revision, waiting } = this.#options.state();
    if (revision >= target) {
      this.#repeats = 0;
    } else if (waiting) {
      this.#repeats++;
      this.#options.request(this.#repeats);
    }
  }
}

const repetition: BackoffPolicy = { firstMs: 50, maxMs: limits.etcdProgressMsMax };
