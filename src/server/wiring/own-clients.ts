import type { Authenticator } from '../../authn/authenticator.ts';
import { ApiClient } from '../../client/api-client.ts';
import { inProcessTransport } from '../../client/in-process.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Transport } from '../../outbound/transport.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { serverUser } from '../upkeep/bootstrap.ts';

/**
 * Clients that speak with this server from within, as whoever they are made for: through the whole pipeline, and known by
 * the exchange itself, so that nothing that comes from outside can pass for them.
 */
export class OwnClients {
  readonly #users = new WeakMap<object, UserInfo>();
  readonly #handle: (exchange: Exchange) => void;

  /** `handle` is the pipeline; it is asked for with the first request. */
  constructor(handle: (exchange: Exchange) => void) {
    this.#handle = handle;
  }

  readonly authenticator: Authenticator = { authenticate: (credentials) => this.#users.get(credentials) };

  /** Whether a request comes from one of these clients. */
  readonly isOwn = (exchange: Exchange): boolean => this.#users.has(exchange);

  /** That of the server itself. */
  get server(): ApiClient {
    return this.clientAs(serverUser, 'orch');
  }

  transportAs(user: UserInfo): Transport {
    return inProcessTransport(this.#handle, (exchange) => this.#users.set(exchange, user));
  }

  /** `name` is what the client calls itself. */
  clientAs(user: UserInfo, name: string): ApiClient {
    return new ApiClient(this.transportAs(user), name);
  }
}
