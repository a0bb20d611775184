import { type Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Random } from '../../../base/random.ts';
import type { Span } from '../../../base/span.ts';
import { type BackoffPolicy, backoffMs } from '../../../base/time/backoff.ts';
import { type Clock, pauseAlive } from '../../../base/time/clock.ts';
import { StoreError } from '../../store.ts';
import { callWithin, serviceError } from './etcd-calls.ts';
import { isServiceError, isTransient, reasonOf, toStoreError, toWriteError } from './etcd-errors.ts';
import { etcdMember } from './etcd-member.ts';
import { rangeMethod, type StatusResponse, type UnaryMethod } from './etcd-messages.ts';
import { EtcdSecureContext, type EtcdTls } from './etcd-tls.ts';
import { MemberConnection, type WatchConnection } from './member-connection.ts';

interface EtcdConnectionOptions {
  /** `https://host:port`; tried in turn. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** A key that this client is allowed to read. */
  readonly probeKey: Uint8Array;
}

/** Back-off between attempts to reach etcd. */
export const etcdRetries: BackoffPolicy = { firstMs: 50, maxMs: limits.etcdBackoffMsMax };

/** When to stop trying, on the monotonic clock. Default: `limits.etcdRetryMsMax` from now, less during an outage. */
export interface Patience {
  readonly giveUpAt?: number | undefined;
}

interface WriteCallOptions {
  /** The call is within the span, if the write is traced. */
  readonly span?: Span | undefined;
  /** It is not begun later, on the monotonic clock. Default: as for reads. */
  readonly sendUntil?: number;
  /** How long one member has for it. Default: `limits.etcdWriteMsMax`. */
  readonly msMax?: number;
  /** Its answer is not waited for longer, on the monotonic clock, but for `limits.etcdOutageRetryMsMax`. */
  readonly answerBy?: number;
}

/**
 * Calls to the members of one etcd cluster. Calls go to one member until it fails, then to the next.
 *
 * - `read` is for calls that change nothing or are idempotent: it is retried on every member until it succeeds, fails
 *   permanently, or patience ends.
 * - `write` is sent to a member that has answered a probe, and sent again only if it was refused before it could have
 *   any effect: gRPC retries are disabled, transparent ones included. After any failure that does not rule out its
 *   execution it is `unknownOutcome`.
 * - Patience is for an outage as a whole: whoever comes when nothing has answered for `limits.etcdRetryMsMax` waits for
 *   `limits.etcdOutageRetryMsMax` only. So calls that wait one behind the other do not add up.
 *
 * Both reject with a StoreError.
 */
export class EtcdConnection {
  readonly #members: readonly MemberConnection[];
  readonly #clock: Clock;
  readonly #random: Random;
  /** Reading this key requires a leader, whatever its value. */
  readonly #probeKey: Uint8Array;
  readonly #logger: Logger;
  /** Endpoints whose last call failed. */
  readonly #failing = new Set<string>();
  readonly #ended = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  /** What follows the files of the client certificate. */
  readonly #certificate: Closable | undefined;
  #preferred = 0;
  /** Since when no call has succeeded: the beginning of the first that failed. */
  #awaySince: number | undefined;
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** The cluster of the first member that told. */
  #cluster: { readonly id: StatusResponse['clusterId']; readonly endpoint: string } | undefined;

  constructor({ endpoints, tls, clock, random, logger, probeKey }: EtcdConnectionOptions) {
    if (endpoints.length === 0) throw new RangeError('no etcd endpoint is given');
    const secure = tls && new EtcdSecureContext(tls);
    const members = endpoints.map((endpoint) => etcdMember(endpoint, secure));
    this.#members = members.map((member) => {
      const frozen = members.length === 1 ? undefined : () => this.#noteFrozen(connection);
      const connection: MemberConnection = new MemberConnection({ member, clock, frozen });
      return connection;
    });
    this.#clock = clock;
    this.#random = random;
    this.#logger = logger;
    this.#probeKey = probeKey;
    this.#certificate = secure?.follow({ clock, logger });
  }

  /** Another member can be asked. */
  get hasAlternative(): boolean {
    return this.#members.length > 1;
  }

  /** Aborted when `close` is called. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  async read<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: Request,
    patience: Patience = {},
  ): Promise<Response> {
    const failures = new Map<string, string>();
    const startedAt = this.#clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      this.#assertOpen();
      const member = this.#member();
      const leftMs = this.#giveUpAt(startedAt, patience) - this.#clock.monotonic();
      // One time for both calls: an attempt that began in time is late by that at most.
      const msMax = Math.min(limits.etcdReadMsMax, Math.max(leftMs, limits.etcdOutageRetryMsMax));
      const begunAt = this.#clock.monotonic();
      const answerBy = begunAt + msMax;
      try {
        await this.#assertOurs(member, msMax);
        const response = await member.call(method, request, {
          kind: 'read',
          msMax: answerBy - this.#clock.monotonic(),
        });
        this.#noteAnswer(member);
        return response;
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (!isTransient(error)) throw toStoreError(error, member.endpoint);
        failures.set(member.endpoint, reasonOf(error));
        this.#noteFailure(member, error, begunAt);
        const giveUpAt = this.#giveUpAt(startedAt, patience);
        if (this.#clock.monotonic() >= giveUpAt) throw unreachable(failures, error);
        await this.#pauseAfter(attempt, giveUpAt);
      }
    }
  }

  async write<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: Request,
    { span, sendUntil, msMax = limits.etcdWriteMsMax, answerBy = Number.POSITIVE_INFINITY }: WriteCallOptions = {},
  ): Promise<Response> {
    const patience = { giveUpAt: sendUntil };
    const startedAt = this.#clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      const member = await this.#readyMember({ giveUpAt: this.#giveUpAt(startedAt, patience) });
      this.#assertOpen();
      const begunAt = this.#clock.monotonic();
      const leftMs = Math.max(answerBy - begunAt, limits.etcdOutageRetryMsMax);
      try {
        const send = (metadata?: Metadata): Promise<Response> =>
          this.#track(member.call(method, request, { kind: 'write', msMax: Math.min(msMax, leftMs), metadata }));
        const response = await (span ? callWithin(span, method.path, send) : send());
        this.#noteAnswer(member);
        return response;
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (isTransient(error)) this.#noteFailure(member, error, begunAt);
        const failure = toWriteError(error, member.endpoint);
        const giveUpAt = this.#giveUpAt(startedAt, patience);
        const isOver = this.#clock.monotonic() >= giveUpAt;
        if (failure.code !== 'unavailable' || !isTransient(error) || isOver) throw failure;
        await this.#pauseAfter(attempt, giveUpAt);
      }
    }
  }

  /**
   * Opens a watch stream on the preferred member; a failure is reported when the stream is read. `shared` is for
   * readers that never pause: the stream then uses the connection of the other calls.
   */
  openWatch(connection: 'own' | 'shared' = 'own'): WatchConnection {
    this.#assertOpen();
    return this.#member().openWatch(connection);
  }

  /** After a watch failed, the next one is opened on another member. */
  noteBrokenWatch(endpoint: string, error: ServiceError): void {
    const member = this.#members.find((other) => other.endpoint === endpoint);
    if (member) this.#noteFailure(member, error);
  }

  /** Throws `unavailable` if members that can be reached belong to different clusters. */
  async assertOneCluster(): Promise<void> {
    const asked = this.#members.map((member) => this.#assertOurs(member, limits.etcdOutageRetryMsMax));
    for (const [index, outcome] of (await Promise.allSettled(asked)).entries()) {
      if (outcome.status === 'fulfilled' || !isForeign(outcome.reason)) continue;
      throw toStoreError(outcome.reason, this.#members[index]?.endpoint ?? '');
    }
  }

  /** Accepts no new calls; resolves when pending calls have ended. */
  async close(): Promise<void> {
    this.#ended.abort();
    this.#certificate?.close();
    for (const member of this.#members) member.cancelReads();
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    for (const member of this.#members) member.close();
  }

  /** A member with an established connection, so that a failed connection attempt cannot leave a write in doubt. */
  async #readyMember(patience: Patience): Promise<MemberConnection> {
    for (;;) {
      this.#assertOpen();
      const member = this.#member();
      if (member.isReady && member.isKnown) return member;
      await this.read(rangeMethod, { key: this.#probeKey, countOnly: true }, patience);
    }
  }

  /**
   * Rejects if the member belongs to another cluster than the first one: a wrong address in the list would otherwise be
   * read, and written to, as if it had the same data.
   */
  async #assertOurs(member: MemberConnection, msMax: number): Promise<void> {
    if (member.isKnown) return;
    const id = await member.cluster(msMax);
    if (!id) return;
    this.#cluster ??= { id, endpoint: member.endpoint };
    if (this.#cluster.id === id) return;
    member.forgetCluster();
    throw serviceError(status.UNAVAILABLE, `${foreignDetails} ${this.#cluster.endpoint}`);
  }

  #giveUpAt(startedAt: number, { giveUpAt }: Patience): number {
    const alone = Math.min(giveUpAt ?? Number.POSITIVE_INFINITY, startedAt + limits.etcdRetryMsMax);
    if (this.#awaySince === undefined) return alone;
    const together = this.#awaySince + limits.etcdRetryMsMax;
    return Math.min(alone, Math.max(together, startedAt + limits.etcdOutageRetryMsMax));
  }

  /** Tries each member once without waiting, then all of them again after a pause. */
  async #pauseAfter(attempt: number, giveUpAt: number): Promise<void> {
    const rounds = attempt / this.#members.length;
    if (!Number.isInteger(rounds)) return;
    const leftMs = Math.max(giveUpAt - this.#clock.monotonic(), 0);
    await pauseAlive(this.#clock, Math.min(backoffMs(etcdRetries, rounds, this.#random), leftMs), this.ended);
  }

  #member(): MemberConnection {
    const member = this.#members[this.#preferred];
    if (!member) throw new RangeError('no etcd endpoint is given');
    return member;
  }

  #noteFrozen(member: MemberConnection): void {
    this.#noteFailure(member, serviceError(status.UNAVAILABLE, 'it takes connections and answers nothing'));
  }

  /** Directs later calls to the next member. Logged once, until this member answers again. */
  #noteFailure(member: MemberConnection, error: ServiceError, begunAt = this.#clock.monotonic()): void {
    if (this.ended.aborted) return;
    const { endpoint } = member;
    member.forgetCluster();
    // A member without a quorum keeps a call for seconds before it fails.
    this.#awaySince ??= Math.max(begunAt, this.#answeredAt);
    if (!this.#failing.has(endpoint)) this.#logger.warn('etcd does not answer', { endpoint, reason: reasonOf(error) });
    this.#failing.add(endpoint);
    if (this.#members[this.#preferred] === member) this.#preferred = (this.#preferred + 1) % this.#members.length;
  }

  #noteAnswer({ endpoint }: MemberConnection): void {
    this.#awaySince = undefined;
    this.#answeredAt = this.#clock.monotonic();
    if (this.#failing.delete(endpoint)) this.#logger.info('etcd answers again', { endpoint });
  }

  async #track<T>(call: Promise<T>): Promise<T> {
    this.#underWay.add(call);
    try {
      return await call;
    } finally {
      this.#underWay.delete(call);
    }
  }

  #assertOpen(): void {
    if (this.ended.aborted) throw new StoreError('unavailable', 'the store is closed');
  }
}

const foreignDetails = 'it belongs to another cluster than';

const isForeign = (error: unknown): error is ServiceError =>
  isServiceError(error) && error.details.startsWith(foreignDetails);

const unreachable = (failures: ReadonlyMap<string, string>, cause: ServiceError): StoreError => {
  const reasons = [...failures].map(([endpoint, reason]) => `${endpoint}: ${reason}`);
  return new StoreError('unavailable', `no etcd endpoint answers: ${reasons.join('; ')}`, { cause });
};
