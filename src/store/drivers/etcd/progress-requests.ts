import { backoffMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Closable } from '../../../base/disposable.ts';
import type { Random } from '../../../base/random.ts';
import type { Revision } from '../../store.ts';
import { etcdRetries } from './etcd-connection.ts';

interface ProgressRequestsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Where the watch stands, and whether it waits for etcd; a watch whose reader is busy is behind for that reason. */
  readonly state: () => { readonly revision: Revision; readonly waiting: boolean };
  /** Asks etcd to tell the watch its progress. Does not throw. */
  readonly request: () => void;
}

/**
 * Decides when a watch asks etcd for its progress: when the head is known to have moved beyond the watch, and the watch has
 * not followed after a moment although it is waiting. That is so when the head moved by writes outside the store's
 * prefix. Asks again, at growing intervals, until the watch is there. An idle watch on an idle etcd asks nothing.
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

  /** The head is at least here. */
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
    this.#timer = clock.after(backoffMs(etcdRetries, this.#repeats + 1, random), () => {
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
      this.#options.request();
    }
  }
}
