import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { StoreError } from '../../store.ts';
import { backoffMs, pause } from './backoff.ts';
import { isServiceError, isTransient, toStoreError } from './etcd-errors.ts';
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

/** PEM texts. What is absent: the system's authorities; no client certificate. */
export interface EtcdTls {
  readonly authorities?: string;
  readonly client?: { readonly certificate: string; readonly key: string };
}

export interface EtcdConnectionOptions {
  /** `https://host:port`; each is tried. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls | undefined;
  readonly clock: Clock;
  /** A key that this client may read. */
  readonly probeKey: Uint8Array;
}

export type WatchCall = ClientDuplexStream<WatchRequest, WatchResponse>;

/** A watch has a connection of its own, so that a reader that pauses it cannot hold up other calls. */
export interface WatchConnection {
  readonly endpoint: string;
  readonly call: WatchCall;
  /** Of the member that serves the watch: `3.5.17`. */
  version(): Promise<string>;
  close(): void;
}

interface Member {
  readonly endpoint: string;
  readonly address: string;
  readonly credentials: ChannelCredentials;
  readonly client: Client;
}

/**
 * Calls to the members of one etcd cluster. Calls go to one member until it fails, then to the next.
 *
 * - `read` is for calls that change nothing or may be done twice: tried again at every member until it succeeds, fails
 *   for good, or `limits.etcdRetryMsMax` has passed.
 * - `write` is sent at most once. Before it is sent, a member that answers is looked for; once it is sent, a failure
 *   without an answer from etcd is `unavailable`, and it may have happened. (gRPC sends a call again by itself only where
 *   the server has said that it never looked at it.)
 *
 * Both fail with a StoreError.
 */
export class EtcdConnection {
  readonly #members: readonly Member[];
  readonly #clock: Clock;
  /** Reading it waits for the leader, whatever it holds. */
  readonly #probeKey: Uint8Array;
  readonly #ended = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();
  #preferred = 0;

  constructor({ endpoints, tls, clock, probeKey }: EtcdConnectionOptions) {
    if (endpoints.length === 0) throw new RangeError('no etcd endpoint is given');
    const secure = tls === undefined ? undefined : tlsCredentials(tls);
    this.#members = endpoints.map((endpoint) => memberOf(endpoint, secure));
    this.#clock = clock;
    this.#probeKey = probeKey;
  }

  /** Aborted when `close` is called. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  async read<Request, Response>(method: UnaryMethod<Request, Response>, request: Request): Promise<Response> {
    const failures = new Map<string, string>();
    const giveUpAt = this.#clock.monotonic() + limits.etcdRetryMsMax;
    for (let attempt = 0; ; attempt++) {
      this.#assertOpen();
      const member = this.#member();
      try {
        return await callMember(member.client, method, request, limits.etcdReadMsMax, this.ended);
      } catch (error) {
        if (!isServiceError(error)) throw error;
        if (!isTransient(error)) throw toStoreError(error, member.endpoint);
        failures.set(member.endpoint, error.details);
        this.#turnAwayFrom(member);
        // Each member once without waiting, then all of them again after a pause.
        const round = Math.floor((attempt + 1) / this.#members.length);
        if (this.#clock.monotonic() >= giveUpAt) throw unreachable(failures, error);
        if ((attempt + 1) % this.#members.length === 0) await pause(this.#clock, backoffMs(round), this.ended);
      }
    }
  }

  async write<Request, Response>(method: UnaryMethod<Request, Response>, request: Request): Promise<Response> {
    const member = await this.#readyMember();
    this.#assertOpen();
    try {
      return await this.#track(callMember(member.client, method, request, limits.etcdWriteMsMax));
    } catch (error) {
      if (!isServiceError(error)) throw error;
      if (isTransient(error)) this.#turnAwayFrom(member);
      throw toStoreError(error, member.endpoint);
    }
  }

  /** Opens a watch stream at the preferred member; a failure of it shows when it is read. */
  openWatch(): WatchConnection {
    this.#assertOpen();
    const member = this.#member();
    const client = new Client(member.address, member.credentials, channelOptions);
    const call = client.makeBidiStreamRequest(watchPath, encodeWatchRequest, decodeWatchResponse, requireLeader());
    // Failures reach the reader of the stream; this keeps one that comes after reading ended from being uncaught.
    call.on('error', () => {});
    return {
      endpoint: member.endpoint,
      call,
      version: async () => (await callMember(client, statusMethod, undefined, limits.etcdReadMsMax)).version,
      close: () => {
        call.cancel();
        client.close();
      },
    };
  }

  /** After a watch of that endpoint failed, the next one is opened elsewhere. */
  turnAwayFrom(endpoint: string): void {
    const member = this.#members.find((other) => other.endpoint === endpoint);
    if (member) this.#turnAwayFrom(member);
  }

  /** No new calls; resolves when those under way have ended. */
  async close(): Promise<void> {
    this.#ended.abort();
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    for (const member of this.#members) member.client.close();
  }

  /** A member with an open connection, so that a failed connection cannot leave a write in doubt. */
  async #readyMember(): Promise<Member> {
    for (;;) {
      this.#assertOpen();
      const member = this.#member();
      if (member.client.getChannel().getConnectivityState(false) === connectivityState.READY) return member;
      await this.read(rangeMethod, { key: this.#probeKey, countOnly: true });
    }
  }

  #member(): Member {
    const member = this.#members[this.#preferred];
    if (!member) throw new RangeError('no etcd endpoint is given');
    return member;
  }

  #turnAwayFrom(member: Member): void {
    if (this.#members[this.#preferred] !== member) return;
    this.#preferred = (this.#preferred + 1) % this.#members.length;
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

const channelOptions: ClientOptions = {
  'grpc.max_receive_message_length': limits.etcdMessageBytesMax,
  'grpc.max_send_message_length': limits.etcdMessageBytesMax,
  // etcd closes connections that ping more often than every 5 s (--grpc-keepalive-min-time).
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': limits.etcdBackoffMsMax,
  // A DNS record must not bring a retry policy for writes with it.
  'grpc.service_config_disable_resolution': 1,
  'grpc.enable_retries': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.use_local_subchannel_pool': 1,
};

/** Asks etcd to end the watch when its member has lost the leader and would fall silent. */
const requireLeader = (): Metadata => {
  const metadata = new Metadata();
  metadata.set('hasleader', 'true');
  return metadata;
};

const callMember = <Request, Response>(
  client: Client,
  { path, encode, decode }: UnaryMethod<Request, Response>,
  request: Request,
  msMax: number,
  signal?: AbortSignal,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    // The wall clock, since the deadline goes to etcd, which then drops what nobody waits for.
    const options = { deadline: Date.now() + msMax };
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const call = client.makeUnaryRequest(path, encode, decode, request, options, (error, response) => {
      signal?.removeEventListener('abort', cancel);
      if (error) reject(error);
      else if (response === undefined) reject(new StoreError('unavailable', `etcd did not answer ${path}`));
      else resolve(response);
    });
  });

const tlsCredentials = ({ authorities, client }: EtcdTls): ChannelCredentials => {
  try {
    return credentials.createSsl(pemBytes(authorities), pemBytes(client?.key), pemBytes(client?.certificate));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StoreError('unavailable', `the TLS files for etcd cannot be used: ${reason}`, { cause });
  }
};

const pemBytes = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));

/** `https://host:port` and `http://host:port`; without a scheme it is the one that fits `secure`. */
const memberOf = (endpoint: string, secure: ChannelCredentials | undefined): Member => {
  const url = endpoint.includes('://') ? endpoint : `${secure ? 'https' : 'http'}://${endpoint}`;
  const match = /^(https?):\/\/((?:\[[0-9a-f:.]+\]|[^\s/:[\]@?#]+):\d{1,5})\/?$/i.exec(url);
  const [, scheme, address] = match ?? [];
  if (scheme === undefined || address === undefined) {
    throw new RangeError(`etcd endpoint must be like https://host:2379: ${endpoint}`);
  }
  if (scheme.toLowerCase() === 'http' && secure) {
    throw new RangeError(`etcd endpoint ${endpoint} is without TLS, although TLS files are given`);
  }
  const memberCredentials =
    scheme.toLowerCase() === 'http' ? credentials.createInsecure() : (secure ?? credentials.createSsl());
  const client = new Client(address, memberCredentials, channelOptions);
  return { endpoint, address, credentials: memberCredentials, client };
};

const unreachable = (failures: ReadonlyMap<string, string>, cause: ServiceError): StoreError => {
  const reasons = [...failures].map(([endpoint, reason]) => `${endpoint}: ${reason}`);
  return new StoreError('unavailable', `no etcd endpoint answers: ${reasons.join('; ')}`, { cause });
};
