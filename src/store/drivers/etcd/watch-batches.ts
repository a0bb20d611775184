import type { Revision } from '../../store.ts';
import type { WatchEvent, WatchResponse } from './etcd-messages.ts';

/** Events of whole revisions, in order; every event up to `revision` is in this batch or an earlier one. */
export interface EventBatch {
  readonly events: readonly WatchEvent[];
  readonly revision: Revision;
}

/**
 * Assembles batches of whole revisions from the messages of one watch stream. etcd splits a long response into
 * messages, of which all but the last are marked `fragment`, and may split within a revision: the events of a
 * fragment's last revision are held back until a later revision begins or the response is complete. With `from` 4:
 *
 *     events 5 5 6, fragment    gives 5 5   up to 5, holds 6
 *     events 6 7, fragment      gives 6 6   up to 6, holds 7
 *     events 7                  gives 7 7   up to 7
 *     no events, header 9       gives       up to 9
 *
 * Events up to `from` or up to a delivered batch are dropped: etcd before 3.4.24 and 3.5.8 can repeat them. So is
 * progress that goes back, which etcd sends to a watch that starts beyond the head.
 */
export class WatchBatches {
  #revision: Revision;
  #held: readonly WatchEvent[] = [];

  constructor(from: Revision) {
    this.#revision = from;
  }

  /** Everything up to this revision was delivered. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Takes the next message; returns the batch that it completes, or undefined if that contains nothing new. */
  take(response: WatchResponse): EventBatch | undefined {
    return response.events.length === 0 ? this.#takeProgress(response) : this.#takeEvents(response);
  }

  /**
   * Only a message without events reports progress: the header of others may be ahead of events that are still to come.
   */
  #takeProgress({ created, header }: WatchResponse): EventBatch | undefined {
    return created || this.#held.length > 0 ? undefined : this.#give([], header.revision);
  }

  #takeEvents({ events, fragment }: WatchResponse): EventBatch | undefined {
    const fresh = events.filter(({ record }) => record.modRevision > this.#revision);
    const all = [...this.#held, ...fresh];
    const last = all.at(-1)?.record.modRevision;
    const isComplete = (event: WatchEvent): boolean => !fragment || event.record.modRevision !== last;
    this.#held = all.filter((event) => !isComplete(event));
    const complete = all.filter(isComplete);
    return this.#give(complete, complete.at(-1)?.record.modRevision ?? this.#revision);
  }

  #give(events: readonly WatchEvent[], revision: Revision): EventBatch | undefined {
    if (revision <= this.#revision) return undefined;
    this.#revision = revision;
    return { events, revision };
  }
}
