import { createHash } from 'node:crypto';
import { limits } from '../base/limits.ts';
import type { Clock } from '../base/time/clock.ts';

/** Object that an event is about; fields as in an ObjectReference. */
interface EventObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent or '' for cluster-scoped objects. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
}

/** An event as a controller reports it. */
export interface ReportedEvent {
  readonly about: EventObject;
  readonly type: 'Normal' | 'Warning';
  /** CamelCase word for programs. */
  readonly reason: string;
  readonly message: string;
}

/** An event as it is to be stored: new, or counted up. */
export interface CorrelatedEvent extends ReportedEvent {
  /** Key of the stored event within this process. */
  readonly series: string;
  readonly name: string;
  /** Occurrences so far; above 1 the stored event exists and is patched. */
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * Bounds what one reporter's events cost the server, by the rules of client-go. Equal events are one, with a count. Events that
 * differ only in their message are combined from the tenth within ten minutes on. An object has a budget of events.
 * Memory is bounded: of each table, the entries used least recently are forgotten first.
 */
export class EventCorrelation {
  readonly #clock: Clock;
  readonly #series = new RecentlyUsed<Series>();
  readonly #groups = new RecentlyUsed<Group>();
  readonly #budgets = new RecentlyUsed<Budget>();
  /** Makes names of one millisecond distinct. */
  #named = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if the object's budget is used up. The occurrence is counted all the same. */
  correlate(reported: ReportedEvent): CorrelatedEvent | undefined {
    const event = { ...reported, message: withinBytes(reported.message, limits.eventMessageBytesMax) };
    const now = this.#clock.now();
    const object = objectKey(event.about);
    const group = keyOf(object, event.type, event.reason);
    const combined = this.#isCombined(group, event.message);
    const series = combined ? group : keyOf(group, event.message);
    const { about } = event;
    const known = this.#series.get(series);
    const seen: Series = known
      ? { ...known, count: known.count + 1 }
      : { name: this.#nameFor(about, now), count: 1, firstMs: now };
    this.#series.set(series, seen);
    if (!this.#spend(object)) return undefined;
    const message = combined ? `(combined from similar events): ${event.message}` : event.message;
    return { ...event, ...seen, message, series, lastMs: now };
  }

  /** Ten or more messages for one reason within the interval. */
  #isCombined(key: string, message: string): boolean {
    const now = this.#clock.monotonic();
    const known = this.#groups.get(key);
    const group =
      known && now - known.lastMs <= limits.eventsCombinedMs ? known : { messages: new Set<string>(), lastMs: now };
    group.messages.add(keyOf(message));
    group.lastMs = now;
    this.#groups.set(key, group);
    if (group.messages.size < limits.eventsUncombinedMax) return false;
    const [oldest = ''] = group.messages;
    group.messages.delete(oldest);
    return true;
  }

  /** Takes one event from the object's budget, a token bucket. */
  #spend(object: string): boolean {
    const now = this.#clock.monotonic();
    const { left, atMs } = this.#budgets.get(object) ?? { left: limits.eventsPerObjectMax, atMs: now };
    const refilled = Math.min(limits.eventsPerObjectMax, left + (now - atMs) / limits.eventRefillMs);
    const enough = refilled >= 1;
    this.#budgets.set(object, { left: enough ? refilled - 1 : refilled, atMs: now });
    return enough;
  }

  /** The object's name and a time in hexadecimal nanoseconds. */
  #nameFor({ name }: EventObject, now: number): string {
    this.#named = (this.#named + 1) % 1_000_000;
    return `${name}.${(BigInt(Math.floor(now)) * 1_000_000n + BigInt(this.#named)).toString(16)}`;
  }
}

interface Series {
  readonly name: string;
  readonly count: number;
  readonly firstMs: number;
}

/** Events that differ only in their message. */
interface Group {
  /** Keys of the messages, fewer than `limits.eventsUncombinedMax`. */
  readonly messages: Set<string>;
  /** Monotonic. */
  lastMs: number;
}

interface Budget {
  readonly left: number;
  /** Monotonic. */
  readonly atMs: number;
}

/** A map that forgets the entry used least recently when it is full. */
class RecentlyUsed<T> {
  readonly #entries = new Map<string, T>();

  get(key: string): T | undefined {
    const found = this.#entries.get(key);
    if (found !== undefined) this.set(key, found);
    return found;
  }

  set(key: string, value: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= limits.eventSeriesMax) return;
    const [oldest = ''] = this.#entries.keys();
    this.#entries.delete(oldest);
  }
}

/** Of fixed length, however long the parts. */
const keyOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

const objectKey = ({ apiVersion, kind, namespace = '', name, uid = '' }: EventObject): string =>
  keyOf(apiVersion, kind, namespace, name, uid);

/** The text, cut at a character so that its UTF-8 form fits. */
function withinBytes(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const bytes = Buffer.from(text);
  let end = bytesMax - 3;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}...`;
}
