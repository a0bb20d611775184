import { type Client, type ClientDuplexStream, connectivityState, type Metadata, status } from '@grpc/grpc-js';
import type { Closable } from '../../../base/disposable.ts';
import { limits } from '../../../base/limits.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { callMember, requireLeader, serviceError, type UnaryCall } from './etcd-calls.ts';
import { isServiceError } from './etcd-errors.ts';
import type { EtcdMember } from './etcd-member.ts';
import {
  decodeWatchResponse,
  encodeWatchRequest,
  type StatusResponse,
  statusMethod,
  type UnaryMethod,
  type WatchRequest,
  type WatchResponse,
  watchPath,
} from './etcd-messages.ts';

type WatchCall = ClientDuplexStream<WatchRequest, WatchResponse>;

/** A watch has its own connection, so that a paused reader cannot block other calls. */
export interface WatchConnection {
  readonly endpoint: string;
  readonly call: WatchCall;
  /** Version of the member that serves the watch, such as `3.5.17`. */
  version(): Promise<string>;
  /** Ends the stream with an error if its member is frozen: see `MemberConnection`. */
  check(): void;
  close(): void;
}

interface MemberConnectionOptions {
  readonly member: EtcdMember;
  readonly clock: Clock;
  /** Absent if there is no other member to turn to: a frozen one is then waited for. */
  readonly frozen?: (() => void) | undefined;
}

interface Outstanding {
  readonly since: number;
  readonly kind: 'read' | 'write';
  readonly cancel: () => void;
  /** Ended because the member is frozen. */
  frozen: boolean;
}

/**
 * The connection to one member, shared by its calls.
 *
 * A member that is paused, or whose packets are dropped, keeps its connections open and answers nothing; the pings of
 * HTTP/2 notice that late, since etcd punishes frequent ones (`--grpc-keepalive-min-time`, 5 s). So while calls wait
 * and nothing was heard for `limits.etcdSuspectMs`, the member is asked for its status, which it answers by itself,
 * without a leader or its disk. If that takes longer than `limits.etcdProbeMsMax` it is frozen: all its calls and
 * watches end.
 */
export class MemberConnection {
  readonly endpoint: string;
  readonly #member: EtcdMember;
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #frozen: (() => void) | undefined;
  readonly #calls = new Set<Outstanding>();
  readonly #watches = new Set<WatchCall>();
  #heardAt = Number.NEGATIVE_INFINITY;
  #suspicion: Closable | undefined;
  #cluster: StatusResponse['clusterId'] | undefined;

  constructor({ member, clock, frozen }: MemberConnectionOptions) {
    this.endpoint = member.endpoint;
    this.#member = member;
    this.#client = member.connect();
    this.#clock = clock;
    this.#frozen = frozen;
  }

  get isReady(): boolean {
    return this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /** Rejects with a ServiceError; `isFrozen` tells that the member was found frozen. */
  async call<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: Request,
    {
      kind,
      msMax,
      metadata,
    }: { readonly kind: 'read' | 'write'; readonly msMax: number; readonly metadata?: Metadata | undefined },
  ): Promise<Response> {
    const deadline = this.#within(msMax);
    const call = callMember(this.#client, method, request, { deadline, metadata: metadata ?? requireLeader() });
    const outstanding = { since: this.#clock.monotonic(), kind, cancel: call.cancel, frozen: false };
    this.#calls.add(outstanding);
    this.#watchFor(limits.etcdSuspectMs);
    try {
      const answer = await call.answer;
      this.#heardAt = this.#clock.monotonic();
      return answer;
    } catch (error) {
      throw outstanding.frozen ? serviceError(status.DEADLINE_EXCEEDED, frozenDetails) : error;
    } finally {
      this.#calls.delete(outstanding);
    }
  }

  /** Its cluster was asked for. */
  get isKnown(): boolean {
    return this.#cluster !== undefined;
  }

  /** The cluster that the member belongs to; 0 if it does not tell. */
  async cluster(msMax: number): Promise<StatusResponse['clusterId']> {
    const { clusterId } = await this.call(statusMethod, undefined, { kind: 'read', msMax });
    this.#cluster = clusterId;
    return clusterId;
  }

  /** After a failure the address may lead to another cluster. */
  forgetCluster(): void {
    this.#cluster = undefined;
  }

  /** A failure is reported when the stream is read. */
  openWatch(connection: 'own' | 'shared'): WatchConnection {
    const client = connection === 'own' ? this.#member.connect() : this.#client;
    const call = client.makeBidiStreamRequest(watchPath, encodeWatchRequest, decodeWatchResponse, requireLeader());
    // The reader of the stream receives failures; this listener keeps one that arrives after reading ended from being
    // an uncaught error.
    call.on('error', () => {});
    this.#watches.add(call);
    return {
      endpoint: this.endpoint,
      call,
      version: async () => {
        const deadline = this.#within(limits.etcdReadMsMax);
        return (await callMember(client, statusMethod, undefined, { deadline }).answer).version;
      },
      check: () => void (this.#frozen && this.#endIfFrozen(client)),
      close: () => {
        this.#watches.delete(call);
        call.cancel();
        if (connection === 'own') client.close();
      },
    };
  }

  /** Ends the reads under way; writes are waited for. */
  cancelReads(): void {
    for (const call of this.#calls) if (call.kind === 'read') call.cancel();
  }

  close(): void {
    this.#suspicion?.close();
    this.#client.close();
  }

  #watchFor(delayMs: number): void {
    if (!this.#frozen || this.#suspicion) return;
    this.#suspicion = this.#clock.after(delayMs, () => {
      this.#suspicion = undefined;
      void this.#suspect();
    });
  }

  async #suspect(): Promise<void> {
    const [oldest] = this.#calls;
    if (!oldest) return;
    const silentMs = this.#clock.monotonic() - Math.max(oldest.since, this.#heardAt);
    if (silentMs < limits.etcdSuspectMs) return this.#watchFor(limits.etcdSuspectMs - silentMs);
    await this.#endIfFrozen(this.#client);
    if (this.#calls.size > 0) this.#watchFor(limits.etcdSuspectMs);
  }

  async #endIfFrozen(client: Client): Promise<void> {
    if (!(await this.#isFrozen(client))) return;
    for (const call of this.#calls) {
      call.frozen = true;
      call.cancel();
    }
    for (const watch of this.#watches) watch.cancel();
    this.#frozen?.();
  }

  async #isFrozen(client: Client): Promise<boolean> {
    const askedAt = this.#clock.now();
    try {
      const probe: UnaryCall<StatusResponse> = callMember(client, statusMethod, undefined, {
        deadline: this.#within(limits.etcdProbeMsMax),
      });
      await probe.answer;
      return false;
    } catch (error) {
      // A late timer means that this process stood still, not the member.
      const isLate = this.#clock.now() - askedAt > 2 * limits.etcdProbeMsMax;
      return isServiceError(error) && error.code === status.DEADLINE_EXCEEDED && !isLate;
    }
  }

  #within(ms: number): number {
    return this.#clock.now() + ms;
  }
}

const frozenDetails = 'it takes connections and answers nothing';

/** The call was ended because its member is frozen. */
export const isFrozen = (error: unknown): boolean => isServiceError(error) && error.details === frozenDetails;
