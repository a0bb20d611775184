import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import { keepAlive } from '../base/time/clock.ts';
import { ApiClient } from '../client/api-client.ts';
import { adminKubeconfig } from '../outbound/connection-files/admin-kubeconfig.ts';
import type { Transport } from '../outbound/transport.ts';
import { groupMasters } from '../request/user-info.ts';
import { httpsUrl, localAddress } from '../server/wiring/addresses.ts';
import type { ApiServerConfig } from '../server/wiring/config.ts';
import { type ApiServer, createApiServer } from '../server/wiring/create-api-server.ts';
import { type Environment, systemEnvironment } from '../server/wiring/environment.ts';
import { listenFor } from '../server/wiring/start-server.ts';
import { Certificates } from './certificates.ts';
import { checkOptions, checkUser } from './check-options.ts';
import { configOf, userInfoOf } from './config.ts';
import type { ListenOptions, ServerOptions, User } from './options.ts';
import { overlaidFiles } from './overlaid-files.ts';

/** A server in this process. Keeps the process alive until closed. */
export interface Server extends AsyncDisposable {
  /** PEM of the authority that issues the server's certificates. */
  readonly authority: string;
  /**
   * An in-process client: its requests run through the whole server, without a connection. Default user: the
   * administrator, who may do everything.
   */
  client(user?: User): ApiClient;
  /** The same as a transport, for arbitrary requests. */
  transport(user?: User): Transport;
  /** Also serves HTTPS. Call once; rejects if the address cannot be bound. */
  listen(options?: ListenOptions): Promise<Listening>;
  /**
   * A kubeconfig (YAML) for clients in other processes, with a client certificate valid for one year. It is a
   * credential: keep it secret. Default user: the administrator. Throws unless the server listens.
   */
  kubeconfig(user?: Pick<User, 'username' | 'groups'>): string;
  /** Ends watches and controllers, drains requests, closes the store. Further calls return the same promise. */
  close(): Promise<void>;
  /** Resolves once closed; rejects if the server stops because it cannot go on. */
  readonly closed: Promise<void>;
}

/** The bound address, as reported by the operating system. */
export interface Listening {
  readonly address: string;
  readonly port: number;
  /** For clients on this machine. */
  readonly url: string;
}

const administrator: User = { username: 'orch-admin', groups: [groupMasters] };

/**
 * Creates and starts a server, which is ready when this resolves. It reads no flags, writes nothing but its store, and
 * leaves signals and process exit to the program. Missing parts of the environment default to the machine's.
 */
export async function createServer(
  options: ServerOptions = {},
  environment: Partial<Environment> = {},
): Promise<Server> {
  checkOptions(options);
  const whole = { ...systemEnvironment, ...environment };
  const certificates = new Certificates(options.authority, whole);
  const { config, documents } = configOf(options, certificates.authority, whole.files);
  const alive = keepAlive();
  try {
    const own = { ...whole, files: overlaidFiles(documents, whole.files) };
    const api = await createApiServer(config, own);
    await api.start().catch(async (error) => {
      await api.stop();
      throw error;
    });
    return new LibraryServer({ api, config, certificates, environment: own, alive });
  } catch (error) {
    alive.close();
    throw error;
  }
}

interface ServerParts {
  readonly api: ApiServer;
  readonly config: ApiServerConfig;
  readonly certificates: Certificates;
  readonly environment: Environment;
  readonly alive: Closable;
}

class LibraryServer implements Server {
  readonly authority: string;
  readonly closed: Promise<void>;
  readonly #parts: ServerParts;
  #listening: (Listening & { readonly authorities: string }) | undefined;
  #listens = false;
  #closing = false;

  constructor(parts: ServerParts) {
    const { api, certificates, alive } = parts;
    this.#parts = parts;
    this.authority = certificates.authority.certificatePem;
    this.closed = api.done.finally(() => {
      this.#closing = true;
      alive.close();
    });
    // Avoids an unhandled rejection if the program ignores `closed`.
    this.closed.catch(() => {});
  }

  client(user: User = administrator): ApiClient {
    return new ApiClient(this.transport(user), 'orch-library');
  }

  transport(user: User = administrator): Transport {
    checkUser(user);
    const transport = this.#parts.api.transportAs(userInfoOf(user));
    return {
      send: async (request) => {
        if (this.#closing) throw new Error('the server is closed');
        return transport.send(request);
      },
    };
  }

  async listen(options: ListenOptions = {}): Promise<Listening> {
    if (this.#listens) throw new Error('the server listens already');
    this.#listens = true;
    const { api, config, certificates, environment } = this.#parts;
    const { address = '127.0.0.1', port = 0 } = options;
    const tls = {
      minVersion: 'TLSv1.2',
      named: [],
      streamsPerConnectionMax: limits.streamsPerConnectionMax,
      goawayChance: 0,
    } as const;
    const serving = certificates.serving(options);
    try {
      const listener = await listenFor(api, { ...config, ...serving, listen: { address, port }, tls }, environment);
      const url = httpsUrl(localAddress(listener.address), listener.port);
      const listening = { address: listener.address, port: listener.port, url };
      // The issuer of a given certificate is unknown, so clients trust the certificate itself.
      this.#listening = { ...listening, authorities: this.authority + (options.serving?.certificate ?? '') };
      return listening;
    } catch (error) {
      this.#listens = false;
      throw error;
    }
  }

  kubeconfig(user: Pick<User, 'username' | 'groups'> = administrator): string {
    checkUser(user);
    const { username, groups = [] } = user;
    if (!this.#listening) throw new Error('the server does not listen: call listen() first');
    const { certificates } = this.#parts;
    return adminKubeconfig({
      server: this.#listening.url,
      authorities: this.#listening.authorities,
      client: certificates.client({ username, groups }),
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#parts.api.stop();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
