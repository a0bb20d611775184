import { type ByteSpan, spanOf } from '../../base/collections/byte-span.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry, CacheEvent, Watcher, WatchSink } from '../../cache/cache.ts';
import type { WatchEncoding } from '../../content/watch-encoding.ts';
import type { BodyWriter, Exchange } from '../../http/exchange.ts';
import type { Chunk } from '../../http/gather.ts';
import { expired, internalError, StatusError, serviceUnavailable } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';
import type { EventRun } from './event-run.ts';
import { LargeFrames, type MadeFrame } from './large-frames.ts';
import type { WatchCounts } from './observe/watch-metrics.ts';
import { type OutboxQueue, type Pending, WatchOutbox } from './watch-outbox.ts';

/** The contents of a watch (spec sections 4.4 and 6). */
export interface WatchSource {
  /** Objects sent as ADDED before all other events. */
  readonly initial: Iterable<CacheEntry>;
  /** Revision of `initial`; events follow after it. */
  readonly revision: Revision;
  /** Send BOOKMARK events. */
  readonly bookmarks: boolean;
  /** Mark the end of `initial` with a bookmark (`sendInitialEvents`). */
  readonly initialEventsEnd: boolean;
  /** The watch ends cleanly after this time. */
  readonly timeoutMs: number;
  /** The current revision of the server. A watch may start at a future revision, which no bookmark must report. */
  reached(): Revision;
  /** Opens the watch. May throw a StatusError. */
  start(sink: WatchSink): Watcher;
}

/** Encoding and counters of a watch response. */
interface WatchAnswer {
  readonly encoding: WatchEncoding;
  readonly counts: WatchCounts;
  /** On whose behalf initial events are sent: owners take turns. */
  readonly owner?: unknown;
  /** Called when all initial events and the bookmark that marks their end are on their way. */
  readonly initialEnded?: () => void;
}

/** Precision of timeouts and bookmarks: all watches share one timer. */
const tickMs = 250;

/** All open watch responses. */
export class WatchStreams implements Closable {
  readonly #clock: Clock;
  readonly logger: Logger;
  readonly bufferBytesMax: number;
  readonly outbox: WatchOutbox;
  readonly largeFrames: LargeFrames;
  readonly #open = new Set<WatchStream>();
  #tick: Closable | undefined;
  #closed = false;

  constructor(options: { readonly clock: Clock; readonly logger: Logger; readonly bufferBytesMax?: number }) {
    this.#clock = options.clock;
    this.logger = options.logger;
    this.bufferBytesMax = options.bufferBytesMax ?? limits.watcherBufferBytesMax;
    this.outbox = new WatchOutbox(options.clock);
    this.largeFrames = new LargeFrames(options.clock);
  }

  /** Number of open watches. */
  get open(): number {
    return this.#open.size;
  }

  /** Resolves when watches can take more events; undefined if they can now. */
  get busy(): Promise<void> | undefined {
    return this.outbox.busy;
  }

  /**
   * Answers an exchange with a watch. Throws, with nothing sent, if the watch cannot be opened; a later failure is sent
   * as an ERROR event with a Status, after which the stream ends.
   */
  serve(exchange: Exchange, source: WatchSource, answer: WatchAnswer): void {
    if (this.#closed) {
      throw serviceUnavailable('the server is shutting down');
    }
    const stream = new WatchStream(this, source, answer, this.#clock.monotonic());
    stream.open(exchange);
    this.#open.add(stream);
    exchange.onEnd(() => {
      this.#open.delete(stream);
      stream.stop();
    });
    this.#tick ??= this.#clock.after(tickMs, () => this.#sweep());
  }

  /** A time slice for work that must yield to other requests. */
  slice(owner: unknown): TimeSlice {
    return new TimeSlice(this.#clock, { owner });
  }

  #sweep(): void {
    const now = this.#clock.monotonic();
    for (const stream of this.#open) stream.tick(now);
    this.#tick = this.#open.size > 0 ? this.#clock.after(tickMs, () => this.#sweep()) : undefined;
  }

  /** Ends every watch cleanly. */
  close(): void {
    this.#closed = true;
    this.#tick?.close();
    this.#tick = undefined;
    for (const stream of this.#open) stream.end();
  }
}

/** Cursor over the initial objects. */
interface InitialCursor {
  /** The next object; undefined at the end. */
  entry: CacheEntry | undefined;
  isLarge: boolean;
}

/** One watch response. */
class WatchStream implements WatchSink, Pending {
  readonly #all: WatchStreams;
  readonly #source: WatchSource;
  readonly #encoding: WatchEncoding;
  readonly #counts: WatchCounts;
  readonly #owner: unknown;
  readonly #initialEnded: (() => void) | undefined;
  #auditId: string | undefined;
  readonly #endsAt: number;
  #bookmarkAt: number;
  #writer: BodyWriter | undefined;
  /** The queue of its connection in the outbox. */
  #queue: OutboxQueue | undefined;
  /** Set while live events flow: after the initial ones, until the end. */
  #watcher: Watcher | undefined;
  #ended = false;
  /** End the response once all output is written. */
  #ending = false;
  #first = true;
  /** Frames to be written together. */
  #pending: EventRun | undefined;
  /** Bytes buffered by the connection when `#pending` began; it can only have shrunk since. */
  #buffered = 0;
  /** Set if the watcher was paused. */
  #full = false;
  /** Set while waiting for the frame of a large object; no other event is sent then. */
  #large: Closable | undefined;

  constructor(all: WatchStreams, source: WatchSource, answer: WatchAnswer, now: number) {
    const { encoding, counts, owner, initialEnded } = answer;
    this.#all = all;
    this.#source = source;
    this.#encoding = encoding;
    this.#counts = counts;
    this.#owner = owner;
    this.#initialEnded = initialEnded;
    this.#endsAt = now + source.timeoutMs;
    this.#bookmarkAt = now + limits.bookmarkMs;
  }

  open(exchange: Exchange): void {
    this.#auditId = exchange.auditId;
    const initial = this.#source.initial[Symbol.iterator]();
    const first = initial.next();
    // Without initial events, opens the watch before the response starts, so that a failure has its own HTTP status.
    if (first.done) this.#watcher = this.#source.start(this);
    const writer = this.#start(exchange);
    this.#writer = writer;
    this.#queue = this.#all.outbox.queueFor(writer);
    // Events, or the end, that arrived before the response started.
    if (this.#pending || this.#ending) this.#all.outbox.add(this.#queue, this);
    if (first.done) this.#endInitial();
    else void this.#sendInitial(writer, first.value, initial);
  }

  #start(exchange: Exchange): BodyWriter {
    const { webSocket, contentType } = this.#encoding;
    try {
      if (webSocket) return webSocket.request.accept(webSocket.protocol);
      return exchange.stream(200, { 'content-type': contentType });
    } catch (error) {
      this.stop();
      throw error;
    }
  }

  async #sendInitial(writer: BodyWriter, first: CacheEntry, rest: Iterator<CacheEntry>): Promise<void> {
    try {
      const slice = this.#all.slice(this.#owner);
      if (slice.over) await slice.next();
      for (const made of this.#initialChunks(first, rest, slice)) {
        const chunk = made instanceof Promise ? await made : made;
        if (this.#ended) return;
        if (!writer.write(chunk.bytes, chunk.sent)) await writer.drained();
        if (slice.over) await slice.next();
        if (this.#ended) return;
      }
      this.#watcher = this.#source.start(this);
      this.#endInitial();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Frames of the initial objects; those of large objects are promises. */
  *#initialChunks(
    first: CacheEntry,
    rest: Iterator<CacheEntry>,
    slice: TimeSlice,
  ): Generator<Chunk | Promise<Chunk>, void> {
    const next = (): CacheEntry | undefined => {
      const { value, done } = rest.next();
      return done ? undefined : value;
    };
    const { framing, elsewhere } = this.#encoding;
    const isLarge = (entry: CacheEntry): boolean => elsewhere?.takes(entry) ?? false;
    const cursor: InitialCursor = { entry: first, isLarge: isLarge(first) };
    try {
      while (cursor.entry) {
        if (!cursor.isLarge) {
          yield* framing.added(this.#objects(cursor, next, isLarge), slice);
          continue;
        }
        const { entry } = cursor;
        yield this.#largeChunk(entry);
        cursor.entry = next();
        cursor.isLarge = cursor.entry !== undefined && isLarge(cursor.entry);
      }
    } finally {
      rest.return?.();
    }
  }

  /** The objects up to the next large one. */
  *#objects(
    cursor: InitialCursor,
    next: () => CacheEntry | undefined,
    isLarge: (entry: CacheEntry) => boolean,
  ): Generator<ByteSpan, void> {
    while (cursor.entry && !cursor.isLarge) {
      yield this.#span(cursor.entry);
      cursor.entry = next();
      cursor.isLarge = cursor.entry !== undefined && isLarge(cursor.entry);
    }
  }

  async #largeChunk(entry: CacheEntry): Promise<Chunk> {
    const { promise, resolve } = Promise.withResolvers<MadeFrame>();
    this.#awaitFrame('ADDED', entry, { source: entry, take: resolve });
    const made = await promise;
    if ('error' in made) throw made.error;
    this.#counts.sent(made.frame.length);
    return { bytes: made.frame };
  }

  #span(entry: CacheEntry): ByteSpan {
    const bytes = this.#encoding.object(entry, this.#first);
    this.#first = false;
    this.#counts.sent(bytes.length);
    return spanOf(bytes);
  }

  #endInitial(): void {
    if (this.#ended || !this.#source.initialEventsEnd) return;
    this.#send(this.#bookmark(this.#source.revision, true));
    this.#initialEnded?.();
  }

  get preparing(): boolean {
    return this.#large !== undefined;
  }

  event(event: CacheEvent): boolean {
    if (this.#ended) return true;
    const frame = this.#frame(event);
    if (frame) return this.#sendEvent(frame);
    this.#awaitEvent(event);
    return false;
  }

  /** Returns false if the watcher should pause. */
  #sendEvent(frame: Uint8Array): boolean {
    const unwritten = this.#send(frame);
    const { bufferBytesMax, outbox } = this.#all;
    if (unwritten * 2 >= bufferBytesMax) outbox.crowd();
    this.#full = this.#buffered + unwritten >= bufferBytesMax;
    return !this.#full;
  }

  closed(reason: Parameters<WatchSink['closed']>[0]): void {
    if (this.#ended) return;
    if (reason === 'compacted') {
      this.#sendError(expired('The resourceVersion for the provided watch is too old.'));
    } else if (reason === 'beyond') {
      this.#sendError(expired('The resourceVersion for the provided watch is none of this data: list again.'));
    }
    this.end();
  }

  failed(error: unknown): void {
    this.#fail(error);
  }

  /** The frame of an event, encoded once for all watches with the same encoding; undefined if it must be waited for. */
  #frame({ type, entry, encodings }: CacheEvent): Uint8Array | undefined {
    const { framing, name, elsewhere } = this.#encoding;
    const differs = this.#differs;
    let frame = differs ? undefined : encodings.get(name);
    if (!frame) {
      if (this.#all.largeFrames.has(encodings, this.#form) || elsewhere?.takes(entry)) return undefined;
      frame = framing.frame(type, this.#encoding.object(entry, differs));
      if (!differs) encodings.set(name, frame);
    }
    this.#first = false;
    return frame;
  }

  /** True if the next event is the first one, and that is encoded differently. */
  get #differs(): boolean {
    return this.#first && this.#encoding.differsFirst;
  }

  get #form(): string {
    return this.#differs ? `first ${this.#encoding.name}` : this.#encoding.name;
  }

  #awaitEvent({ type, entry, encodings }: CacheEvent): void {
    const { name } = this.#encoding;
    const differs = this.#differs;
    const take = (made: MadeFrame): void => {
      try {
        if ('error' in made) throw made.error;
        if (!differs && !encodings.get(name)) encodings.set(name, made.frame);
        if (this.#sendEvent(made.frame)) this.#watcher?.resume();
      } catch (error) {
        this.#fail(error);
      }
    };
    this.#awaitFrame(type, entry, { source: encodings, take });
  }

  /** Encodes the frame of a large object off the event loop. `take` is not called once the watch has ended. */
  #awaitFrame(
    type: CacheEvent['type'],
    entry: CacheEntry,
    { source, take }: { readonly source: object; take(made: MadeFrame): void },
  ): void {
    const { framing, elsewhere } = this.#encoding;
    const differs = this.#differs;
    const make = async (signal: AbortSignal): Promise<Buffer> => {
      if (!elsewhere) throw new TypeError('nothing else makes objects of events');
      return framing.frame(type, await elsewhere.object(entry, differs, signal));
    };
    this.#large = this.#all.largeFrames.wait({ source, form: this.#form, make }, (made) => {
      this.#large = undefined;
      take(made);
    });
    this.#first = false;
  }

  #bookmark(revision: Revision, initialEventsEnd: boolean): Uint8Array {
    return this.#encoding.framing.frame('BOOKMARK', this.#encoding.bookmark(revision, initialEventsEnd));
  }

  #sendError(error: StatusError): void {
    this.#send(this.#encoding.framing.frame('ERROR', this.#encoding.status(error.toStatus())));
  }

  /** Returns the number of bytes that are now pending. */
  #send(frame: Uint8Array): number {
    this.#counts.sent(frame.length);
    if (this.#pending) this.#pending = this.#pending.followedBy(frame);
    else {
      const { outbox } = this.#all;
      this.#pending = outbox.begin(frame);
      this.#buffered = this.#writer?.buffered ?? 0;
      if (this.#queue) outbox.add(this.#queue, this);
    }
    return this.#pending.bytes;
  }

  /** Writes the pending frames as one chunk. */
  flush(): void {
    const [run, writer] = [this.#pending, this.#writer];
    if (!writer) return;
    this.#pending = undefined;
    try {
      if (run && writer.writeShared) writer.writeShared(run.chunk);
      else if (run) writer.write(run.chunk.bytes);
      if (this.#ending) writer.end();
      else if (this.#full) this.#resumeWhenDrained(writer);
    } catch (error) {
      this.#logError('the events of a watch could not be written', error);
      this.stop();
      writer.abort();
    }
  }

  #resumeWhenDrained(writer: BodyWriter): void {
    this.#full = false;
    writer.drained().then(() => {
      if (!this.#ended) this.#watcher?.resume();
    });
  }

  /** Called every `tickMs`. */
  tick(now: number): void {
    if (this.#ended) return;
    const over = now >= this.#endsAt;
    if (this.#source.bookmarks && this.#watcher && !this.#large && (over || now >= this.#bookmarkAt)) {
      this.#sendBookmark(this.#watcher.revision, now);
    }
    if (over) this.end();
  }

  #sendBookmark(revision: Revision, now: number): void {
    this.#bookmarkAt = now + limits.bookmarkMs;
    // A client that does not read gets no bookmarks, which would only fill its buffer.
    if (!this.#pending && this.#writer?.buffered === 0 && revision <= this.#source.reached()) {
      this.#send(this.#bookmark(revision, false));
    }
  }

  #logError(message: string, error: unknown): void {
    this.#all.logger.error(message, { 'audit-ID': this.#auditId, error });
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    const known = error instanceof StatusError ? error : internalError(error);
    if (known.reason === 'InternalError') this.#logError('a watch failed', known.cause ?? error);
    this.#sendError(known);
    this.end();
  }

  /** Ends the response after the pending output. */
  end(): void {
    if (this.#ended) return;
    this.stop();
    this.#ending = true;
    if (!this.#pending && this.#queue) this.#all.outbox.add(this.#queue, this);
  }

  /** Stops without writing more. */
  stop(): void {
    this.#ended = true;
    this.#large?.close();
    this.#large = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
