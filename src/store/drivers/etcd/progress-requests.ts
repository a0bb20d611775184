import type { Clock } from '../../../base/clock.ts';
import type { Closable } from '../../../base/disposable.ts';
import type { Revision } from '../../store.ts';
import { backoffMs } from './backoff.ts';

interface ProgressRequestsOptions {
  readonly clock: Clock;
  /** Where the feed stands, and whether it waits for etcd; a feed whose reader is busy is behind for that reason. */
  readonly state: () => { readonly revision: Revision; readonly waiting: boolean };
  /** Asks etcd to tell the feed its progress. Does not throw. */
  readonly request: () => void;
}

/**
 * Decides when a feed asks etcd for its progress: when the head is known to have moved beyond the feed, and the feed has
 * not followed after a moment although it is waiting. That is so when the head moved by writes outside the store's
 * prefix. Asks again, at growing intervals, until the feed is there. An idle feed on an idle etcd asks nothing.
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
    this.#timer = this.#options.clock.after(backoffMs(this.#repeats + 1), () => {
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
