import {
  type Client,
  type ClientDuplexStream,
  connectivityState,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Random } from '../../../base/random.ts';
import { type Span, spanning } from '../../../base/span.ts';
import { type BackoffPolicy, backoffMs } from '../../../base/time/backoff.ts';
import { type Clock, pauseAlive } from '../../../base/time/clock.ts';
import { StoreError } from '../../store.ts';
import { isServiceError, isTransient, reasonOf, toStoreError, toWriteError } from './etcd-errors.ts';
import { type EtcdMember, type EtcdTls, etcdMember } from './etcd-member.ts';
import {
  decodeWatchResponse,
  encodeWatchRequest,
  rangeMethod,
  statusMethod,
  type UnaryMethod,
  type WatchRequest,
  type WatchResponse,
  watchPath,
} from './etcd-messages.ts';

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

/** Back-off between attempts to reach etcd, and between progress requests. */
export const etcdRetries: BackoffPolicy = { firstMs: 50, maxMs: limits.etcdBackoffMsMax };

type WatchCall = ClientDuplexStream<WatchRequest, WatchResponse>;

/** A watch has its own connection, so that a paused reader cannot block other calls. */
export interface WatchConnection {
  readonly endpoint: string;
  readonly call: WatchCall;
  /** Version of the member that serves the watch, such as `3.5.17`. */
  version(): Promise<string>;
  close(): void;
}

/** A member and the connection that calls to it share. */
interface Member extends EtcdMember {
  readonly client: Client;
}

/**
 * Calls to the members of one etcd cluster. Calls go to one member until it fails, then to the next.
 *
 * - `read` is for calls that change nothing or are idempotent: it is retried on every member until it succeeds, fails
 *   permanently, or `limits.etcdRetryMsMax` has passed.
 * - `write` is sent at most once: gRPC retries are disabled, transparent ones included. It is sent to a member that has
 *   answered a probe. After it was sent, any failure that does not rule out its execution is `unknownOutcome`.
 *
 * Both reject with a StoreError.
 */
export class EtcdConnection {
  readonly #members: readonly Member[];
  readonly #clock: Clock;
  readonly #random: Random;
  /** Reading this key requires a leader, whatever its value. */
  readonly #probeKey: Uint8Array;
  readonly #logger: Logger;
  /** Endpoints whose last call failed. */
  readonly #failing = new Set<string>();
  readonly #ended = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #preferred = 0;

  constructor({ endpoints, tls, clock, random, logger, probeKey }: EtcdConnectionOptions) {
    if (endpoints.length === 0) throw new RangeError('no etcd endpoint is given');
    const members = endpoints.map((endpoint) => etcdMember(endpoint, tls));
    this.#members = members.map((member) => ({ ...member, client: member.connect() }));
    this.#clock = clock;
    this.#random = random;
    this.#logger = logger;
    this.#probeKey = probeKey;
  }

  /** Aborted when `close` is called. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  async read<Request, Response>(method: UnaryMethod<Request, Response>, request: Request): Promise<Response> {
    const failures = new Map<string, string>();
    const giveUpAt = this.#clock.monotonic() + limits.etcdRetryMsMax;
    for (let attempt = 1; ; attempt++) {
      this.#assertOpen();
      const member = this.#member();
      try {
        const options = { deadline: this.#within(limits.etcdReadMsMax), signal: this.ended };
        const response = await callMember(member.client, method, request, options);
        this.#noteAnswer(member);
        return response;
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (!isTransient(error)) throw toStoreError(error, member.endpoint);
        failures.set(member.endpoint, reasonOf(error));
        this.#noteFailure(member, error);
        if (this.#clock.monotonic() >= giveUpAt) throw unreachable(failures, error);
        // Tries each member once without waiting, then all of them again after a pause.
        const rounds = attempt / this.#members.length;
        if (Number.isInteger(rounds))
          await pauseAlive(this.#clock, backoffMs(etcdRetries, rounds, this.#random), this.ended);
      }
    }
  }

  /** The call is within the span, if the write is traced. */
  async write<Request, Response>(
    method: UnaryMethod<Request, Response>,
    request: Request,
    span?: Span,
  ): Promise<Response> {
    const member = await this.#readyMember();
    this.#assertOpen();
    const send = (metadata?: Metadata): Promise<Response> =>
      this.#track(
        callMember(member.client, method, request, { deadline: this.#within(limits.etcdWriteMsMax), metadata }),
      );
    try {
      return await (span ? callWithin(span, method.path, send) : send());
    } catch (error) {
      if (!isServiceError(error)) throw error;
      if (isTransient(error)) this.#noteFailure(member, error);
      throw toWriteError(error, member.endpoint);
    }
  }

  /**
   * Opens a watch stream on the preferred member; a failure is reported when the stream is read. `shared` is for
   * readers that never pause: the stream then uses the connection of the other calls.
   */
  openWatch(connection: 'own' | 'shared' = 'own'): WatchConnection {
    this.#assertOpen();
    const member = this.#member();
    const client = connection === 'own' ? member.connect() : member.client;
    const call = client.makeBidiStreamRequest(watchPath, encodeWatchRequest, decodeWatchResponse, requireLeader());
    // The reader of the stream receives failures; this listener keeps one that arrives after reading ended from being
    // an uncaught error.
    call.on('error', () => {});
    return {
      endpoint: member.endpoint,
      call,
      version: async () => {
        const deadline = this.#within(limits.etcdReadMsMax);
        return (await callMember(client, statusMethod, undefined, { deadline })).version;
      },
      close: () => {
        call.cancel();
        if (connection === 'own') client.close();
      },
    };
  }

  /** After a watch failed, the next one is opened on another member. */
  noteBrokenWatch(endpoint: string, error: ServiceError): void {
    const member = this.#members.find((other) => other.endpoint === endpoint);
    if (member) this.#noteFailure(member, error);
  }

  /** Accepts no new calls; resolves when pending calls have ended. */
  async close(): Promise<void> {
    this.#ended.abort();
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    for (const member of this.#members) member.client.close();
  }

  /** A member with an established connection, so that a failed connection attempt cannot leave a write in doubt. */
  async #readyMember(): Promise<Member> {
    for (;;) {
      this.#assertOpen();
      const member = this.#member();
      if (member.client.getChannel().getConnectivityState(false) === connectivityState.READY) return member;
      await this.read(rangeMethod, { key: this.#probeKey, countOnly: true });
    }
  }

  /** A wall-clock deadline: it is sent to etcd, which then drops calls that nobody waits for. */
  #within(ms: number): number {
    return this.#clock.now() + ms;
  }

  #member(): Member {
    const member = this.#members[this.#preferred];
    if (!member) throw new RangeError('no etcd endpoint is given');
    return member;
  }

  /** Directs later calls to the next member. Logged once, until this member answers again. */
  #noteFailure(member: Member, error: ServiceError): void {
    if (this.ended.aborted) return;
    const { endpoint } = member;
    if (!this.#failing.has(endpoint)) this.#logger.warn('etcd does not answer', { endpoint, reason: reasonOf(error) });
    this.#failing.add(endpoint);
    if (this.#members[this.#preferred] === member) this.#preferred = (this.#preferred + 1) % this.#members.length;
  }

  #noteAnswer({ endpoint }: Member): void {
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

/** Asks etcd to cancel the watch if its member loses the leader and would otherwise send nothing. */
const requireLeader = (): Metadata => {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  return metadata;
};

interface CallOptions {
  readonly deadline: number;
  readonly signal?: AbortSignal;
  readonly metadata?: Metadata | undefined;
}

const callMember = <Request, Response>(
  client: Client,
  { path, encode, decode }: UnaryMethod<Request, Response>,
  request: Request,
  { deadline, signal, metadata = new Metadata() }: CallOptions,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    // Encoded here, not inside gRPC, so that an encoding failure is the caller's error and not a failed call.
    const message = encode(request);
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const call = client.makeUnaryRequest(path, asItIs, decode, message, metadata, { deadline }, (error, response) => {
      signal?.removeEventListener('abort', cancel);
      if (error) reject(error);
      else if (response === undefined) reject(noAnswer(path));
      else resolve(response);
    });
  });

/** Makes a call in a span of its own, named as published, whose trace goes on in the metadata of the call. */
function callWithin<T>(span: Span, path: string, send: (metadata: Metadata) => Promise<T>): Promise<T> {
  const name = path.slice(1);
  const [service = '', method = ''] = name.split('/', 2);
  const call = span.child(name, { 'rpc.system': 'grpc', 'rpc.service': service, 'rpc.method': method }, 'client');
  const metadata = new Metadata();
  for (const [header, value] of Object.entries(call.headers)) metadata.set(header, value);
  return spanning(call, async () => {
    try {
      return await send(metadata);
    } catch (error) {
      call.fail();
      throw error;
    }
  });
}

/** Neither status nor message: a violation of the gRPC protocol, so the outcome is unknown. */
const noAnswer = (path: string): ServiceError =>
  Object.assign(new Error(`no answer to ${path}`), {
    code: status.UNKNOWN,
    details: `no answer to ${path}`,
    metadata: new Metadata(),
  });

const asItIs = (message: Buffer): Buffer => message;

const unreachable = (failures: ReadonlyMap<string, string>, cause: ServiceError): StoreError => {
  const reasons = [...failures].map(([endpoint, reason]) => `${endpoint}: ${reason}`);
  return new StoreError('unavailable', `no etcd endpoint answers: ${reasons.join('; ')}`, { cause });
};
