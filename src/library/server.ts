import { keepAlive } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { ApiClient } from '../client/api-client.ts';
import { adminKubeconfig } from '../outbound/connection-files/admin-kubeconfig.ts';
import type { Transport } from '../outbound/transport.ts';
import { groupMasters } from '../request/user-info.ts';
import { httpsUrl, localAddress } from '../server/wiring/addresses.ts';
import type { ApiServerConfig } from '../server/wiring/config.ts';
import { type ApiServer, createApiServer } from '../server/wiring/create-api-server.ts';
import { type Environment, systemEnvironment } from '../server/wiring/environment.ts';
import { listenFor } from '../server/wiring/start-server.ts';
import { Certificates } from './certificates.ts';
import { configOf, userInfoOf } from './config.ts';
import type { ListenOptions, ServerOptions, User } from './options.ts';
import { overlaidFiles } from './overlaid-files.ts';

/** A server in this process. It keeps the process alive until it is closed. */
export interface Server extends AsyncDisposable {
  /** PEM of the authority that certificates of the server are verified by. */
  readonly authority: string;
  /**
   * A client in this process: its requests go through the whole server, without a connection. Without a user it is the
   * administrator, who may do everything.
   */
  client(user?: User): ApiClient;
  /** The same, for requests of any form. */
  transport(user?: User): Transport;
  /** Serves HTTPS as well. Once; rejects where nobody can listen there. */
  listen(options?: ListenOptions): Promise<Listening>;
  /**
   * A connection file (YAML) for clients elsewhere, with a client certificate for this user, good for a year. It is a
   * credential: keep it to yourself. Without a user it is the administrator's. Throws while nobody listens.
   */
  kubeconfig(user?: Pick<User, 'username' | 'groups'>): string;
  /** Ends watches and controllers, lets requests finish, closes the store. Calling it again gives the same promise. */
  close(): Promise<void>;
  /** Resolves once closed; rejects when the server ends by itself because it cannot go on. */
  readonly closed: Promise<void>;
}

/** What a server listens on, as the system reports it. */
export interface Listening {
  readonly address: string;
  readonly port: number;
  /** For clients on this machine. */
  readonly url: string;
}

const administrator: User = { username: 'orch-admin', groups: [groupMasters] };

/**
 * Makes a server and starts it: once this resolves it is ready. It reads no flags, writes nothing but its store, and leaves
 * signals and the end of the process to the program. What the environment does not say is the machine's.
 */
export async function createServer(
  options: ServerOptions = {},
  environment: Partial<Environment> = {},
): Promise<Server> {
  const whole = { ...systemEnvironment, ...environment };
  const certificates = new Certificates(options.authority, whole);
  const { config, documents } = configOf(options, certificates.authority.certificatePem);
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

  constructor(parts: ServerParts) {
    const { api, certificates, alive } = parts;
    this.#parts = parts;
    this.authority = certificates.authority.certificatePem;
    this.closed = api.done.finally(() => alive.close());
    // Whoever does not look at it does not want to know.
    this.closed.catch(() => {});
  }

  client(user: User = administrator): ApiClient {
    return this.#parts.api.clientAs(userInfoOf(user), 'orch-library');
  }

  transport(user: User = administrator): Transport {
    return this.#parts.api.transportAs(userInfoOf(user));
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
      // Of a certificate that was given nobody but itself is known to vouch for it.
      this.#listening = { ...listening, authorities: this.authority + (options.serving?.certificate ?? '') };
      return listening;
    } catch (error) {
      this.#listens = false;
      throw error;
    }
  }

  kubeconfig({ username, groups = [] }: Pick<User, 'username' | 'groups'> = administrator): string {
    if (!this.#listening) throw new Error('the server does not listen: call listen() first');
    const { certificates } = this.#parts;
    return adminKubeconfig({
      server: this.#listening.url,
      authorities: this.#listening.authorities,
      client: certificates.client({ username, groups }),
    });
  }

  async close(): Promise<void> {
    await this.#parts.api.stop();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
