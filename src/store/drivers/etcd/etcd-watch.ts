import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Random } from '../../../base/random.ts';
import { Backoff } from '../../../base/time/backoff.ts';
import { type Clock, pauseAlive } from '../../../base/time/clock.ts';
import { type Change, type ChangeBatch, type Revision, StoreError, type StoreRecord } from '../../store.ts';
import { type EtcdConnection, etcdRetries } from './etcd-connection.ts';
import { isOutOfSpace, isServiceError, isTransient, reasonOf, toStoreError } from './etcd-errors.ts';
import { allOfEtcd, type EtcdKeys } from './etcd-keys.ts';
import { type KeyValue, putMethod, type WatchEvent, type WatchResponse } from './etcd-messages.ts';
import type { WatchConnection } from './member-connection.ts';
import type { PassedOverKeys } from './passed-over-keys.ts';
import { ProgressRequests } from './progress-requests.ts';
import { answersProgressRequests } from './server-version.ts';
import { type EventBatch, WatchBatches } from './watch-batches.ts';
import { withoutWriteId } from './write-id.ts';

/** What a watch reads from its store besides the watch stream. */
interface WatchSource {
  head(): Promise<Revision>;
  get(key: string, at: Revision): Promise<StoreRecord | undefined>;
  /** Throws `compacted` if history does not reach back to `revision`. */
  assertKept(revision: Revision): Promise<void>;
}

interface EtcdWatchOptions {
  readonly connection: EtcdConnection;
  readonly keys: EtcdKeys;
  readonly passedOver: PassedOverKeys;
  readonly source: WatchSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly from: Revision;
  readonly signal: AbortSignal;
}

/**
 * The change stream of an etcd store: a watch on etcd, reopened at its current position when it breaks.
 *
 * Gaps in etcd's guarantees, and how the watch closes them:
 * - An event lacks its previous value if that was compacted before etcd sent the event. The watch reads it at the
 *   revision before the event; if that is compacted too, the watch ends with `compacted`, and its reader relists.
 * - etcd accepts a watch from the revision of the last compaction, although before 3.4.36 and 3.5.18 a deletion at that
 *   very revision is lost; before 3.4.31 and 3.5.13 a watch that falls behind a compaction can silently skip events.
 *   While it catches up, at its start and after its reader was slow, the watch therefore verifies before each batch
 *   that history still reaches back to its position.
 * - The response to a progress request can overtake events before 3.4.25 and 3.5.8, and can be missing before 3.4.31
 *   and 3.5.13. With those servers the watch writes its marker key instead and takes that event for the progress.
 * - A full etcd refuses that write. The watch then follows all of etcd, whose every revision has an event, and ignores
 *   the keys of others, until the marker can be written again.
 */
export class EtcdWatch {
  readonly #options: EtcdWatchOptions;
  /** Aborted when the reader stops or the store closes. */
  readonly #stopped: AbortSignal;
  /** Everything up to this revision was delivered to the reader. */
  #position: Revision;
  /** The watch is catching up until it reaches this revision. */
  #catchUpTo: Revision = 0;
  #progress: ProgressRequests | undefined;
  #brokenSince: number | undefined;
  /** `all`: the marker cannot be written; see the class comment. */
  #extent: 'prefix' | 'all' = 'prefix';
  /** etcd does not let this client watch all of it. */
  #isConfined = false;
  readonly #backoff: Backoff;

  constructor(options: EtcdWatchOptions) {
    this.#options = options;
    this.#backoff = new Backoff(etcdRetries, options.random);
    this.#position = options.from;
    this.#stopped = AbortSignal.any([options.signal, options.connection.ended]);
  }

  /** The head is at least `head`; the watch makes sure that it receives progress up to it. */
  headMoved(head: Revision): void {
    this.#progress?.headMoved(head);
  }

  async *batches(): AsyncGenerator<ChangeBatch, void> {
    const { connection, clock, signal } = this.#options;
    while (!this.#stopped.aborted) {
      const watch = connection.openWatch();
      try {
        yield* this.#follow(watch);
      } catch (error) {
        if (this.#stopped.aborted) break;
        this.#retryOrThrow(error, watch.endpoint);
      }
      await pauseAlive(clock, this.#backoff.next(), this.#stopped);
    }
    if (!signal.aborted) throw new StoreError('unavailable', 'the store is closed');
  }

  /** Throws errors that the reader must handle; returns if the watch may retry. */
  #retryOrThrow(error: unknown, endpoint: string): void {
    const { clock, connection, logger } = this.#options;
    if (!isServiceError(error)) throw error;
    this.#brokenSince ??= clock.monotonic();
    const brokenMs = clock.monotonic() - this.#brokenSince;
    if (!isTransient(error) || brokenMs > limits.etcdWatchBrokenMsMax) throw toStoreError(error, endpoint);
    logger.debug('etcd watch broke, reconnecting', { endpoint, reason: reasonOf(error), revision: this.#position });
    connection.noteBrokenWatch(endpoint, error);
  }

  /** Batches of one watch stream, until it breaks, its extent changes, or the watch is stopped. */
  async *#follow(watch: WatchConnection): AsyncGenerator<ChangeBatch, void> {
    const { clock, keys } = this.#options;
    const batches = new WatchBatches(this.#position);
    const extent = this.#extent;
    let waiting = true;
    const progress = new ProgressRequests({
      clock,
      random: this.#options.random,
      state: () => ({ revision: batches.revision, waiting }),
      request: this.#progressRequester(watch),
    });
    this.#progress = progress;
    const poll = this.#pollHead(watch);
    const stop = () => watch.close();
    this.#stopped.addEventListener('abort', stop, { once: true });
    try {
      const range = extent === 'all' ? allOfEtcd : keys.watched;
      watch.call.write({ type: 'create', ...range, startRevision: this.#position + 1 });
      const responses: AsyncIterable<WatchResponse> = watch.call;
      for await (const response of responses) {
        if (this.#stopped.aborted) return;
        waiting = false;
        await this.#checkStatus(response, watch.endpoint);
        const batch = batches.take(response);
        if (batch) {
          const sentAt = clock.monotonic();
          yield await this.#toChangeBatch(batch);
          if (clock.monotonic() - sentAt > limits.etcdSlowReaderMs) await this.#noteSlowReader();
        }
        waiting = true;
      }
    } catch (error) {
      if (extent === this.#extent) throw error;
    } finally {
      this.#stopped.removeEventListener('abort', stop);
      progress.close();
      poll.close();
      watch.close();
    }
  }

  /** A client of etcd may be allowed its prefix only. */
  #noteCancelled(reason: string): void {
    if (this.#extent === 'prefix' || !reason.includes('permission denied')) return;
    this.#isConfined = true;
    this.#extent = 'prefix';
  }

  /** Handles the responses that report creation or cancellation of the watch. */
  async #checkStatus(response: WatchResponse, endpoint: string): Promise<void> {
    if (response.compactRevision > 0) {
      const message = `etcd has compacted its history before revision ${response.compactRevision}`;
      throw new StoreError('compacted', message, { revision: response.compactRevision });
    }
    if (response.canceled) {
      this.#noteCancelled(response.cancelReason);
      throw new StoreError('unavailable', `etcd at ${endpoint} ended the watch: ${response.cancelReason}`);
    }
    if (!response.created) return;
    this.#brokenSince = undefined;
    if (response.header.revision <= this.#position) return;
    this.#catchUpTo = response.header.revision;
    this.headMoved(response.header.revision);
    await this.#options.source.assertKept(this.#position);
  }

  async #toChangeBatch({ events, revision }: EventBatch): Promise<ChangeBatch> {
    const changes: Change[] = [];
    for (const event of events) {
      const change = await this.#toChange(event);
      if (change) changes.push(change);
    }
    if (this.#position < this.#catchUpTo) await this.#options.source.assertKept(this.#position);
    this.#position = revision;
    this.#backoff.reset();
    return { changes, revision };
  }

  /** Undefined for the marker, the keys of others, and keys that no store writes. Their revision is delivered nevertheless. */
  async #toChange({ type, record, previous }: WatchEvent): Promise<Change | undefined> {
    const { keys, passedOver } = this.#options;
    if (!keys.isWatched(record.key) || keys.isMarker(record.key)) return undefined;
    const key = keys.fromEtcd(record.key);
    if (key === undefined) {
      passedOver.note(record.key);
      return undefined;
    }
    const { modRevision: revision } = record;
    const value = withoutWriteId(record.value);
    if (type === 'put' && record.createRevision === revision) return { type: 'create', key, revision, value };
    const before = await this.#previous(key, revision, previous);
    return type === 'put'
      ? { type: 'update', key, revision, value, previous: before }
      : { type: 'delete', key, revision, previous: before };
  }

  async #previous(key: string, revision: Revision, sent: KeyValue | undefined): Promise<StoreRecord> {
    if (sent) return { key, value: withoutWriteId(sent.value), revision: sent.modRevision };
    const read = await this.#options.source.get(key, revision - 1);
    if (read) return read;
    throw new StoreError('corrupt', `etcd has no value of ${key} before its change at ${revision}`, { key, revision });
  }

  async #noteSlowReader(): Promise<void> {
    this.#catchUpTo = Math.max(this.#catchUpTo, await this.#options.source.head());
  }

  #progressRequester(watch: WatchConnection): (repeats: number) => void {
    const { logger } = this.#options;
    let answers: Promise<boolean> | undefined;
    const request = async (repeats: number) => {
      if (repeats >= silentRequests) watch.check();
      answers ??= watch.version().then(answersProgressRequests);
      if (await answers) watch.call.write({ type: 'progress' });
      else if (this.#extent === 'prefix') await this.#writeMarker(watch);
    };
    return (repeats) => {
      // Nothing is lost without progress; it will be requested again.
      request(repeats).catch((error: unknown) => logger.debug('etcd progress request failed', { error }));
    };
  }

  /** Its event is the progress. Whether it can be written decides what to watch. */
  async #writeMarker(watch: WatchConnection): Promise<void> {
    const { connection, keys } = this.#options;
    try {
      await connection.write(putMethod, { key: keys.marker, value: new Uint8Array(0) });
      this.#watchInstead('prefix', watch);
    } catch (error) {
      if (error instanceof StoreError && isOutOfSpace(error.cause)) this.#watchInstead('all', watch);
      throw error;
    }
  }

  #watchInstead(extent: 'prefix' | 'all', watch: WatchConnection): void {
    if (extent === this.#extent || (extent === 'all' && this.#isConfined)) return;
    this.#extent = extent;
    watch.close();
  }

  /** Detects a head advanced by other writers while nothing else reads it, and an etcd that is no longer full. */
  #pollHead(watch: WatchConnection): Closable {
    const { clock, source } = this.#options;
    let closed = false;
    let timer: Closable;
    const poll = async () => {
      // The watch itself reports the failure, and the head is polled again.
      await source.head().catch(() => undefined);
      // Refused for as long as etcd is full.
      if (!closed && this.#extent === 'all') await this.#writeMarker(watch).catch(() => undefined);
      if (!closed) timer = clock.after(limits.etcdHeadPollMs, poll);
    };
    timer = clock.after(limits.etcdHeadPollMs, poll);
    return {
      close: () => {
        closed = true;
        timer.close();
      },
    };
  }
}

/** Requests for progress without an answer, about half a second's: the member may be frozen. */
const silentRequests = 3;
