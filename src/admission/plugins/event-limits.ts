import { createHash } from 'node:crypto';
import type { Clock } from '../../base/time/clock.ts';

export const eventLimitTypes = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;

type EventLimitType = (typeof eventLimitTypes)[number];

/** How many events there may be. Plain data. */
export interface EventLimit {
  readonly type: EventLimitType;
  /** Events per second, on average. */
  readonly qps: number;
  /** Events at once. */
  readonly burst: number;
  /** Keys that are counted for; the least recently used are forgotten. */
  readonly cacheSize: number;
}

/** What an event counts for. */
export interface CountedEvent {
  readonly namespace: string;
  readonly user: string;
  /** Fields that identify its source and its object. */
  readonly sourceAndObject: readonly string[];
}

/** The limit that refuses an event. */
export interface ReachedLimit {
  readonly type: EventLimitType;
  readonly key: string;
  /** When the next event is accepted. Seconds, at least 1. */
  readonly retryAfterSeconds: number;
}

/** Counts events against the limits of one server. */
export class EventLimits {
  readonly #limits: readonly Counted[];

  constructor(limits: readonly EventLimit[], clock: Clock) {
    this.#limits = limits.map((limit) => new Counted(limit, clock));
  }

  /** Counts an event against all limits. Returns the last one that it exceeds. */
  take(event: CountedEvent): ReachedLimit | undefined {
    return this.#limits.map((limit) => limit.take(event)).findLast((reached) => reached !== undefined);
  }
}

/** Longer keys are kept as hashes. */
const keyLengthMax = 256;
/** Characters of a key in a refusal. */
const keyLengthShown = 1_024;

const keyOf: Readonly<Record<EventLimitType, (event: CountedEvent) => readonly string[]>> = {
  Server: () => [],
  Namespace: ({ namespace }) => [namespace],
  User: ({ user }) => [user],
  SourceAndObject: ({ sourceAndObject }) => sourceAndObject,
};

/** Tokens that are left, as of a time. */
interface Bucket {
  tokens: number;
  atMs: number;
}

/** Token buckets by key, the least recently used first. */
class Counted {
  readonly #limit: EventLimit;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: EventLimit, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
  }

  take(event: CountedEvent): ReachedLimit | undefined {
    const { type, qps, burst, cacheSize } = this.#limit;
    const parts = keyOf[type](event);
    const bucket = this.#bucket(parts.join('\0'));
    const nowMs = this.#clock.monotonic();
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) * qps) / 1_000);
    bucket.atMs = nowMs;
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= Math.max(cacheSize, 1)) break;
      this.#buckets.delete(oldest);
    }
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return undefined;
    }
    const key = parts.join('').slice(0, keyLengthShown);
    return { type, key, retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / qps)) };
  }

  #bucket(name: string): Bucket {
    const key = name.length <= keyLengthMax ? name : createHash('sha256').update(name).digest('base64');
    const bucket = this.#buckets.get(key) ?? { tokens: this.#limit.burst, atMs: this.#clock.monotonic() };
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
