import type { AuditCounts } from '../../../audit/audit-metrics.ts';
import type { AuditBackend } from '../../../audit/backend.ts';
import type { AuditEvent } from '../../../audit/event.ts';
import type { EncodedEvent, EventEncoder } from '../../../audit/event-encoder.ts';
import type { AuditLevel, PolicyEvaluator } from '../../../audit/policy.ts';
import { ReusedEvent } from '../../../audit/reused-event.ts';
import { Roster } from '../../../base/collections/roster.ts';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { internalFailure } from '../../../meta/status-error.ts';
import type { RequestContext } from '../request-context.ts';
import { RequestAudit } from './request-audit.ts';

interface AuditorParts {
  readonly evaluate: PolicyEvaluator;
  readonly encoder: EventEncoder;
  readonly backend: AuditBackend;
  /** Whether requests wait until their events are recorded. */
  readonly blocks: boolean;
  readonly clock: Clock;
  readonly dialect: Dialect;
  readonly counts: AuditCounts;
}

/** A request of which the last event is not made. */
interface EndedRequest {
  readonly audit: RequestAudit;
  readonly status: number;
  readonly endedMs: number;
}

/** Records requests as the policy says. */
export class Auditor {
  readonly #parts: AuditorParts;
  readonly #time: WallClock;
  /** Events whose objects are still being encoded. */
  readonly #encoding = new Roster<Promise<unknown>>();
  #encodingBytes = 0;
  #ended: EndedRequest[] = [];
  /** The annotation of an event whose objects were too large. */
  readonly truncated: readonly [key: string, value: string];
  /** To be filled for `recordReused`; undefined if events live on. */
  readonly reused: ReusedEvent | undefined;
  readonly #encoded: EncodedEvent | undefined;

  constructor(parts: AuditorParts) {
    const { clock } = parts;
    this.#parts = parts;
    this.#time = new WallClock(clock);
    this.truncated = parts.encoder.truncatedAnnotation;
    this.reused = parts.backend.writesAtOnce ? new ReusedEvent() : undefined;
    this.#encoded = this.reused && parts.encoder.encode(this.reused);
  }

  get dialect(): Dialect {
    return this.#parts.dialect;
  }

  get blocks(): boolean {
    return this.#parts.blocks;
  }

  /** Milliseconds since the epoch, with fractions. */
  now(): number {
    return this.#time.now();
  }

  /** When the request arrived, likewise. */
  arrival({ receivedMs }: Pick<RequestContext, 'receivedMs'>): number {
    return this.#time.at(receivedMs);
  }

  /**
   * Makes the last event of a request after this turn of the event loop, with those of others. Each among the code of its
   * request would cost twice as much: one pushes the other out of the processor's cache.
   */
  endedInTurn(request: EndedRequest): void {
    if (this.#ended.length === 0) process.nextTick(finishEnded, this);
    this.#ended.push(request);
  }

  /** Makes the last events of requests that have ended. */
  finishEnded(): void {
    const ended = this.#ended;
    this.#ended = [];
    for (const { audit, status, endedMs } of ended) void audit.finish(status, endedMs);
  }

  /** The request is over. Takes time from the monotonic clock. */
  ended({ audit }: RequestContext, monotonicMs: number): void {
    audit?.ended(this.#time.at(monotonicMs));
  }

  /**
   * Begins to record an authenticated request; what it says is not yet known to be allowed. Throws or rejects if the
   * request must not go on without its event.
   */
  receive(context: RequestContext): void | Promise<void> {
    const audit = this.#begin(context);
    if (!audit) return;
    const recorded = audit.received();
    audit.follow();
    if (recorded instanceof Promise) return recorded.then((done) => this.#require(context, done));
    this.#require(context, recorded);
  }

  /** Begins to record a request whose sender is not known. As published, it has one event, once it is answered. */
  receiveUnauthenticated(context: RequestContext): void {
    this.#begin(context, 'unauthenticated')?.follow();
  }

  #begin(
    context: RequestContext,
    kind: 'unauthenticated' | 'authenticated' = 'authenticated',
  ): RequestAudit | undefined {
    const user = kind === 'authenticated' ? context.user : undefined;
    const verdict = this.#parts.evaluate(context.info, user);
    countLevel(this.#parts.counts.levels, verdict.level);
    if (verdict.level === 'None') return undefined;
    context.audit = new RequestAudit(this, context, verdict, user);
    return context.audit;
  }

  #require(context: RequestContext, recorded: boolean): void {
    if (recorded) return;
    this.#parts.counts.rejected += 1;
    context.audit?.drop();
    throw internalFailure('failed to store audit event');
  }

  /** False if the event could not be recorded although its request must not go on without. */
  record(event: AuditEvent): boolean | Promise<boolean> {
    this.#parts.counts.events += 1;
    return this.#parts.backend.process(this.#parts.encoder.encode(event));
  }

  /** The same for the event that is `reused`. */
  recordReused(): boolean | Promise<boolean> {
    const encoded = this.#encoded;
    if (!encoded) throw new Error('the backend keeps events');
    this.#parts.counts.events += 1;
    encoded.changed();
    return this.#parts.backend.process(encoded);
  }

  /**
   * Records an event whose objects are encoded first, of so many bytes; the backend stays open until then. Undefined if
   * too many bytes are being encoded: an answered request waits for nothing, so clients would fill the memory.
   */
  encoding(bytes: number, record: () => Promise<boolean>): Promise<boolean> | undefined {
    if (this.#encodingBytes > 0 && this.#encodingBytes + bytes > limits.auditEncodingBytesMax) return undefined;
    this.#encodingBytes += bytes;
    const recorded = record();
    const place = this.#encoding.add(recorded);
    const done = (): void => {
      this.#encodingBytes -= bytes;
      this.#encoding.delete(place, recorded);
    };
    recorded.then(done, done);
    return recorded;
  }

  /** Resolves when all events are recorded, as far as that is possible. */
  async close(): Promise<void> {
    this.finishEnded();
    await Promise.allSettled(this.#encoding);
    await this.#parts.backend.close();
  }
}

const finishEnded = (auditor: Auditor): void => auditor.finishEnded();

/** By name: a look-up by a value costs more. */
function countLevel(counts: AuditCounts['levels'], level: AuditLevel): void {
  if (level === 'None') counts.None += 1;
  else if (level === 'Metadata') counts.Metadata += 1;
  else if (level === 'Request') counts.Request += 1;
  else counts.RequestResponse += 1;
}

/** Wall-clock time with fractions of milliseconds, from the monotonic clock as long as both agree. */
class WallClock {
  readonly #clock: Clock;
  #offset: number;
  /** When the clocks are compared again. Monotonic. */
  #comparesAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#offset = clock.now() - clock.monotonic();
  }

  now(): number {
    return this.at(this.#clock.monotonic());
  }

  /** The time of a moment on the monotonic clock. */
  at(monotonic: number): number {
    if (monotonic >= this.#comparesAt) this.#compare(this.#clock.monotonic());
    return this.#offset + monotonic;
  }

  /** Each look at the wall clock costs as much as the rest. */
  #compare(monotonic: number): void {
    const now = this.#clock.now();
    if (Math.abs(this.#offset + monotonic - now) >= driftMsMax) this.#offset = now - monotonic;
    this.#comparesAt = monotonic + comparedMs;
  }
}

/** The wall clock counts whole milliseconds. */
const driftMsMax = 2;

/** How long a wall clock that was set may go unseen. */
const comparedMs = 10;
