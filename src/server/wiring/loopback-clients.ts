import type { Authenticator } from '../../authn/authenticator.ts';
import type { Clock } from '../../base/time/clock.ts';
import { ApiClient } from '../../client/api-client.ts';
import { inProcessTransport } from '../../client/in-process.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Transport } from '../../outbound/transport.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { serverUser } from '../upkeep/bootstrap.ts';

/**
 * Loopback clients, each with a user identity. Requests run through the whole pipeline; they are recognised by the
 * exchange object itself, so that no outside request can pass for one.
 */
export class LoopbackClients {
  readonly #users = new WeakMap<object, UserInfo>();
  readonly #handle: (exchange: Exchange) => void;
  readonly #name: string;
  readonly #clock: Pick<Clock, 'monotonic'>;

  /** `handle` is the pipeline, `name` the server's user agent. */
  constructor(handle: (exchange: Exchange) => void, name: string, clock: Pick<Clock, 'monotonic'>) {
    this.#handle = handle;
    this.#name = name;
    this.#clock = clock;
  }

  readonly authenticator: Authenticator = { authenticate: (credentials) => this.#users.get(credentials) };

  /** True if the request comes from one of these clients. */
  readonly isLoopback = (exchange: Exchange): boolean => this.#users.has(exchange);

  /** The client for the server's own writes. */
  get server(): ApiClient {
    return this.clientAs(serverUser, this.#name);
  }

  transportAs(user: UserInfo): Transport {
    return inProcessTransport(this.#handle, (exchange) => this.#users.set(exchange, user), this.#clock);
  }

  /** `name` is the user agent of the client. */
  clientAs(user: UserInfo, name: string): ApiClient {
    return new ApiClient(this.transportAs(user), name);
  }
}
