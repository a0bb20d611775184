import { type ByteSpan, spanOf } from '../../base/byte-span.ts';
import type { Clock } from '../../base/clock.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { TimeSlice } from '../../base/time-slice.ts';
import type { CacheEntry, CacheEvent, Watcher, WatchSink } from '../../cache/cache.ts';
import type { WatchEncoding } from '../../content/watch-encoding.ts';
import type { BodyWriter, Exchange } from '../../http/exchange.ts';
import { expired, internalError, StatusError } from '../../meta/status-error.ts';
import type { Revision } from '../../store/store.ts';
import type { WatchCounts } from './observe/watch-metrics.ts';

/** What a watch shows (spec sections 4.4 and 6). */
export interface WatchSource {
  /** Objects that are told as ADDED before anything else. */
  readonly initial: Iterable<CacheEntry>;
  /** What `initial` shows; events follow after it. */
  readonly revision: Revision;
  /** Send BOOKMARK events. */
  readonly bookmarks: boolean;
  /** Mark the end of `initial` with a bookmark of its own. */
  readonly initialEventsEnd: boolean;
  /** The watch ends cleanly after this. */
  readonly timeoutMs: number;
  /** What the server has reached: a watch may stand at a version that is yet to come, and no bookmark says so. */
  reached(): Revision;
  /** Opens the watch. May throw a StatusError. */
  start(sink: WatchSink): Watcher;
}

/** How a watch is answered. */
interface WatchAnswer {
  readonly encoding: WatchEncoding;
  readonly counts: WatchCounts;
}

/** Precision of timeouts and bookmarks: one timer for all watches, however many there are. */
const tickMs = 250;

/** All watches that are being served. */
export class WatchStreams implements Closable {
  readonly #clock: Clock;
  readonly logger: Logger;
  readonly bufferBytesMax: number;
  readonly #open = new Set<WatchStream>();
  #written: WatchStream[] = [];
  #tick: Closable | undefined;
  #closed = false;

  constructor(options: { readonly clock: Clock; readonly logger: Logger; readonly bufferBytesMax?: number }) {
    this.#clock = options.clock;
    this.logger = options.logger;
    this.bufferBytesMax = options.bufferBytesMax ?? limits.watcherBufferBytesMax;
  }

  /** Watches open now. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Answers an exchange with a watch. Throws, with nothing sent, where the watch cannot be opened; what fails later is an
   * ERROR event with a Status, after which the stream ends.
   */
  serve(exchange: Exchange, source: WatchSource, { encoding, counts }: WatchAnswer): void {
    if (this.#closed) {
      throw new StatusError('ServiceUnavailable', 'the server is shutting down', { details: { retryAfterSeconds: 1 } });
    }
    const stream = new WatchStream(this, source, { encoding, counts }, this.#clock.monotonic());
    stream.open(exchange);
    this.#open.add(stream);
    exchange.onEnd(() => {
      this.#open.delete(stream);
      stream.stop();
    });
    this.#tick ??= this.#clock.after(tickMs, () => this.#sweep());
  }

  /** For work that must not hold up others. */
  slice(): TimeSlice {
    return new TimeSlice(this.#clock);
  }

  /** Has the stream's `flush` called when whoever delivers events now has delivered them all. */
  flushSoon(stream: WatchStream): void {
    if (this.#written.push(stream) > 1) return;
    queueMicrotask(() => {
      const written = this.#written;
      this.#written = [];
      for (const each of written) each.flush();
    });
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

/** One watch on its way to one client. */
class WatchStream implements WatchSink {
  readonly #all: WatchStreams;
  readonly #source: WatchSource;
  readonly #encoding: WatchEncoding;
  readonly #counts: WatchCounts;
  readonly #endsAt: number;
  #bookmarkAt: number;
  #writer: BodyWriter | undefined;
  /** Set while events flow: after the initial ones, until the end. */
  #watcher: Watcher | undefined;
  #ended = false;
  #first = true;
  /** Of this tick, to be written together. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** The watcher was told to wait. */
  #full = false;

  constructor(all: WatchStreams, source: WatchSource, { encoding, counts }: WatchAnswer, now: number) {
    this.#all = all;
    this.#source = source;
    this.#encoding = encoding;
    this.#counts = counts;
    this.#endsAt = now + source.timeoutMs;
    this.#bookmarkAt = now + limits.bookmarkMs;
  }

  open(exchange: Exchange): void {
    const initial = this.#source.initial[Symbol.iterator]();
    const first = initial.next();
    // Without a state to send, the watch opens before the response starts, so that its failure has a status of its own.
    if (first.done) this.#watcher = this.#source.start(this);
    const writer = this.#start(exchange);
    this.#writer = writer;
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
      const slice = this.#all.slice();
      if (slice.over) await slice.next();
      for (const chunk of this.#encoding.framing.added(this.#objects(first, rest), slice)) {
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

  *#objects(first: CacheEntry, rest: Iterator<CacheEntry>): Generator<ByteSpan, void> {
    try {
      for (let next: IteratorResult<CacheEntry> = { value: first }; !next.done; next = rest.next()) {
        const object = this.#object(next.value);
        this.#counts.sent(object.length);
        yield spanOf(object);
      }
    } finally {
      rest.return?.();
    }
  }

  #object(entry: CacheEntry): Uint8Array {
    const bytes = this.#encoding.object(entry, this.#first);
    this.#first = false;
    return bytes;
  }

  #endInitial(): void {
    if (this.#source.initialEventsEnd) this.#send(this.#bookmark(this.#source.revision, true));
  }

  event(event: CacheEvent): boolean {
    if (this.#ended) return true;
    this.#send(this.#frame(event));
    this.#full = (this.#writer?.buffered ?? 0) + this.#pendingBytes >= this.#all.bufferBytesMax;
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

  /** The frame of an event, made once for all watches that write it alike. */
  #frame({ type, entry, encodings }: CacheEvent): Uint8Array {
    const { framing, differsFirst, name } = this.#encoding;
    if (this.#first && differsFirst) return framing.frame(type, this.#object(entry));
    this.#first = false;
    let frame = encodings.get(name);
    if (!frame) {
      frame = framing.frame(type, this.#encoding.object(entry, false));
      encodings.set(name, frame);
    }
    return frame;
  }

  #bookmark(revision: Revision, initialEventsEnd: boolean): Uint8Array {
    return this.#encoding.framing.frame('BOOKMARK', this.#encoding.bookmark(revision, initialEventsEnd));
  }

  #sendError(error: StatusError): void {
    this.#send(this.#encoding.framing.frame('ERROR', this.#encoding.status(error.toStatus())));
  }

  #send(frame: Uint8Array): void {
    if (this.#pending.push(frame) === 1) this.#all.flushSoon(this);
    this.#pendingBytes += frame.length;
    this.#counts.sent(frame.length);
  }

  /** Writes what the tick brought, as one chunk. */
  flush(): void {
    const [only] = this.#pending;
    if (!only || !this.#writer) return;
    const chunk = this.#pending.length === 1 ? only : Buffer.concat(this.#pending, this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#writer.write(chunk);
    if (this.#full) this.#resumeWhenDrained(this.#writer);
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
    if (this.#source.bookmarks && this.#watcher && (over || now >= this.#bookmarkAt)) {
      this.#bookmarkAt = now + limits.bookmarkMs;
      // To a client that does not read, a bookmark would only be more that waits.
      const { revision } = this.#watcher;
      if (this.#pending.length === 0 && this.#writer?.buffered === 0 && revision <= this.#source.reached()) {
        this.#send(this.#bookmark(revision, false));
      }
    }
    if (over) this.end();
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    const known = error instanceof StatusError ? error : internalError(error);
    if (known.reason === 'InternalError') this.#all.logger.error('a watch failed', { error: known.cause ?? error });
    this.#sendError(known);
    this.end();
  }

  /** Ends the response after what was sent so far. */
  end(): void {
    if (this.#ended) return;
    this.stop();
    this.flush();
    this.#writer?.end();
  }

  /** Nobody listens any more. */
  stop(): void {
    this.#ended = true;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
