import { type Closable, ClosableStack } from '../../base/disposable.ts';
import { systemFiles } from '../../base/files.ts';
import type { Logger } from '../../base/logger.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { accountCredentials } from '../../client/account-credentials.ts';
import { ApiClient } from '../../client/api-client.ts';
import { countedTransport, requestMetrics } from '../../client/counted-transport.ts';
import { httpTransport } from '../../client/http-transport.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ConnectionConfig } from '../../outbound/connection-config.ts';
import type { Credentials } from '../../outbound/credentials/credentials.ts';
import type { PluginHost } from '../../outbound/credentials/plugin-process.ts';
import { systemNetwork } from '../../outbound/network/system-network.ts';
import { productVersion } from './version.ts';

interface ControllerClientsOptions {
  readonly connection: ConnectionConfig;
  readonly pluginHost: PluginHost;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dialect: Dialect;
  readonly metrics: Metrics;
}

/** The clients of one API server that controllers use: one for the program, and one per service account. */
export class ControllerClients implements Closable {
  /** Client with the identity of the connection file. */
  readonly own: ApiClient;
  readonly #options: ControllerClientsOptions;
  readonly #held = new ClosableStack();
  readonly #requests: ReturnType<typeof requestMetrics>;

  constructor(options: ControllerClientsOptions) {
    this.#options = options;
    this.#requests = requestMetrics(options.metrics, options.clock);
    this.own = this.#client('');
  }

  /**
   * Returns a new client with the identity of a service account of the system namespace, by tokens that the program
   * requests.
   */
  ofAccount(name: string): ApiClient {
    const { clock, logger, dialect } = this.#options;
    const account = { namespace: dialect.namespaces.system, name };
    const credentials = accountCredentials({ client: this.own, account, clock, logger, dialect });
    return this.#client(`/system:serviceaccount:${account.namespace}:${name}`, credentials);
  }

  /** The account stands behind the version, as in kube-controller-manager: access logs show it. */
  #client(account: string, credentials?: Credentials): ApiClient {
    const { connection, clock, pluginHost, dialect } = this.#options;
    const transport = httpTransport(connection, {
      ...{ clock, pluginHost, network: systemNetwork, files: systemFiles },
      ...(credentials && { credentials }),
    });
    this.#held.add(transport);
    const counted = countedTransport(transport, connection.server.host, this.#requests);
    return new ApiClient(counted, `${dialect.controllerManager}/${productVersion}${account}`);
  }

  /** Also aborts requests in progress. */
  close(): void {
    this.#held.close();
  }
}
