import { limits } from '../base/limits.ts';
import type { CacheEntry, CacheEvent, Watcher, WatchSink } from '../cache/cache.ts';

interface Converting {
  /** The entry in the watch's version, if nobody has to be asked. */
  readonly known: (entry: CacheEntry) => CacheEntry | undefined;
  /** At most `limits.conversionObjectsMax` entries, in their order. */
  readonly convert: (entries: readonly CacheEntry[]) => Promise<readonly CacheEntry[]>;
  readonly ended: () => void;
}

/**
 * Converts the events of a watch on their way to its sink, in their order. Events whose conversion must be waited for are
 * asked for in batches, one batch at a time; meanwhile the watch is paused once a batch is full, and other watches go on.
 * A conversion that fails ends the watch.
 */
export class ConvertingSink implements WatchSink {
  readonly #sink: WatchSink;
  readonly #converting: Converting;
  #watcher: Watcher | undefined;
  /** Events that were not passed on yet. */
  #waiting: CacheEvent[] = [];
  #busy = false;
  /** Set while the watch delivers nothing. */
  #paused = false;
  /** Set while the sink accepts nothing. */
  #full = false;
  #ended = false;

  constructor(sink: WatchSink, converting: Converting) {
    this.#sink = sink;
    this.#converting = converting;
  }

  get preparing(): boolean {
    return this.#busy || this.#sink.preparing === true;
  }

  event(event: CacheEvent): boolean {
    if (this.#waiting.length === 0 && !this.#full) {
      const entry = this.#converting.known(event.entry);
      if (entry) return this.#sink.event({ ...event, entry });
    }
    this.#waiting.push(event);
    if (!this.#full) this.#convertWaiting();
    this.#paused = this.#full || this.#waiting.length >= limits.conversionObjectsMax;
    return !this.#paused;
  }

  closed(reason: Parameters<WatchSink['closed']>[0]): void {
    if (this.#ended) return;
    this.#end();
    this.#sink.closed(reason);
  }

  /** The watcher for the owner of the sink. */
  follow(watcher: Watcher): Watcher {
    this.#watcher = watcher;
    const revision = (): number => {
      const [next] = this.#waiting;
      return next ? Math.min(next.revision - 1, watcher.revision) : watcher.revision;
    };
    return {
      get revision() {
        return revision();
      },
      resume: () => this.#resume(),
      close: () => {
        this.#end();
        watcher.close();
      },
    };
  }

  /** Ends the watch cleanly. */
  end(): void {
    if (this.#ended) return;
    this.#end();
    this.#watcher?.close();
    this.#sink.closed('closed');
  }

  #end(): void {
    this.#ended = true;
    this.#waiting = [];
    this.#converting.ended();
  }

  #resume(): void {
    this.#full = false;
    if (this.#waiting.length > 0) this.#convertWaiting();
    else {
      this.#paused = false;
      this.#watcher?.resume();
    }
  }

  #convertWaiting(): void {
    if (this.#busy) return;
    this.#busy = true;
    // Begins in a later step, so that events which come together are one question.
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0 && !this.#full) {
        const batch = this.#nextBatch();
        const entries = await this.#converting.convert(batch.map(({ entry }) => entry));
        if (this.#ended) return;
        this.#pass(batch, entries);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#busy = false;
    }
    if (this.#ended || this.#full || !this.#paused) return;
    this.#paused = false;
    this.#watcher?.resume();
  }

  #nextBatch(): readonly CacheEvent[] {
    const batch: CacheEvent[] = [];
    let bytes = 0;
    for (const event of this.#waiting) {
      if (batch.length === limits.conversionObjectsMax || bytes >= limits.conversionBytesMax) break;
      batch.push(event);
      bytes += event.entry.end - event.entry.start;
    }
    return batch;
  }

  /** Those that the sink does not accept any more are converted again, which the memo answers. */
  #pass(batch: readonly CacheEvent[], entries: readonly CacheEntry[]): void {
    for (const [index, event] of batch.entries()) {
      this.#waiting.shift();
      this.#full = !this.#sink.event({ ...event, entry: entries[index] as CacheEntry });
      if (this.#ended || this.#full) return;
    }
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#end();
    this.#watcher?.close();
    if (this.#sink.failed) this.#sink.failed(error);
    else this.#sink.closed('closed');
  }
}
