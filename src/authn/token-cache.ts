import { hash } from 'node:crypto';
import type { Caller } from '../base/caller.ts';
import { limits } from '../base/limits.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { SingleFlight } from '../base/single-flight.ts';
import type { Clock } from '../base/time/clock.ts';
import type { TokenAuthenticator, TokenIdentity } from './authenticator.ts';
import { BoundedEntries } from './bounded-entries.ts';

export interface TokenCacheOptions<Identity extends TokenIdentity = TokenIdentity> {
  readonly clock: Clock;
  readonly random: Random;
  /** How long accepted tokens are cached, in milliseconds; 0: not at all. */
  readonly successMs: number;
  /** How long unknown tokens are cached, in milliseconds; 0: not at all. */
  readonly failureMs: number;
  /** Maximum number of accepted tokens, and likewise of unknown ones; the oldest are evicted first. */
  readonly entriesMax?: number;
  /** Whether a cached identity is still valid; called on every hit, so it must be fast. Default: always. */
  readonly isValid?: (identity: Identity) => boolean;
  readonly counts?: TokenCacheCounts;
}

/**
 * Caches the results of another authenticator, under keyed hashes instead of the tokens themselves. Concurrent look-ups
 * of the same token share one call. Errors are not cached. Hits are answered synchronously.
 */
export function cachedTokens<Identity extends TokenIdentity>(
  inner: TokenAuthenticator<Identity>,
  options: TokenCacheOptions<Identity>,
): TokenAuthenticator<Identity> {
  return new TokenCache(inner, options);
}

class TokenCache<Identity extends TokenIdentity> implements TokenAuthenticator<Identity> {
  readonly #inner: TokenAuthenticator<Identity>;
  readonly #clock: Clock;
  readonly #successMs: number;
  readonly #failureMs: number;
  readonly #isValid: (identity: Identity) => boolean;
  readonly #counts: TokenCacheCounts;
  readonly #secret: string;
  readonly #known: BoundedEntries<Identity>;
  /** Separate from `#known`, so that a flood of invalid tokens evicts no accepted ones. */
  readonly #unknown: BoundedEntries<undefined>;
  readonly #asked = new SingleFlight<Identity | undefined>();
  /** Hash prefix per list of audiences: derived from the secret, of fixed length, and short for speed. */
  readonly #prefixes = new WeakMap<readonly string[], string>();

  constructor(inner: TokenAuthenticator<Identity>, options: TokenCacheOptions<Identity>) {
    const { clock, random, successMs, failureMs, entriesMax = limits.tokenCacheEntriesMax } = options;
    this.#inner = inner;
    this.#clock = clock;
    this.#successMs = successMs;
    this.#failureMs = failureMs;
    this.#isValid = options.isValid ?? (() => true);
    this.#counts = options.counts ?? noCounts();
    this.#secret = Buffer.from(random.bytes(secretBytes)).toString('base64');
    const max = { entries: entriesMax, weight: limits.tokenCacheTextMax };
    this.#known = new BoundedEntries(max);
    this.#unknown = new BoundedEntries(max);
  }

  authenticateToken(
    token: string,
    audiences: readonly string[],
    caller?: Caller,
  ): Identity | undefined | Promise<Identity | undefined> {
    // Lone surrogates all hash alike; no token from a header contains them.
    if (!token.isWellFormed()) return this.#inner.authenticateToken(token, audiences, caller);
    const sinceMs = this.#clock.monotonic();
    const key = this.#key(token, audiences);
    const known = this.#known.get(key, sinceMs)?.value;
    if (known ? this.#isValid(known) : this.#unknown.get(key, sinceMs)) {
      this.#answered('hit', sinceMs);
      return known;
    }
    const ask = (all: Caller) => this.#ask(key, this.#inner.authenticateToken(token, audiences, all));
    let answer: Identity | undefined | Promise<Identity | undefined>;
    try {
      answer = this.#asked.run(key, ask, caller);
    } catch (error) {
      this.#answered('miss', sinceMs);
      throw error;
    }
    if (answer instanceof Promise) return answer.finally(() => this.#answered('miss', sinceMs));
    this.#answered('miss', sinceMs);
    return answer;
  }

  #answered(status: 'hit' | 'miss', sinceMs: number): void {
    this.#counts.answered(status, (this.#clock.monotonic() - sinceMs) / 1000);
  }

  #key(token: string, audiences: readonly string[]): string {
    let prefix = this.#prefixes.get(audiences);
    if (prefix === undefined) {
      prefix = hash('sha256', this.#secret + JSON.stringify(audiences), 'base64').slice(0, prefixLength);
      this.#prefixes.set(audiences, prefix);
    }
    return hash('sha256', prefix + token, 'base64');
  }

  #ask(
    key: string,
    answer: ReturnType<TokenAuthenticator<Identity>['authenticateToken']>,
  ): Identity | undefined | Promise<Identity | undefined> {
    if (!(answer instanceof Promise)) {
      this.#keep(key, answer);
      return answer;
    }
    this.#counts.inFlight += 1;
    return this.#settle(key, answer);
  }

  async #settle(key: string, answer: Promise<Identity | undefined>): Promise<Identity | undefined> {
    try {
      const identity = await answer;
      this.#keep(key, identity);
      this.#counts.fetched += 1;
      return identity;
    } catch (error) {
      this.#counts.failed += 1;
      throw error;
    } finally {
      this.#counts.inFlight -= 1;
    }
  }

  #keep(key: string, identity: Identity | undefined): void {
    const now = this.#clock.monotonic();
    if (!identity) {
      if (this.#failureMs > 0) this.#unknown.set(key, { value: undefined, until: now + this.#failureMs, weight: 0 });
    } else if (this.#successMs > 0) {
      const weight = JSON.stringify(identity).length;
      this.#known.set(key, { value: identity, until: now + this.#successMs, weight });
    }
  }
}

/** The length of the hash. */
const secretBytes = 32;
/** Characters of base64, 132 bits. */
const prefixLength = 22;

/** Counts since the start. Plain numbers, because they are updated on every request. */
export interface TokenCacheCounts {
  /** Results of the authenticators behind the caches. */
  fetched: number;
  failed: number;
  /** Pending calls to those authenticators. */
  inFlight: number;
  /** Counts a look-up. */
  answered(status: 'hit' | 'miss', seconds: number): void;
}

const noCounts = (): TokenCacheCounts => ({ fetched: 0, failed: 0, inFlight: 0, answered() {} });

/** Combined counts of all caches, exported under kube-apiserver's metric names. */
export function tokenCacheCounts(metrics: Metrics): TokenCacheCounts {
  const counts = { ...noCounts(), answered: lookUps(metrics) };
  metrics.totals(
    {
      name: 'authentication_token_cache_fetch_total',
      help: 'Token authentications after a cache miss, by result.',
      labels: ['status'],
    },
    () => [
      [{ status: 'ok' }, counts.fetched],
      [{ status: 'error' }, counts.failed],
    ],
  );
  const active = metrics.gauge({
    name: 'authentication_token_cache_active_fetch_count',
    help: 'Token authentications after a cache miss that are in progress.',
    labels: ['status'],
  });
  metrics.onCollect(() => active.set({ status: 'in_flight' }, counts.inFlight));
  return counts;
}

/** Hits and misses, and how long they took. */
function lookUps(metrics: Metrics): TokenCacheCounts['answered'] {
  const total = metrics.counter({
    name: 'authentication_token_cache_request_total',
    help: 'Token cache look-ups, by hit or miss.',
    labels: ['status'],
  });
  const durations = metrics.histogram({
    name: 'authentication_token_cache_request_duration_seconds',
    help: 'Durations of token cache look-ups, by hit or miss.',
    labels: ['status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const of = (status: 'hit' | 'miss') => ({ total: total.of({ status }), durations: durations.of({ status }) });
  const series = { hit: of('hit'), miss: of('miss') };
  return (status, seconds) => {
    const each = series[status];
    each.total.add();
    each.durations.observe(seconds);
  };
}
